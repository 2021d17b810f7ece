"""Calls over the official client in process: turns, cancellation, progress, bounds, faults."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

import anyio
from mcp import Client
from mcp.shared.exceptions import MCPError

from sira.serve.limits import Limits
from sira.serve.mcp.base import McpSettings
from sira.serve.mcp.server import Adapter
from tests.serve.mcp.support import SlowDesk, reasoned, said, soon

QUIET = Limits(threads=2, queue=64)


def with_client(
    scenario: Callable[[Client, Adapter, SlowDesk], Awaitable[Any]], settings: McpSettings | None = None
) -> Any:
    """A scenario over the handshake protocol, one session for all calls."""
    desk = SlowDesk()
    adapter = Adapter({"slow": desk}, settings or McpSettings(limits=QUIET, structured=False))

    async def run() -> Any:
        async with Client(adapter.server(), mode="legacy") as client:
            return await scenario(client, adapter, desk)

    try:
        return asyncio.run(run())
    finally:
        assert adapter.close(5)
        assert len(adapter.sessions) == 0


def test_a_cancelled_call_frees_its_turn_and_the_next_one_is_answered() -> None:
    async def scenario(client: Client, adapter: Adapter, desk: SlowDesk) -> None:
        with anyio.move_on_after(0.3) as scope:
            await client.call_tool("search", reasoned(query="sleep 1"))
        assert scope.cancelled_caught
        start = time.monotonic()
        result = await client.call_tool("search", reasoned(query="after"))
        assert said(result) == "search: after"
        assert time.monotonic() - start < 3
        assert desk.done == ["sleep 1", "after"]

    with_client(scenario)


def test_a_call_that_is_cancelled_in_its_queue_never_begins() -> None:
    async def scenario(client: Client, adapter: Adapter, desk: SlowDesk) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "search", reasoned(query="sleep 0.5"))
            await anyio.sleep(0.1)
            with anyio.move_on_after(0.1):
                await client.call_tool("search", reasoned(query="never"))
        assert said(await client.call_tool("search", reasoned(query="last"))) == "search: last"
        assert desk.began == ["sleep 0.5", "last"]

    with_client(scenario)


def test_fifty_cancelled_calls_leave_nothing_behind() -> None:
    async def scenario(client: Client, adapter: Adapter, desk: SlowDesk) -> None:
        await client.call_tool("search", reasoned(query="first"))
        threads = threading.active_count()

        async def cancelled(number: int) -> None:
            with anyio.move_on_after(0.05 + number / 1000):
                await client.call_tool("search", reasoned(query="sleep 0.2"))

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(cancelled, number)
        assert said(await client.call_tool("search", reasoned(query="last"))) == "search: last"
        assert adapter.workers.running == adapter.workers.waiting == 0
        assert threading.active_count() <= threads
        assert len(desk.began) < 10

    with_client(scenario)


def test_fifty_parallel_calls_are_answered_in_their_order() -> None:
    async def scenario(client: Client, adapter: Adapter, desk: SlowDesk) -> None:
        answers: dict[int, str] = {}

        async def one(number: int) -> None:
            answers[number] = said(await client.call_tool("search", reasoned(query=f"q{number}")))

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(one, number)
        assert answers == {number: f"search: q{number}" for number in range(50)}
        assert sorted(desk.done) == sorted(f"q{number}" for number in range(50))

    with_client(scenario)


def test_more_calls_than_may_wait_are_told_to_come_again() -> None:
    async def scenario(client: Client, adapter: Adapter, desk: SlowDesk) -> None:
        results: list[Any] = []

        async def one() -> None:
            results.append(await client.call_tool("search", reasoned(query="sleep 0.1")))

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(one)
        busy = [said(item) for item in results if item.is_error]
        assert len(busy) == 4
        assert all("try the same call again" in item for item in busy)

    with_client(scenario, McpSettings(limits=replace(QUIET, threads=2, queue=2), structured=False))


def test_a_long_call_tells_how_it_goes() -> None:
    heard: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    async def scenario(client: Client, adapter: Adapter, desk: SlowDesk) -> None:
        await client.call_tool("search", reasoned(query="sleep 2"), progress_callback=hear)

    with_client(scenario)
    assert len(heard) >= 2
    assert [item[0] for item in heard] == sorted({item[0] for item in heard})
    assert all("sleeping" in (message or "") for _, message in heard)


def test_a_call_ends_in_time_and_so_do_those_behind_it() -> None:
    async def scenario(client: Client, adapter: Adapter, desk: SlowDesk) -> None:
        slow = await client.call_tool("search", reasoned(query="sleep 1.5"))
        assert slow.is_error
        assert "no answer within 0.5 s" in said(slow)
        assert (slow.meta or {})["sira/failure"] == {"failure": "timed_out"}
        behind = await client.call_tool("search", reasoned(query="behind"))
        assert "an earlier call of this session still runs" in said(behind)
        assert soon(lambda: desk.done == ["sleep 1.5"])
        assert said(await client.call_tool("search", reasoned(query="later"))) == "search: later"

    with_client(scenario, McpSettings(limits=QUIET, call_s=0.5, structured=False))


def test_a_fault_of_the_program_fails_one_call_and_tells_nothing_of_the_machine() -> None:
    async def scenario(client: Client, adapter: Adapter, desk: SlowDesk) -> None:
        failed = await client.call_tool("search", reasoned(query="fail"))
        assert failed.is_error
        assert said(failed) == "search failed inside the server (ValueError): try another call."
        assert said(await client.call_tool("search", reasoned(query="on"))) == "search: on"

    with_client(scenario)


def test_an_unknown_tool_and_an_unknown_resource_are_faults_of_the_protocol() -> None:
    async def scenario(client: Client, adapter: Adapter, desk: SlowDesk) -> None:
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("nothing", {})
        assert unknown.value.code == -32602
        for uri in ("sira://slow/documents/x", "sira://other/manifest", "sira://slow/documents/", "http://[", "x"):
            with pytest.raises(MCPError) as absent:
                await client.read_resource(uri)
            assert absent.value.code == -32002

    with_client(scenario)


def test_an_address_names_its_index() -> None:
    one, other = SlowDesk(), SlowDesk()
    adapter = Adapter({"slow": one, "mcp": other}, McpSettings(limits=QUIET))
    found = [
        adapter._named(path) for path in ("/mcp", "/mcp/", "/mcp/slow", "/mcp/mcp", "/mcp-proxy/mcp/mcp", "/mcp/x")
    ]  # pyright: ignore[reportPrivateUsage]
    assert found == [one, one, one, other, other, None]
    assert adapter.close()


def test_the_session_ends_with_the_server() -> None:
    desk = SlowDesk()
    adapter = Adapter({"slow": desk}, McpSettings(limits=QUIET))

    async def run() -> None:
        async with Client(adapter.server(), mode="legacy") as client:
            await client.call_tool("search", reasoned(query="fail"))

    asyncio.run(run())
    assert len(adapter.sessions) == 1
    assert adapter.close(5)
    assert desk.closed == 1
