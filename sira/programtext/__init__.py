"""Programs as text that people and agents write and read; docs/program-text.md has the grammar.

Raw words (`heart`, `"heart attack"`) are analysed when the text is bound to an index; what stands behind `=` is exact:
terms of an index as they are, never analysed again.
"""

from sira.programtext.binding import bind
from sira.programtext.parser import parse_query, program_from_text
from sira.programtext.printer import clause_to_text, program_to_text
from sira.programtext.query import Exact, Position, ProgramTextError, Query, Raw

__all__ = [
    "Exact",
    "Position",
    "ProgramTextError",
    "Query",
    "Raw",
    "bind",
    "clause_to_text",
    "parse_query",
    "program_from_text",
    "program_to_text",
]
