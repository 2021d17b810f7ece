"""The ways in which one topic is searched: one program, several of them, or what routing decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import Program
from sira.search.relax import Relaxed, RelaxSettings, relaxed
from sira.search.routing import Decision, Thresholds
from sira.search.several import Budget, search_several
from sira.systems.base import Answer, Stopwatch

Mode = Literal["compiled", "auto", "several"]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """`mode`: `compiled`, one program a topic; `several`, one program of the sketch and one of each search that it
    proposes, within `budget`; `auto`, plain BM25, compiled or several as `routing` decides.

    `relax` (None: off) loosens a program that finds nothing; of several programs that find nothing together the first.
    """

    mode: Mode = "compiled"
    routing: Thresholds = field(default_factory=Thresholds)
    budget: Budget = field(default_factory=Budget)
    relax: RelaxSettings | None = None

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise InputError(f"mode = {self.mode!r}: choose {', '.join(get_args(Mode))}")
        if self.routing.fallback == "agent":
            raise InputError("routing: fallback = 'agent': there is no agent here: choose plain, compiled or several")


def search_program(
    index: Index, program: Program, k: int, relax: RelaxSettings | None = None, watch: Stopwatch | None = None
) -> Answer:
    """Search one program, and loosen it step by step where it finds nothing and `relax` is given.

    The answer holds the program that was searched last; its note tells of `relax` only where the program as given found
    nothing.
    """
    watch = watch or Stopwatch()
    with watch.timing("search"):
        found = Relaxed(program, index.search(program, k)) if relax is None else relaxed(index, program, k, relax)
    note = {"relax": _inner(found.to_json())} if found.steps or found.why_empty is not None else {}
    return _timed(Answer(program.qid, found.ranking, (found.program,), note, searches=found.searches), watch)


def search_together(
    index: Index, programs: tuple[Program, ...], k: int, settings: SearchSettings, watch: Stopwatch | None = None
) -> Answer:
    """Search several programs of one topic and fuse what they find, at most `budget.max_pages` documents."""
    watch = watch or Stopwatch()
    with watch.timing("search"):
        found = search_several(index, programs, settings.budget)
    answer = Answer(
        found.qid,
        found.ranking.top(k),
        tuple(record.program for record in found.searches),
        {"several": _inner(found.to_json())},
        searches=len(found.searches),
    )
    if not found.ranking and settings.relax is not None:
        loose = search_program(index, programs[0], min(k, settings.budget.max_pages), settings.relax, watch)
        answer = replace(
            loose,
            programs=(*answer.programs, *loose.programs),
            note={**answer.note, **loose.note},
            searches=answer.searches + loose.searches,
        )
    return _timed(answer, watch)


def route_note(decision: Decision) -> Mapping[str, Any]:
    return {
        "action": decision.action,
        "reason": decision.reason,
        "fallback": decision.fallback,
        "predictors": dict(decision.predictors),
    }


def _timed(answer: Answer, watch: Stopwatch) -> Answer:
    return replace(answer, compile_ms=watch.compile_ms, search_ms=watch.search_ms)


def _inner(told: Mapping[str, Any]) -> dict[str, Any]:
    """Without the qid, which stands beside the note."""
    return {name: value for name, value in told.items() if name != "qid"}
