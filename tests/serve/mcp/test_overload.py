"""More calls over HTTP than can be answered."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from functools import partial
from urllib.parse import urlsplit

import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

from mcp import Client
from mcp.shared.exceptions import MCPError

from sira.serve.limits import Limits
from tests.serve.mcp.support import SlowDesk, reasoned, served, slow_app


def test_calls_that_come_all_at_once_do_not_pile_up() -> None:
    """Each is sent but for its last byte, and then the last bytes together."""
    version = "2026-07-28"
    told = {"protocolVersion": version, "clientCapabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in told.items()}
    params = {"name": "search", "arguments": reasoned(query="sleep 1"), "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {version}\r\nMcp-Method: tools/call\r\n"
        "Mcp-Name: search\r\nConnection: close\r\n\r\n"
    ).encode()
    app = slow_app(SlowDesk(), Limits(threads=1, queue=1))
    app._most_calls = 2  # pyright: ignore[reportPrivateUsage] - of more, how many get a result depends on the machine
    with served(app) as url, contextlib.ExitStack() as stack:
        place = ("127.0.0.1", urlsplit(url).port or 0)
        clients = [stack.enter_context(socket.create_connection(place, timeout=30)) for _ in range(100)]
        for client in clients:
            client.sendall(head + body[:-1])
        for client in clients:
            client.sendall(body[-1:])
        answers = [b"".join(iter(partial(client.recv, 65536), b"")).decode() for client in clients]
        refused = [answer for answer in answers if answer.startswith("HTTP/1.1 429 ")]
        assert refused
        assert all("retry-after: 1" in answer and "all 1 threads work" in answer for answer in refused)
        done = [answer for answer in answers if "search: sleep 1" in answer]
        assert len(done) >= 2
        assert len(refused) + len(done) == len(answers)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_tells_why_a_call_was_refused(mode: str) -> None:
    async def run(url: str) -> None:
        async with Client(url, mode=mode) as client:
            with pytest.raises(MCPError, match="The server is busy: all 2 threads work and 64 requests wait"):
                await client.call_tool("search", reasoned(query="a"))
            await client.list_tools()

    app = slow_app(SlowDesk(), Limits(threads=2))
    app._most_calls = 0  # pyright: ignore[reportPrivateUsage]
    with served(app) as url:
        asyncio.run(run(url))
