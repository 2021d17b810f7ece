"""The systems that can be compared; `sira.systems.table` lists them. A system answers topics on an index.

Here is what a search needs; the table, and the systems that take texts, are imported from their modules.
"""

from sira.systems.base import Answer, System
from sira.systems.batch import answer_topics, rerank_answers, topics_together
from sira.systems.compiler import Compiler, compiler_of
from sira.systems.modes import Mode, SearchSettings, search_program
from sira.systems.sira import Sira
from sira.systems.tally import Tally

__all__ = [
    "Answer",
    "Compiler",
    "Mode",
    "SearchSettings",
    "Sira",
    "System",
    "Tally",
    "answer_topics",
    "compiler_of",
    "rerank_answers",
    "search_program",
    "topics_together",
]
