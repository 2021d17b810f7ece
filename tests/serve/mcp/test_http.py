"""Streamable HTTP on loopback: the official client in both eras of the protocol, sessions, and who may ask."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

import anyio
import jsonschema
from mcp import Client
from mcp.shared.exceptions import MCPError

from sira.agent.controller import Controller
from sira.lucene.reader import Index
from sira.records import Document
from sira.serve.limits import Limits
from sira.serve.mcp.http import mcp_app
from sira.serve.service import Service
from sira.serve.settings import ServeSettings
from tests.conftest import MakeIndex
from tests.serve.http.processes import serving
from tests.serve.mcp.support import ARGUMENTS, DOCUMENTS, SlowDesk, reasoned, record, said, served, slow_app, soon

pytestmark = pytest.mark.java

LIMITS = Limits(threads=2, sessions=20)
TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def path(make_index: MakeIndex) -> Path:
    return make_index(DOCUMENTS)


@pytest.fixture(scope="module")
def service(path: Path, make_index: MakeIndex) -> Generator[Service]:
    other = make_index(DOCUMENTS[:2])
    with Service(ServeSettings({"pots": path, "few": other}, limits=LIMITS)) as service:
        yield service


@pytest.fixture(scope="module")
def address(service: Service) -> Generator[str]:
    with served(mcp_app(service)) as url:
        yield url


async def answers_of(client: Client, *, named: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tools, and the answer of each; `named`: the session goes with each call."""
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    answers: dict[str, Any] = {}
    session: dict[str, str] = {}
    for name, fields in ARGUMENTS.items():
        answers[name] = await client.call_tool(name, reasoned(**fields, **session))
        assert not answers[name].is_error, answers[name]
        if name == "search":
            session = {"session": record(answers[name])["session"]} if named else {}
            await client.call_tool("search", reasoned(query="sawdust", **session))
    return listed, answers


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_gives_what_the_library_gives_and_fits_its_schema(path: Path, address: str, mode: str) -> None:
    async def run() -> tuple[dict[str, Any], dict[str, Any]]:
        async with Client(address, mode=mode) as client:
            return await answers_of(client, named=mode == "auto")

    listed, answers = asyncio.run(run())
    assert set(listed) == set(ARGUMENTS)
    with Index(path) as index, Controller(index) as controller:
        expected: dict[str, str] = {}
        for name, fields in ARGUMENTS.items():
            if name not in ("compile_sketch", "explain"):
                expected[name] = controller.call(name, json.dumps(reasoned(**fields))).text
            if name == "search":
                controller.call("search", json.dumps(reasoned(query="sawdust")))
    for name, tool in listed.items():
        text = said(answers[name])
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        if name in ("read_document", "find_in_document"):  # a document's text is sent once
            assert (tool.output_schema, answers[name].structured_content) == (None, None)
            assert record(answers[name])["docid"] == "raku"
        else:
            told = record(answers[name])
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
            jsonschema.validate(told, tool.output_schema)
            assert told["text"] == text
        if name in expected:
            assert re.sub(r"\n\nsession=\S+: give it as session in further calls\.$", "", text) == expected[name]
        hints = tool.annotations
        assert tool.title == hints.title
        assert hints.read_only_hint
        assert hints.idempotent_hint
        assert hints.open_world_hint is False
        assert hints.destructive_hint is False


def test_text_only_of_a_server(path: Path, tmp_path: Path) -> None:
    async def run(url: str) -> tuple[Any, Any]:
        async with Client(f"{url}/mcp", mode="legacy") as client:
            return await client.list_tools(), await client.call_tool("search", reasoned(query="glaze"))

    with serving(tmp_path, str(path), "--text-only") as server:
        listed, found = asyncio.run(run(server.url))
    assert not any(tool.output_schema for tool in listed.tools)
    assert found.structured_content is None
    assert "search_id=s1" in said(found)


def test_clients_see_nothing_of_one_another(address: str) -> None:
    async def run() -> None:
        async with Client(address, mode="legacy") as one, Client(address, mode="legacy") as other:
            await one.call_tool("search", reasoned(query="glaze"))
            unknown = await other.call_tool("read_search_results", reasoned(search_id="s1"))
            assert unknown.is_error
            assert "unknown" in said(unknown)
            again = await other.call_tool("search", reasoned(query="glaze"))
            assert "Known:" not in said(again)

    asyncio.run(run())


def test_sessions_that_arguments_name(address: str) -> None:
    async def run() -> None:
        async with Client(address) as client:
            first = await client.call_tool("search", reasoned(query="glaze"))
            session = record(first)["session"]
            assert f"session={session}:" in said(first)
            page = await client.call_tool("read_search_results", reasoned(search_id="s1", offset=2, session=session))
            assert record(page)["search_id"] == "s1"
            for given in ({}, {"session": "nobody"}, {"session": 5}, {"session": None}):
                refused = await client.call_tool("read_search_results", reasoned(search_id="s1", **given))
                assert refused.is_error
                assert "session" in said(refused)
            read = await client.call_tool("read_document", reasoned(docid="raku"))
            assert "session" not in record(read)

    asyncio.run(run())


def test_fifty_parallel_calls_of_ten_clients(address: str) -> None:
    texts: list[str] = []

    async def one(number: int) -> None:
        async with Client(address, mode="legacy") as client, anyio.create_task_group() as group:
            for place in range(5):
                group.start_soon(call, client, number, place)

    async def call(client: Client, number: int, place: int) -> None:
        result = await client.call_tool("search", reasoned(query=f"glaze x{number}y{place}"))
        assert not result.is_error
        texts.append(record(result)["query"])

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(one, number)

    asyncio.run(run())
    assert sorted(texts) == sorted(f"glaze x{number}y{place}" for number in range(10) for place in range(5))


