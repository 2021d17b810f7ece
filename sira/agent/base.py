"""What the parts of agent mode share: the result of a tool, a box of tools, and why an episode stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from sira.llm.base import Tool


class Failure(StrEnum):
    """Why a tool call failed; the names are Pi-Serini's, but for `BLOCKED`, `TIMED_OUT` and `UNKNOWN_TOOL`."""

    INVALID_ARGUMENTS = "invalid_tool_arguments"
    EXECUTION = "tool_execution_failed"
    UNKNOWN_TOOL = "unknown_tool"
    BLOCKED = "blocked"
    """The budget is nearly spent: the model is to answer."""
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call gave: `text` is what the model reads, and on a failure says how to repair the call.

    `details` is JSON-ready and for the record alone, under Pi-Serini's names. A page of a ranking has `searchId`,
    `rawQuery`, `totalCached`, `returnedRankStart`, `returnedRankEnd`, `nextOffset` (None at the end),
    `retrievedDocids` (`search`: all cached; a page: those of the page) and `previewedDocids` (of the page); a read
    document `docid`, `offset`, `limit`, `totalLines`, `returnedOffsetStart`, `returnedOffsetEnd`, `truncated` and
    `nextOffset`. On a failure it holds no docids that count as seen.
    """

    text: str
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    failure: Failure | None = None


class ToolBox(Protocol):
    """The tools of one episode. One thread at a time calls them."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the model is told of them."""
        ...

    def call(self, name: str, arguments: str) -> ToolResult:
        """Carry out one call; `arguments` is JSON text as the model wrote it.

        Never raises for what a model can write: its faults come back as a ToolResult with a failure. A fault of the
        index or the machine is raised as it is.
        """
        ...


class StopReason(StrEnum):
    """Why an episode ended."""

    ANSWERED = "answered"
    """The model gave a final text with no further call, in time."""
    TIME = "time"
    """The wall clock; a final text that came before it counts as an answer and not as this."""
    TURNS = "turns"
    TOKENS = "tokens"
    PRICE = "price"
    EMPTY = "empty"
    """A turn with neither text nor call, after it was asked again."""
    TRUNCATED = "truncated"
    """The last reply was cut by its bound of tokens, before an answer was whole."""
    CONTEXT = "context"
    """The conversation no longer fits the model's context."""
    REFUSED = "refused"
    ERROR = "error"
    """The endpoint gave no reply; the record holds its words."""
    CANCELLED = "cancelled"
    """From outside, such as by Ctrl-C."""
