"""Threads that do the work of requests: so many at a time, a bounded queue before them, and none of it for nobody."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from sira.serve.faults import Busy, Closing, Gone, TimedOut

Result = TypeVar("Result")


class Ticket(Generic[Result]):
    """One piece of work. `stopped` tells a job between its steps that nobody waits for it any more."""

    def __init__(self, job: Callable[[Callable[[], bool]], Result]) -> None:
        self.job = job
        self.future: Future[Result] = Future()
        self._stop = threading.Event()

    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        self._stop.set()

    def then(self, call: Callable[[], None]) -> None:
        """Call it in the running event loop when the job has ended or was taken back, and its thread is free."""
        loop = asyncio.get_running_loop()

        def from_thread(_: Future[Result]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(call)

        self.future.add_done_callback(from_thread)


class Workers:
    """`threads` daemon threads. A job that waits may be taken back; one that runs is left to end, and its thread is
    free after that. The order is first come, first served."""

    def __init__(self, threads: int, queue: int, name: str) -> None:
        self.threads, self.queue, self.name = threads, queue, name
        self._waiting: deque[Ticket[Any]] = deque()
        self._running = 0
        self._closed = False
        self._changed = threading.Condition()
        self._mean_s = 0.05
        self.rejected = 0
        for number in range(threads):
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True).start()

    @property
    def running(self) -> int:
        return self._running

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def submit(self, job: Callable[[Callable[[], bool]], Result]) -> Ticket[Result]:
        """Put a job into the queue; it is called with `Ticket.stopped`. Raises Busy, Closing."""
        ticket: Ticket[Result] = Ticket(job)
        with self._changed:
            if self._closed:
                raise Closing("the server is shutting down: ask again in a moment, or another one")
            if self._running + len(self._waiting) >= self.threads + self.queue:
                raise self.refusal()
            self._waiting.append(ticket)
            self._changed.notify()
        return ticket

    def refusal(self) -> Busy:
        """Counted, with the seconds after which to come again."""
        self.rejected += 1
        wait = max(1, round(self._mean_s * (len(self._waiting) + 1) / self.threads))
        return Busy(f"all {self.threads} threads work and {self.queue} requests wait: ask again later", wait)

    def cancel(self, ticket: Ticket[Any]) -> None:
        """Nobody waits for it: it is not begun, or told to stop at its next step."""
        ticket.stop()
        with self._changed, contextlib.suppress(ValueError):  # it runs already, or is done
            self._waiting.remove(ticket)
            ticket.future.cancel()

    async def run(
        self,
        job: Callable[[Callable[[], bool]], Result],
        *,
        timeout_s: float,
        gone: Callable[[], Awaitable[None]] | None = None,
    ) -> Result:
        """The job's result, from an event loop. `gone` returns when the client has left.

        Raises what the job raises; Busy at once; TimedOut after `timeout_s`, the wait included; Gone. Where the
        awaiting task is cancelled, so is the job.
        """
        loop = asyncio.get_running_loop()
        ticket = self.submit(job)
        over = loop.create_future()  # one thing to wait for: in a busy loop each step more is time that passes

        def end(_: object = None) -> None:
            if not over.done():
                over.set_result(None)

        ticket.then(end)
        timer = loop.call_later(timeout_s, end)
        leaving = None if gone is None else asyncio.ensure_future(gone())
        if leaving is not None:
            leaving.add_done_callback(end)
        try:
            await over
            if ticket.future.cancelled():
                raise Closing("the server is shutting down: ask again in a moment, or another one")
            if ticket.future.done():
                return ticket.future.result()
            if leaving is not None and leaving.done():
                raise Gone("the client left")
            raise TimedOut(f"no answer within {timeout_s:g} s: ask for less (a smaller k, fewer clauses), or later")
        finally:
            timer.cancel()
            if leaving is not None:
                leaving.cancel()
            if not ticket.future.done():
                self.cancel(ticket)

    def close(self, timeout_s: float) -> bool:
        """Begin nothing new and wait for what runs; whether all of it ended in time. What waits is taken back."""
        end = time.monotonic() + timeout_s
        with self._changed:
            self._closed = True
            while self._waiting:
                self._waiting.popleft().future.cancel()
            self._changed.notify_all()
            while self._running and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            return self._running == 0

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                ticket = self._waiting.popleft()
                if not ticket.future.set_running_or_notify_cancel():
                    continue
                self._running += 1
            start = time.monotonic()
            try:
                result = ticket.job(ticket.stopped)
            except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
                self._done(start)
                ticket.future.set_exception(error)
            else:
                self._done(start)
                ticket.future.set_result(result)
            del ticket

    def _done(self, start: float) -> None:
        with self._changed:
            self._running -= 1
            self._mean_s += 0.1 * (time.monotonic() - start - self._mean_s)
            self._changed.notify_all()
