"""Calling the tools of an episode: in order, each in its time, and never so that a fault of one ends the episode."""

from __future__ import annotations

import logging
from collections.abc import Callable

from sira.agent.base import Failure, ToolBox, ToolResult
from sira.agent.clock import Cancelled, Clock, Overdue, Worker, in_time
from sira.errors import EnvironmentFault, IndexFault
from sira.records import ToolCall

_log = logging.getLogger(__name__)


class ToolCaller:
    """Calls tools from one thread of its own, which is left behind when a call does not end.

    `timeout_s` bounds one call, waiting for a call before it that was given up included; None: only the deadline does.
    """

    def __init__(self, tools: ToolBox, clock: Clock, timeout_s: float | None) -> None:
        self._tools, self._clock, self._timeout_s = tools, clock, timeout_s
        self._thread = Worker()

    def leave(self) -> None:
        """Call no more, and wait for nothing."""
        self._thread.leave()

    def call(
        self, call: ToolCall, deadline: float | None, cancelled: Callable[[], bool], on_error: Callable[[str], None]
    ) -> ToolResult:
        """The result, or what the model is to know of the failure; `on_error` takes the words for the record.

        Raises Overdue at the deadline, Cancelled, and IndexFault and EnvironmentFault as the tool does.
        """
        names = [tool.name for tool in self._tools.tools]
        if call.name not in names:
            said = f"There is no tool {call.name[:80]!r}. Call one of these: {', '.join(names)}."
            return ToolResult(said, failure=Failure.UNKNOWN_TOOL)
        bounds = [] if deadline is None else [deadline]
        if self._timeout_s is not None:
            bounds.append(self._clock.now() + self._timeout_s)
        done = self._thread.start(lambda: self._tools.call(call.name, call.arguments))
        try:
            return in_time(done, self._clock, min(bounds, default=None), cancelled)
        except Overdue:
            if deadline is not None and self._clock.now() >= deadline:
                raise
            said = (
                f"{call.name} took longer than {self._timeout_s:g} s and was given up. Try a simpler call, or answer."
            )
            return ToolResult(said, failure=Failure.TIMED_OUT)
        except (Cancelled, IndexFault, EnvironmentFault):
            raise
        except Exception as error:  # noqa: BLE001 - one call of a tool does not end the episode
            _log.debug("%s failed", call.name, exc_info=error)
            on_error(f"{call.name}: {type(error).__name__}: {error}")
            said = f"{call.name} failed: {' '.join(str(error).split())[:300]}. Try another call, or answer."
            return ToolResult(said, failure=Failure.EXECUTION)
