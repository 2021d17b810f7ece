"""MCP of `sira serve --workers N`: whichever process a request reaches, it comes to the one that holds its session."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
from collections.abc import AsyncGenerator, Generator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.conftest import MakeIndex
from tests.serve.http.processes import Process, serving
from tests.serve.mcp.support import DOCUMENTS, reasoned, record, said, soon

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOKEN = "a-token-of-the-tests"
USUAL = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {TOKEN}"}
ONCE = httpx2.Limits(max_keepalive_connections=0)
"""Every request over a connection of its own, so that any process may get it."""
SLOW = {"docid": "raku", "pattern": "(([a-z ]+)+)+$~", "mode": "regex"}
"""A call of find_in_document that takes as long as it may."""
CANCELLED = -32800


@pytest.fixture(scope="module")
def server(make_index: MakeIndex, tmp_path_factory: pytest.TempPathFactory) -> Generator[Process]:
    folder, index = tmp_path_factory.mktemp("workers"), make_index(DOCUMENTS)
    more = ("--workers", "3", "--preload", "--log", str(folder / "access.log"))
    with serving(folder, f"pots={index}", *more, environment={"SIRA_TOKEN": TOKEN}) as found:
        assert soon(lambda: len(found.workers) == 3, 30)
        yield found
    assert "Traceback" not in found.errors.read_text()


@contextlib.asynccontextmanager
async def connected(server: Process, mode: str) -> AsyncGenerator[Client]:
    async with (
        httpx2.AsyncClient(headers=USUAL, limits=ONCE, timeout=30, trust_env=False) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def ask(server: Process, method: str, body: Any = None, session: str = "", **headers: str) -> httpx2.Response:
    more = {"mcp-session-id": session} if session else {}
    given = {**USUAL, **more, **{name.replace("_", "-"): value for name, value in headers.items()}}
    with httpx2.Client(timeout=30, trust_env=False) as client:
        return client.request(method, f"{server.url}/mcp", json=body, headers=given)


def message(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number: int, tool: str, **fields: Any) -> dict[str, Any]:
    return message(number, "tools/call", name=tool, arguments=reasoned(**fields), _meta={"progressToken": number})


def opened(server: Process) -> str:
    """A session of the protocol; its id."""
    client = {"name": "test", "version": "1"}
    hello = message(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
    answer = ask(server, "POST", hello)
    assert answer.status_code == 200, answer.text
    session = answer.headers["mcp-session-id"]
    assert re.fullmatch(r"[0-9a-f]{8}\.[0-9a-f]{32}", session)
    ready = ask(server, "POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
    assert ready.status_code == 202
    return session


def events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith("data:") and len(line) > 8:
            yield json.loads(line.removeprefix("data:"))


def passed_on(server: Process) -> int:
    with httpx2.Client(trust_env=False) as client:
        lines = client.get(f"{server.url}/metrics", headers=USUAL).text.splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if "_total{" in line and 'route="passed on"' in line)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_session_is_one_whichever_process_gets_a_call(server: Process, mode: str) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def run() -> None:
        async with connected(server, mode) as client:
            found = await client.call_tool("search", reasoned(query="glaze"))
            named: dict[str, Any] = {"session": record(found)["session"]} if mode == "auto" else {}
            assert all(re.fullmatch(r"[0-9a-f]{8}\.[A-Za-z0-9_-]{22}", name) for name in named.values())
            for _ in range(20):
                page = await client.call_tool("read_search_results", reasoned(search_id="s1", offset=2, **named))
                assert not page.is_error, said(page)
                assert record(page)["search_id"] == "s1"
            for number, query in enumerate(("kiln", "sawdust", "bare", "shelf"), start=2):
                again = await client.call_tool("search", reasoned(query=query, **named))
                assert record(again)["search_id"] == f"s{number}"
            await client.call_tool("find_in_document", reasoned(**SLOW, **named), progress_callback=hear)
            alone = await client.call_tool("read_document", reasoned(docid="raku"))
            assert "sawdust" in said(alone)

    before = passed_on(server)
    asyncio.run(run())
    assert passed_on(server) > before
    assert len(heard) >= 2


def test_a_call_that_is_cancelled_ends_in_the_process_that_works_at_it(server: Process) -> None:
    def ends(number: int, session: str) -> dict[str, Any]:
        """How a call ends that is cancelled at its first word of progress."""
        with (
            httpx2.Client(timeout=30, trust_env=False) as client,
            client.stream(
                "POST",
                f"{server.url}/mcp",
                json=call(number, "find_in_document", **SLOW),
                headers={**USUAL, "mcp-session-id": session},
            ) as answer,
        ):
            told = events(answer.iter_lines())
            assert next(told)["method"] == "notifications/progress"
            gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
            assert ask(server, "POST", gone, session).status_code == 202
            return list(told)[-1]

    for _ in range(3):  # so that some of it is passed on
        session = opened(server)
        tries = (ends(number, session) for number in range(1, 4))  # a busy machine may be slower than the call
        assert any(end.get("error", {}).get("code") == CANCELLED for end in tries)
        after = ask(server, "POST", call(9, "search", query="glaze"), session)
        assert "search_id=s1" in after.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_that_cancels_gets_its_next_answer(server: Process, mode: str) -> None:
    async def run() -> None:
        async with connected(server, mode) as client:
            found = await client.call_tool("search", reasoned(query="glaze"))
            named: dict[str, Any] = {"session": record(found)["session"]} if mode == "auto" else {}
            for _ in range(2):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.7):
                        await client.call_tool("find_in_document", reasoned(**SLOW, **named))
                assert not (await client.call_tool("search", reasoned(query="kiln", **named))).is_error

    asyncio.run(run())


def test_streams_flow_and_end_with_their_client(server: Process) -> None:
    """A session has one at a time, by which the end of the first one shows."""
    sessions = [opened(server) for _ in range(4)]
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)

    async def stream(http: httpx2.AsyncClient, session: str, stack: contextlib.AsyncExitStack) -> int:
        given = {**USUAL, "mcp-session-id": session}
        answer = await stack.enter_async_context(http.stream("GET", f"{server.url}/mcp", headers=given))
        return answer.status_code

    async def run() -> None:
        async with httpx2.AsyncClient(limits=limits, timeout=30, trust_env=False) as http:
            async with contextlib.AsyncExitStack() as stack:
                for session in sessions:
                    assert await stream(http, session, stack) == 200
                    for _ in range(4):
                        assert await stream(http, session, stack) == 409
            for session in sessions:
                while True:
                    async with contextlib.AsyncExitStack() as stack:
                        status = await stream(http, session, stack)
                    if status == 200:
                        break
                    assert status == 409  # the end of the first one is on its way

    async def within() -> None:
        async with asyncio.timeout(30):
            await run()

    before = passed_on(server)
    asyncio.run(within())
    assert passed_on(server) > before


def test_a_session_that_was_ended_is_gone_everywhere(server: Process) -> None:
    session = opened(server)
    assert "search_id=s1" in ask(server, "POST", call(1, "search", query="glaze"), session).text
    assert ask(server, "DELETE", None, session).status_code == 200
    for _ in range(8):
        assert ask(server, "POST", call(1, "search", query="glaze"), session).status_code == 404


def test_what_names_no_session_is_passed_to_nobody(server: Process) -> None:
    session = opened(server)
    tag, _, secret = session.partition(".")
    before = passed_on(server)
    for name in (secret, f"../{secret}", f"0123abcd.{secret}", f"../{tag}.{secret}", tag, "."):
        for method in ("POST", "GET", "DELETE"):
            assert ask(server, method, message(1, "ping"), name).status_code == 404, name
    assert passed_on(server) == before
    for _ in range(6):  # the secret counts, and not the tag alone
        assert ask(server, "POST", message(1, "ping"), f"{tag}.{secret[::-1]}").status_code == 404
        assert ask(server, "POST", message(1, "ping"), session, authorization="Bearer no").status_code == 401
    assert ask(server, "POST", message(1, "ping"), session).status_code == 200


def worker_of(log: Path, tag: str) -> int:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return next(line["pid"] for line in lines if line.get("worker") == tag)


def test_the_sessions_of_a_process_that_was_killed_are_gone_and_new_ones_begin(server: Process) -> None:
    log = server.errors.with_name("access.log")

    async def run() -> None:
        async with connected(server, "auto") as client:
            handle = record(await client.call_tool("search", reasoned(query="glaze")))["session"]
            tag = handle.partition(".")[0]
            while not (session := opened(server)).startswith(tag):
                pass
            victim = worker_of(log, tag)
            os.kill(victim, signal.SIGKILL)
            assert soon(lambda: victim not in server.workers and len(server.workers) == 3, 30)
            assert soon(server.is_ready, 30)
            for _ in range(6):
                answer = ask(server, "POST", message(1, "ping"), session)
                assert (answer.status_code, answer.json()["error"]["message"]) == (404, "Session not found")
                lost = await client.call_tool("read_search_results", reasoned(search_id="s1", session=handle))
                assert lost.is_error
                assert "Call search without session" in said(lost)
            named = record(await client.call_tool("search", reasoned(query="glaze")))["session"]
            page = await client.call_tool("read_search_results", reasoned(search_id="s1", session=named))
            assert not page.is_error
        assert opened(server)

    asyncio.run(run())
