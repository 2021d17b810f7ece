"""What a program text says before it is bound to an index: items with their places, and what may be said about all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from sira.errors import ProgramError
from sira.program import Clause, Occur, Scoring
from sira.records import Verdict

MAX_CHARACTERS, MAX_CLAUSES = 100_000, 10_000
"""The limits of a text that someone writes."""
EXACT_MAX_CHARACTERS, EXACT_MAX_CLAUSES = 10_000_000, 100_000
"""The limits of a printed program, which also holds sources and verdicts."""


class Position(NamedTuple):
    """A place in a text: line and column (in characters), both from 1."""

    line: int
    column: int


class ProgramTextError(ProgramError):
    """A program text that cannot be read: where, what stands there, and what was expected."""

    def __init__(self, position: Position, found: str, expected: str, *, several_lines: bool) -> None:
        line = f"line {position.line}, " if several_lines else ""
        super().__init__(f"program text, {line}column {position.column}: found {found}: {expected}")
        self.position, self.found, self.expected = position, found, expected


@dataclass(frozen=True, slots=True)
class Raw:
    """Words as written, to be analysed by the index: one word, a phrase, or alternatives (one text each)."""

    kind: Literal["word", "phrase", "any_of"]
    texts: tuple[str, ...]
    position: Position
    weight: float = 1.0
    occur: Occur = "should"


@dataclass(frozen=True, slots=True)
class Exact:
    """A clause that no analyzer touches: analysed terms, a facet or a range."""

    clause: Clause
    position: Position


@dataclass(frozen=True, slots=True)
class Query:
    """The items of a text in their order. qid, scoring and the program's own text are None where it does not say."""

    text: str
    items: tuple[Raw | Exact, ...]
    qid: str | None = None
    scoring: Scoring | None = None
    program_text: str | None = None
    verdicts: tuple[Verdict, ...] = ()
