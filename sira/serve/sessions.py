"""Sessions: each holds one controller, and so its cached rankings and what it has shown. None knows of another."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sira.agent.base import ToolResult
from sira.agent.controller import Controller
from sira.llm.base import Tool
from sira.serve.faults import Busy, Gone, SessionGone
from sira.serve.pool import Opened

MOST_WAITING = 4
"""Calls of one session that wait for the one that runs: its tools are called one at a time."""
LOOK_S = 0.1
"""How often a call that waits looks whether its client is still there."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """`expires_at`: seconds of the epoch, unless a call comes before."""

    id: str
    index: str
    tools: tuple[Tool, ...]
    expires_at: float

    def to_json(self) -> dict[str, Any]:
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in self.tools
        ]
        return {"session": self.id, "index": self.index, "tools": tools, "expires_at": self.expires_at}


@dataclass(slots=True)
class OpenSession:
    """`expires_at` is seconds of the epoch; each call moves it."""

    id: str
    index: str
    controller: Controller
    opened: Opened
    expires_at: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0
    """Calls that run or wait."""

    @property
    def facts(self) -> SessionFacts:
        return SessionFacts(self.id, self.index, self.controller.tools, self.expires_at)


class Sessions:
    """At most `most` sessions; one expires `age_s` after its last call. `release` is told when one ends.

    `tag`: 8 hex digits that go before each id, by which several processes know their own; none where it is empty.
    """

    def __init__(self, most: int, age_s: float, release: Callable[[Opened], None], tag: str = "") -> None:
        self._most, self._age_s, self._release, self._tag = most, age_s, release, tag
        self._sessions: dict[str, OpenSession] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._sessions)

    def add(self, controller: Controller, opened: Opened) -> OpenSession:
        """Raises Busy where there are too many."""
        self.expire()
        with self._lock:
            if len(self._sessions) >= self._most:
                first = min(session.expires_at for session in self._sessions.values())
                raise Busy(
                    f"there are {self._most} sessions, the most that this server keeps: close one, or wait for one to "
                    "expire",
                    max(1, round(first - time.time())),
                )
            token = secrets.token_urlsafe(24)
            name = f"{self._tag}.{token}" if self._tag else token
            session = OpenSession(name, opened.name, controller, opened, time.time() + self._age_s)
            self._sessions[name] = session
            return session

    def get(self, name: str) -> OpenSession:
        """Raises SessionGone."""
        with self._lock:
            return self._get(name)

    def _get(self, name: str) -> OpenSession:
        session = self._sessions.get(name)
        if session is None or (session.expires_at <= time.time() and not session.waiting):
            raise SessionGone("there is no such session: it expired, was closed or never was; open another one")
        return session

    def call(
        self, name: str, tool: str, arguments: str, *, timeout_s: float, stopped: Callable[[], bool]
    ) -> ToolResult:
        """One call of a tool. Raises SessionGone; Busy where calls of this session pile up; Gone where it has to wait
        and `stopped` says that nobody waits for it any more."""
        with self._lock:
            session = self._get(name)
            if session.waiting > MOST_WAITING:
                raise Busy(f"{MOST_WAITING} calls of this session wait already: call its tools one at a time")
            session.waiting += 1
        end = time.monotonic() + timeout_s
        try:
            while not session.lock.acquire(timeout=LOOK_S):
                if stopped():
                    raise Gone("the client left")
                if time.monotonic() > end:
                    raise Busy("the call before is still running: call the tools of a session one at a time")
            try:
                return session.controller.call(tool, arguments)
            finally:
                session.lock.release()
        finally:
            with self._lock:
                session.waiting -= 1
                session.expires_at = time.time() + self._age_s
                left = name not in self._sessions and not session.waiting
            if left:  # it was closed while it worked
                self._end(session)

    def close(self, name: str) -> None:
        """Raises SessionGone. A call that runs ends first."""
        with self._lock:
            session = self._get(name)
            del self._sessions[name]
            idle = not session.waiting
        if idle:
            self._end(session)

    def expire(self) -> int:
        """End what is out of date, and return how many."""
        now = time.time()
        with self._lock:
            old = [item for item in self._sessions.values() if item.expires_at <= now and not item.waiting]
            for session in old:
                del self._sessions[session.id]
        for session in old:
            self._end(session)
        return len(old)

    def close_all(self) -> None:
        with self._lock:
            every = [item for item in self._sessions.values() if not item.waiting]
            self._sessions.clear()
        for session in every:
            self._end(session)

    def _end(self, session: OpenSession) -> None:
        session.controller.close()
        self._release(session.opened)
