"""Calls that are cancelled, and clients that leave: the server comes back to where it was."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

from mcp import Client

from sira.serve.limits import Limits
from sira.serve.mcp.http import McpApp, mcp_app
from sira.serve.service import Service
from sira.serve.settings import ServeSettings
from tests.conftest import MakeIndex
from tests.serve.mcp.support import DOCUMENTS, reasoned, record, said, served, soon

pytestmark = pytest.mark.java

SLOW = {"docid": "raku", "pattern": "(([a-z ]+)+)+$~", "mode": "regex"}
"""A call of find_in_document that takes as long as it may."""
CANCELLED = 50


class Held(NamedTuple):
    """What a server holds."""

    threads: int
    files: int
    searchers: int
    sessions: int
    work: int


def held(service: Service, app: McpApp) -> Held:
    with service.pool.lease("pots") as opened:
        searchers = opened.users - 1
    workers = app.adapter.workers
    files = len(list(Path(f"/proc/{os.getpid()}/fd").iterdir()))
    return Held(
        threading.active_count(), files, searchers, len(app.adapter.sessions), workers.running + workers.waiting
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_fifty_cancelled_searches_leave_nothing_behind(make_index: MakeIndex, mode: str) -> None:
    async def cancelled(client: Client, tool: str, seconds: float, **fields: Any) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(seconds):
                await client.call_tool(tool, reasoned(**fields))

    async def run(url: str) -> None:
        async with Client(url, mode=mode) as client, asyncio.TaskGroup() as group:
            for _ in range(threads):  # they have the threads meanwhile
                group.create_task(cancelled(client, "find_in_document", 1.2, **SLOW))
            await asyncio.sleep(0.3)
            for number in range(CANCELLED):
                group.create_task(cancelled(client, "search", 0.5, query=f"glaze x{number}"))
        async with Client(url, mode=mode) as client:
            assert "sawdust" in said(await client.call_tool("read_document", reasoned(docid="raku")))

    threads = 2
    with Service(ServeSettings({"pots": make_index(DOCUMENTS)}, limits=Limits(threads=threads))) as service:
        app = mcp_app(service)
        with served(app) as url:
            asyncio.run(run(url))
            assert soon(lambda: held(service, app)[2:] == (0, 0, 0), 20)
            before = held(service, app)
            asyncio.run(run(url))
            assert soon(lambda: all(now <= then for now, then in zip(held(service, app), before, strict=True)), 20), (
                held(service, app),
                before,
            )


def test_a_search_that_fails_begins_no_session(make_index: MakeIndex) -> None:
    async def run(url: str) -> None:
        async with Client(url) as client:
            for fields in (reasoned(query=" "), reasoned(), {}):
                result = await client.call_tool("search", fields)
                assert result.is_error
                assert "session=" not in said(result)
            assert len(app.adapter.sessions) == 0
            named = record(await client.call_tool("search", reasoned(query="raku")))["session"]
            assert (await client.call_tool("search", reasoned(query=" ", session=named))).is_error
            assert not (await client.call_tool("search", reasoned(query="glaze", session=named))).is_error
            assert len(app.adapter.sessions) == 1

    with Service(ServeSettings({"pots": make_index(DOCUMENTS)})) as service:
        app = mcp_app(service)
        with served(app) as url:
            asyncio.run(run(url))
