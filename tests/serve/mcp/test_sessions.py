"""How sessions end: by age, to make room, by their client, and never under a call."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

from sira.serve.faults import Busy
from sira.serve.mcp.sessions import Sessions, passing


class Box:
    closed = 0

    def close(self) -> None:
        self.closed += 1


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_sessions_expire_by_age_unless_a_call_runs() -> None:
    clock = Clock()
    sessions = Sessions(10, 100, clock)
    idle, busy = sessions.new(("a", "x")), sessions.new(("b", "x"))
    idle.box, busy.box = Box(), Box()  # pyright: ignore[reportAttributeAccessIssue]
    idle_box = idle.box
    sessions.begin(busy)
    clock.now = 101
    assert sessions.find(("a", "x")) is None
    assert sessions.find(("b", "x")) is busy
    assert idle_box.closed == 1  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    sessions.finish(busy)
    clock.now = 200
    assert sessions.find(("b", "x")) is busy
    clock.now = 202
    assert sessions.find(("b", "x")) is None


def test_a_full_house_ends_the_longest_idle_and_none_that_was_just_used() -> None:
    clock = Clock()
    sessions = Sessions(2, 1000, clock)
    sessions.new(("a", "x"))
    clock.now = 10
    sessions.new(("b", "x"))
    clock.now = 30
    with pytest.raises(Busy, match="all 2 sessions are in use"):
        sessions.new(("c", "x"))
    clock.now = 65
    sessions.new(("c", "x"))
    assert sessions.find(("a", "x")) is None
    assert sessions.find(("b", "x")) is not None
    assert len(sessions) == 2


def test_a_session_that_ends_under_a_call_is_closed_behind_it() -> None:
    sessions = Sessions(2, 1000, Clock())
    session = sessions.new(("a", "x"))
    box = Box()
    session.box = box  # pyright: ignore[reportAttributeAccessIssue]
    sessions.begin(session)
    sessions.new(("b", "y"))
    sessions.end("a")
    assert box.closed == 0
    assert len(sessions) == 1
    sessions.finish(session)
    assert box.closed == 1
    sessions.close()
    assert box.closed == 1


def test_a_passing_session_ends_with_its_call() -> None:
    sessions = Sessions(2, 1000, Clock())
    session, box = passing(), Box()
    sessions.begin(session)
    session.box = box  # pyright: ignore[reportAttributeAccessIssue]
    sessions.finish(session)
    assert box.closed == 1
    assert len(sessions) == 0
