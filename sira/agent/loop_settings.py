"""How one question is worked on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sira.agent.budget import Limits
from sira.agent.prompting import CallForm
from sira.agent.trajectory import Recorder
from sira.errors import InputError
from sira.llm.settings import Price
from sira.prompts import Prompt

Sink = Callable[[Recorder], None]
"""Is told after each step; a file, a view, or both."""

BLOCKED_TURNS = 3


@dataclass(frozen=True, slots=True)
class EpisodeSettings:
    """How one question is worked on. `max_tokens` bounds one reply, `tool_timeout_s` one call of a tool.

    `on_overflow`: what happens when the conversation no longer fits the model: the episode ends (`stop`), or the oldest
    outputs of tools give way to a note, half of them at a time (`drop`). `blocked_turns`: after so many turns in which
    a model that was told to answer called tools all the same, it ends for the bound that it was told of; None: it may
    go on until that bound is used up, as in Pi-Serini. `show_budget` puts a line under each output that says what is
    left. `metadata` and `provenance` go into the file as they are.
    """

    prompt: Prompt
    limits: Limits = field(default_factory=Limits)
    max_tokens: int = 8192
    seed: int = 42
    calls: CallForm = "native"
    on_overflow: Literal["stop", "drop"] = "stop"
    show_budget: bool = False
    tool_timeout_s: float | None = 60.0
    blocked_turns: int | None = BLOCKED_TURNS
    price: Price | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError(f"agent: max_tokens = {self.max_tokens}: give 1 or more")
        if self.blocked_turns is not None and self.blocked_turns < 1:
            raise InputError(f"agent: blocked_turns = {self.blocked_turns}: give 1 or more, or none")
        if self.tool_timeout_s is not None and not self.tool_timeout_s > 0:
            raise InputError(f"agent: tool_timeout_s = {self.tool_timeout_s}: give seconds above 0, or none")
