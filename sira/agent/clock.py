"""Time for an episode, and work that can be left behind when its time is up."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")

_SLICE_S = 0.2
"""How often a wait looks whether it was cancelled."""


class Clock(Protocol):
    """Seconds that only grow. A test drives one of its own, so that it need not sleep."""

    def now(self) -> float: ...

    def wait(self, done: Future[Any], seconds: float) -> bool:
        """Wait until the work is done or the seconds have passed on this clock; whether it is done."""
        ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own."""

    def now(self) -> float:
        return time.monotonic()

    def wait(self, done: Future[Any], seconds: float) -> bool:
        concurrent.futures.wait([done], max(0.0, seconds))
        return done.done()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Overdue(Exception):
    """The work was not done by its time."""


class Cancelled(Exception):
    """Whoever started the episode wants it ended."""


class Worker:
    """Carries out calls in turn, in a thread of its own that may be left behind."""

    def __init__(self) -> None:
        self._thread: _Thread | None = None

    def start(self, call: Callable[[], Result]) -> Future[Result]:
        """Carry out the call after those before it."""
        if self._thread is None:
            try:
                self._thread = _idle.pop()
            except IndexError:
                self._thread = _Thread()
        done: Future[Result] = Future()
        self._thread.calls.put((call, done))
        return done

    def leave(self) -> None:
        """Give the thread up, and wait for nothing: it serves another worker as soon as it has done what it does."""
        if self._thread is not None:
            self._thread.calls.put(None)
            self._thread = None


class _Thread:
    """A thread that is used again and again: each that has called Java takes a place there for good. It is a daemon, so
    that a call which never ends keeps no process."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        threading.Thread(target=self._run, name="sira-episode", daemon=True).start()

    def _run(self) -> None:
        while True:
            item = self.calls.get()
            if item is None:
                _idle.append(self)
            else:
                _carry_out(*item)
            del item  # lest an idle thread hold on to a whole episode


_idle: deque[_Thread] = deque()


def _carry_out(call: Callable[[], Any], done: Future[Any]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(call())
    except BaseException as error:  # noqa: BLE001 - it is raised again where the result is asked for
        done.set_exception(error)


def in_time(done: Future[Result], clock: Clock, deadline: float | None, cancelled: Callable[[], bool]) -> Result:
    """The result of the work, or what it raised. Raises Overdue at the deadline (None: there is none), Cancelled as
    soon as `cancelled` says so. What is not done by then is cancelled where it had not begun, else left behind."""
    while True:
        if cancelled():
            done.cancel()
            raise Cancelled
        left = _SLICE_S if deadline is None else min(_SLICE_S, deadline - clock.now())
        if clock.wait(done, left):
            return done.result()
        if deadline is not None and clock.now() >= deadline:
            done.cancel()
            raise Overdue