def test_each_index_has_an_address(address: str) -> None:
    async def run() -> None:
        async with Client(f"{address}/few", mode="legacy") as client:
            assert (await client.list_resources()).resources[0].uri == "sira://few/manifest"
            found = await client.call_tool("search", reasoned(query="glaze"))
            assert record(found)["total"] == 1

    status, _, body = asked(f"{address}/none", hello())
    assert status == 404
    assert "there are pots, few" in json.loads(body)["error"]["message"]
    asyncio.run(run())


def test_pages_of_a_large_document_join_to_it_and_each_is_sent_once(make_index: MakeIndex) -> None:
    text = "".join(f"Zeile {number}: Glasur für Öfen 🏺 {'ä' * (number % 700)}\n" for number in range(6_000))
    assert len(text.encode()) > 2_000_000
    text += "釉薬" * 20_000  # a line that no page holds
    big = make_index([Document("big", text, "Big"), *DOCUMENTS])

    async def run(url: str) -> None:
        async with Client(url, mode="legacy") as client:
            offset: int | None = 1
            parts: list[str] = []
            while offset is not None:
                page = await client.call_tool("read_document", reasoned(docid="big", offset=offset, limit=2000))
                shown = record(page)
                assert page.structured_content is None
                assert len(said(page).encode()) <= 50 * 1024
                assert shown["first_line"] == offset
                head, _, body = said(page).partition("\n\n")
                assert head == f"[docid=big lines {offset}-{shown['last_line']} of {shown['total_lines']}]"
                offset = shown["next_offset"]
                parts.append(body if offset is None else body.rpartition("\n\n[Continue with ")[0])
            assert "".join(parts) == text
            with pytest.raises(MCPError, match="more than 1,000,000 bytes"):
                await client.read_resource("sira://big/documents/big")
            some = await client.read_resource("sira://big/documents/big?offset=2&limit=2")
            assert said_of(some) == "".join(text.splitlines(keepends=True)[1:3])
            with pytest.raises(MCPError, match="give a whole number from 1"):
                await client.read_resource("sira://big/documents/big?offset=0")

    with Service(ServeSettings({"big": big})) as one, served(mcp_app(one)) as url:
        asyncio.run(run(url))


def said_of(resource: Any) -> str:
    (content,) = resource.contents
    return content.text


def asked(url: str, body: bytes = b"{}", method: str = "POST", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """One request by hand."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=20)
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        connection.request(method, parts.path, body, {**usual, **{k.replace("_", "-"): v for k, v in headers.items()}})
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def hello(number: int = 1) -> bytes:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}).encode()


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"jsonrpc": "2.0", "method": "x", "id": {}}']
)
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28", "1999-01-01"])
def test_garbage_is_refused_and_the_server_goes_on(address: str, body: bytes, version: str) -> None:
    status, _, _ = asked(address, body, MCP_Protocol_Version=version)
    assert 400 <= status < 500
    assert asked(address, hello())[0] == 200


def test_what_is_too_large_is_refused(address: str) -> None:
    assert asked(address, b" " * (LIMITS.body_bytes + 1))[0] == 413


def test_a_session_ends_with_delete(address: str) -> None:
    status, headers, _ = asked(address, hello())
    session = headers["mcp-session-id"]
    assert status == 200
    ready = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    assert asked(address, ready, mcp_session_id=session)[0] == 202
    ping = b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}'
    assert asked(address, ping, mcp_session_id=session)[0] == 200
    assert asked(address, b"", "DELETE", mcp_session_id=session)[0] == 200
    assert asked(address, ping, mcp_session_id=session)[0] == 404


def test_sessions_expire_and_are_bounded() -> None:
    desk = SlowDesk()

    async def run(url: str) -> None:
        async with Client(url) as client:
            first = await client.call_tool("search", reasoned(query="a"))
            session = said(first).rpartition("session=")[2].partition(":")[0]
            await client.call_tool("search", reasoned(query="b"))
            full = await client.call_tool("search", reasoned(query="c"))
            assert full.is_error
            assert "all 2 sessions are in use" in said(full)
            await anyio.sleep(2.8)
            gone = await client.call_tool("search", reasoned(query="d", session=session))
            assert gone.is_error
            assert "is not here" in said(gone)
            assert not (await client.call_tool("search", reasoned(query="e"))).is_error

    app = slow_app(desk, Limits(threads=2, sessions=2, session_s=2.5))
    with served(app) as url:
        asyncio.run(run(url))
        assert soon(lambda: len(app.adapter.sessions) == 0)  # without a call that would look
        assert desk.closed == 3


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_cancelled_calls_over_http_free_their_threads(mode: str) -> None:
    desk = SlowDesk()
    app = slow_app(desk, Limits(threads=1))
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def run(url: str) -> None:
        async with Client(url, mode=mode) as client:
            with anyio.move_on_after(1.0):
                await client.call_tool("search", reasoned(query="sleep 1.5"), progress_callback=hear)
            with anyio.move_on_after(0.2):
                await client.call_tool("search", reasoned(query="never"))
            result = await client.call_tool("search", reasoned(query="after"))
            assert said(result).startswith("search: after")

    with served(app) as url:
        asyncio.run(run(url))
        assert desk.began == ["sleep 1.5", "after"]
        assert heard
        assert soon(lambda: app.adapter.workers.running == app.adapter.workers.waiting == 0)
