"""MCP beside the HTTP API: one app, one set of threads, the API's guard."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from sira.serve.front import Front
from sira.serve.http.app import Mounted, create_app
from sira.serve.mcp.http import mcp_app
from sira.serve.service import Service
from sira.serve.settings import HttpSettings, ServeSettings
from tests.conftest import MakeIndex
from tests.serve.mcp.support import DOCUMENTS, reasoned, record, soon

pytestmark = pytest.mark.java
TOKEN = "a-token-of-the-tests"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_mcp_is_a_part_of_the_servers_app(make_index: MakeIndex, tmp_path: Path, mode: str) -> None:
    settings = HttpSettings(token=TOKEN, log=tmp_path / "access.log")
    front = Front(Service(ServeSettings({"pots": make_index(DOCUMENTS)})))
    mcp = mcp_app(front.service, workers=front.searching)
    app = create_app(front, settings, mounted=[Mounted(mcp.routes(), mcp.run)])
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))

    async def run(url: str) -> None:
        client = create_mcp_http_client(headers={"Authorization": f"Bearer {TOKEN}"})
        async with client, Client(streamable_http_client(url, http_client=client), mode=mode) as session:
            found = await session.call_tool("search", reasoned(query="glaze"))
            assert not found.is_error
            assert record(found)["total"] == 3

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        assert soon(lambda: server.started, 20)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        asyncio.run(run(url))
        for status, given in (
            (401, {}),
            (401, {"authorization": f"Bearer {TOKEN}x"}),
            (403, {"origin": "http://evil.example"}),
            (421, {"host": "evil.example"}),
        ):
            headers = {"authorization": f"Bearer {TOKEN}", **given} if given else {}
            answer = httpx2.post(url, json={}, headers=headers, trust_env=False)
            assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
    lines = [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]
    assert {line["route"] for line in lines if line["status"] < 400} == {"/mcp"}
