"""One question of an agent run, as evaluation sees it, and the layers of what the agent came to know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from sira.evaluate.pricing import Amount
from sira.llm.base import Usage

Layer = Literal["surfaced", "previewed", "opened", "cited", "behaviour"]
"""`surfaced`: in a ranking that a search gave, however deep; `previewed`: on a page that the model read; `opened`: read
by itself; `cited`: named in the final answer; `behaviour`: opened or cited."""
LAYERS: tuple[Layer, ...] = get_args(Layer)

COMPLETED, MISSING = "completed", "missing"
"""Statuses of an episode: with a final answer in time; without a file in the run."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One question. Docids are distinct and in the order of their first appearance; a layer of None was not recorded.

    `status` is that of the file (completed, timeout, failed, running) or `missing`; `answer` is the last text of the
    model, "" where there is none. What is None was not recorded, which is not 0.
    """

    qid: str
    query: str = ""
    file: str = ""
    status: str = MISSING
    stop_reason: str | None = None
    answer: str = ""
    surfaced: tuple[str, ...] | None = ()
    previewed: tuple[str, ...] | None = ()
    opened: tuple[str, ...] | None = ()
    cited: tuple[str, ...] | None = ()
    calls: Mapping[str, int] = field(default_factory=dict[str, int])
    """Tool -> calls."""
    failures: Mapping[str, int] = field(default_factory=dict[str, int])
    """Kind of failure of a tool -> calls."""
    errors: tuple[str, ...] = ()
    seconds: float | None = None
    turns: int | None = None
    usage: Usage | None = None
    price: Amount | None = None
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the file says of how it was made: model, benchmark, prompt, index ..., by the name of the fact."""

    @property
    def answered(self) -> bool:
        """Whether there is something to judge: completed, with a text."""
        return self.status == COMPLETED and bool(self.answer.strip())

    @property
    def total_calls(self) -> int:
        return sum(self.calls.values())

    def docids(self, layer: Layer) -> tuple[str, ...] | None:
        """The documents of a layer; `behaviour` lists the opened ones first."""
        if layer != "behaviour":
            return getattr(self, layer)
        if self.opened is None or self.cited is None:
            return None
        return distinct([*self.opened, *self.cited])


def distinct(docids: Iterable[str]) -> tuple[str, ...]:
    """In the order of the first appearance."""
    return tuple(dict.fromkeys(docids))
