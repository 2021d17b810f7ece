"""What a system is."""

from __future__ import annotations

from typing import Protocol

from sira.compile import Statistics
from sira.program import Program
from sira.records import Topic


class System(Protocol):
    """Turns topics into programs. `llm_calls` counts what one topic costs when no reply is cached."""

    @property
    def llm_calls(self) -> int: ...

    def program(self, topic: Topic, statistics: Statistics) -> Program: ...
