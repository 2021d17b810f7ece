"""Threads with a bounded queue."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from sira.serve.faults import Busy, Closing, Gone, TimedOut
from sira.serve.work import Workers


def soon(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end and not true():
        time.sleep(0.005)
    return true()


def test_jobs_run_in_order_and_give_their_results() -> None:
    workers = Workers(1, 100, "test")
    tickets = [workers.submit(lambda _, number=number: number * number) for number in range(20)]
    assert [ticket.future.result(10) for ticket in tickets] == [number * number for number in range(20)]
    assert workers.close(5)


def test_beyond_threads_and_queue_it_is_busy() -> None:
    workers, go = Workers(2, 1, "test"), threading.Event()
    tickets = [workers.submit(lambda _: go.wait(10)) for _ in range(3)]
    assert soon(lambda: workers.running == 2 and workers.waiting == 1)
    with pytest.raises(Busy) as busy:
        workers.submit(lambda _: None)
    assert busy.value.retry_after_s >= 1
    assert workers.rejected == 1
    go.set()
    assert all(ticket.future.result(10) for ticket in tickets)
    assert soon(lambda: workers.running == 0)
    assert workers.submit(lambda _: 7).future.result(10) == 7


def test_a_job_that_waits_is_taken_back_and_one_that_runs_is_told() -> None:
    workers, go, began = Workers(1, 5, "test"), threading.Event(), list[str]()

    def job(name: str) -> Callable[[Callable[[], bool]], bool]:
        def run(stopped: Callable[[], bool]) -> bool:
            began.append(name)
            go.wait(10)
            return stopped()

        return run

    first, second = workers.submit(job("first")), workers.submit(job("second"))
    assert soon(lambda: workers.running == 1)
    workers.cancel(second)
    assert workers.waiting == 0
    assert second.future.cancelled()
    workers.cancel(first)
    go.set()
    assert first.future.result(10) is True
    assert began == ["first"]


def test_an_error_of_a_job_is_raised_where_its_result_is_asked_for() -> None:
    workers = Workers(1, 1, "test")
    with pytest.raises(ZeroDivisionError):
        workers.submit(lambda _: 1 // 0).future.result(10)
    assert workers.submit(lambda _: 1).future.result(10) == 1


def test_from_a_loop_time_and_client_bound_a_job() -> None:
    workers, go = Workers(1, 5, "test"), threading.Event()

    async def gone() -> None:
        await asyncio.sleep(0.05)

    async def run() -> None:
        assert await workers.run(lambda _: 3, timeout_s=5) == 3
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda _: 1 // 0, timeout_s=5)
        with pytest.raises(TimedOut, match=r"no answer within 0\.05 s"):
            await workers.run(lambda _: go.wait(10), timeout_s=0.05)
        with pytest.raises(Gone):
            await workers.run(lambda _: go.wait(10), timeout_s=5, gone=gone)
        task = asyncio.create_task(workers.run(lambda _: go.wait(10), timeout_s=5))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (workers.running, workers.waiting) == (1, 0)
        go.set()

    asyncio.run(run())
    assert soon(lambda: workers.running == 0)


def test_closing_begins_nothing_new_and_waits_for_what_runs() -> None:
    workers, go = Workers(1, 5, "test"), threading.Event()
    running = workers.submit(lambda _: go.wait(10))
    waiting = workers.submit(lambda _: go.wait(10))
    assert soon(lambda: workers.running == 1)
    assert workers.close(0.05) is False
    assert waiting.future.cancelled()
    with pytest.raises(Closing):
        workers.submit(lambda _: None)
    go.set()
    assert workers.close(10) is True
    assert running.future.result(10)


def test_what_waits_when_a_server_closes_is_told_so() -> None:
    workers, go = Workers(1, 5, "test"), threading.Event()

    async def run() -> None:
        first = asyncio.create_task(workers.run(lambda _: go.wait(10), timeout_s=10))
        second: asyncio.Task[Any] = asyncio.create_task(workers.run(lambda _: None, timeout_s=10))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(workers.close, 0.01)
        with pytest.raises(Closing):
            await second
        go.set()
        assert await first

    asyncio.run(run())
