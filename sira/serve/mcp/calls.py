"""One call of a tool: in its session's turn, in a thread, for so long, with word of how it goes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from sira.serve.faults import TimedOut
from sira.serve.work import Workers

T = TypeVar("T")
TICK_S = 0.25


async def in_turn(
    workers: Workers,
    lock: asyncio.Lock,
    job: Callable[[], T],
    *,
    timeout_s: float,
    ended: Callable[[], None],
    tick: Callable[[float], Awaitable[None]],
) -> T:
    """What `job` gives, from a thread; calls with the same lock one after the other, in their order.

    `tick` is awaited with the seconds that have passed, every TICK_S while the call lasts. Lucene cannot be stopped
    from outside: where this is cancelled, or `timeout_s` has passed, a job that has not begun never begins, and one
    that runs is left to end. The lock is released and `ended` called when the thread is free, never before.

    Raises what the job raises, Busy, TimedOut.
    """
    loop = asyncio.get_running_loop()
    start = loop.time()
    try:
        async with asyncio.timeout(timeout_s):
            await lock.acquire()
    except TimeoutError:
        ended()
        raise _too_slow(timeout_s, "an earlier call of this session still runs") from None
    except BaseException:
        ended()
        raise

    def free() -> None:
        lock.release()
        ended()

    try:
        ticket = workers.submit(lambda _: job())
    except BaseException:
        free()
        raise
    ticket.then(free)
    result = asyncio.wrap_future(ticket.future)
    result.add_done_callback(_look_at)
    try:
        while (left := timeout_s - (loop.time() - start)) > 0:
            await asyncio.wait({result}, timeout=min(TICK_S, left))
            if result.done():
                return result.result()
            await tick(loop.time() - start)
        raise _too_slow(timeout_s, "ask for less, or later")
    finally:
        if not result.done():
            workers.cancel(ticket)


def _too_slow(timeout_s: float, remedy: str) -> TimedOut:
    return TimedOut(f"no answer within {timeout_s:g} s: {remedy}")


def _look_at(future: asyncio.Future[Any]) -> None:
    """So that asyncio does not complain of the error of an abandoned call."""
    if not future.cancelled():
        future.exception()
