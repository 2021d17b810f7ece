"""What the parts of the MCP server share: its settings, and what it asks an index for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sira.agent.base import ToolResult
from sira.agent.settings import SIRA, ToolSettings
from sira.errors import InputError
from sira.llm.base import Tool
from sira.records import Document
from sira.serve.limits import Limits

Tell = Callable[[str], None]
"""Says what a call is at; may be called from any thread."""


@dataclass(frozen=True, slots=True)
class McpSettings:
    """How one server answers. `tools` are those of each session, and `limits` the bounds: of threads and those who wait
    for one, of sessions and of how long one lasts without a call.

    A call has `call_s`, the wait for its turn and the opening of the index included. `structured` adds the record of a
    call (`structuredContent`) and its schemas: a client that shows its model both, and so the same text twice, is
    served better without.
    """

    tools: ToolSettings = field(default_factory=lambda: SIRA)
    limits: Limits = field(default_factory=Limits)
    call_s: float = 60.0
    structured: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.call_s <= 86_400:
            raise InputError(f"mcp: call_s = {self.call_s}: give seconds above 0 and up to 86,400")


class Box(Protocol):
    """The tools of one session. One thread at a time calls them."""

    def call(self, name: str, arguments: str, tell: Tell) -> ToolResult:
        """Carry out one call, as `sira.agent.base.ToolBox` does; `tell` hears what a long one is at."""
        ...

    def close(self) -> None:
        """Give back what the session holds. A second time does no harm."""
        ...


class Desk(Protocol):
    """One index that is served. Methods may be called from several threads, and block."""

    @property
    def name(self) -> str: ...

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What each session is told of; known before the index is open, and does not block."""
        ...

    def open(self, tell: Tell) -> Box:
        """The tools of a new session. The first one opens the index. Raises SiraError where it cannot be opened."""
        ...

    def manifest(self) -> Mapping[str, Any]:
        """What the index is; JSON-ready."""
        ...

    def document(self, docid: str) -> Document:
        """Raises NotFoundError."""
        ...
