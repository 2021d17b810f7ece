"""The systems that can be compared, one explicit table. A system answers topics on an index."""

from sira.systems.base import Answer, System
from sira.systems.batch import answer_topics, rerank_answers, topics_together
from sira.systems.compiler import Compiler, compiler_of
from sira.systems.modes import Mode, SearchSettings, search_program
from sira.systems.sira import Sira
from sira.systems.table import KINDS, SystemOptions, make_system
from sira.systems.tally import Tally
from sira.systems.text_expansion import TEXT_METHODS, TextExpansion, TextMethod
from sira.systems.texts import TextRequest, Texts, ask_texts, read_texts

__all__ = [
    "KINDS",
    "TEXT_METHODS",
    "Answer",
    "Compiler",
    "Mode",
    "SearchSettings",
    "Sira",
    "System",
    "SystemOptions",
    "Tally",
    "TextExpansion",
    "TextMethod",
    "TextRequest",
    "Texts",
    "answer_topics",
    "ask_texts",
    "compiler_of",
    "make_system",
    "read_texts",
    "rerank_answers",
    "search_program",
    "topics_together",
]
