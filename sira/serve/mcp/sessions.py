"""Sessions: each has the tools, and so the rankings, of one client. They end when they are closed or not used."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sira.serve.faults import Busy
from sira.serve.mcp.base import Box

LEAST_IDLE_S = 60.0
"""A session that was used this recently is not ended to make room for another."""


@dataclass(slots=True)
class Session:
    """`box` is there from the first call on; calls take `lock`, and set `calls` while they last."""

    box: Box | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    used: float = 0.0
    calls: int = 0
    ended: bool = False

    def close(self) -> None:
        """End it; while a call runs, the end of that call does it."""
        self.ended = True
        if not self.calls and self.box is not None:
            box, self.box = self.box, None
            box.close()


def passing() -> Session:
    """A session of one call, which ends with it."""
    return Session(ended=True)


class Sessions:
    """Sessions by key, at most `most`. All of it is called in the loop's thread."""

    def __init__(self, most: int, idle_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._idle_s, self._clock = most, idle_s, clock
        self._sessions: dict[tuple[str, str], Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, key: tuple[str, str]) -> Session | None:
        """A session that is still there."""
        self.expire()
        return self._sessions.get(key)

    def new(self, key: tuple[str, str]) -> Session:
        """A session under a new key; the one that was idle the longest makes room.

        Raises Busy where all are in use.
        """
        self.expire()
        if len(self._sessions) >= self._most:
            idle = [item for item in self._sessions.items() if not item[1].calls]
            oldest = min(idle, key=lambda item: item[1].used, default=None)
            if oldest is None or self._clock() - oldest[1].used < min(LEAST_IDLE_S, self._idle_s):
                raise Busy(f"all {self._most} sessions are in use: try again in a minute")
            self._sessions.pop(oldest[0]).close()
        session = self._sessions[key] = Session(used=self._clock())
        return session

    def begin(self, session: Session) -> None:
        session.calls += 1
        session.used = self._clock()

    def finish(self, session: Session) -> None:
        session.calls -= 1
        session.used = self._clock()
        if session.ended:
            session.close()

    def expire(self) -> None:
        """End what was not used for too long."""
        limit = self._clock() - self._idle_s
        for key in [key for key, item in self._sessions.items() if not item.calls and item.used < limit]:
            self._sessions.pop(key).close()

    def end(self, client: str) -> None:
        """End all that one client has."""
        for key in [key for key in self._sessions if key[0] == client]:
            self._sessions.pop(key).close()

    def close(self) -> None:
        for key in list(self._sessions):
            self._sessions.pop(key).close()
