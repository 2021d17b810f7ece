"""What a system is, and what it answers."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sira.llm.base import Usage
from sira.lucene.reader import Index
from sira.program import Program
from sira.records import Ranking, Topic


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system found for one topic, and how.

    `programs` are those that were searched for the ranking, in their order: run again, they find the same. `note` is
    JSON-ready and tells of what was decided on the way: its keys are `route`, `relax`, `several`, `rerank`, `run` and
    `agent`, each only where there is something to tell. `llm_calls` is what the topic costs when no reply is cached,
    and `usage` what these calls took, as far as it is known of replies that lay ready. `searches` counts those of the
    index, that for the documents of a prompt included. Milliseconds are without the model and what goes before it.
    """

    qid: str
    ranking: Ranking
    programs: tuple[Program, ...] = ()
    note: Mapping[str, Any] = field(default_factory=dict[str, Any])
    llm_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    searches: int = 1
    compile_ms: float = 0.0
    search_ms: float = 0.0


class System(Protocol):
    """Answers topics on an index; whatever searches that takes are its own affair."""

    def answer(self, topic: Topic, index: Index, k: int) -> Answer:
        """The answer to depth k. Deterministic but for the times; many threads may ask at once."""
        ...


@dataclass(slots=True)
class Stopwatch:
    """The milliseconds of one topic, by what they were spent on."""

    compile_ms: float = 0.0
    search_ms: float = 0.0

    @contextmanager
    def timing(self, what: Literal["compile", "search"]) -> Generator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = 1000 * (time.perf_counter() - start)
            if what == "compile":
                self.compile_ms += spent
            else:
                self.search_ms += spent
