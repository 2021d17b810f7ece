"""Connections: heads that do not come, and answers that go out whole."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from typing import Any

import httpx2
import pytest
import uvicorn
from uvicorn.server import ServerState

from sira.records import Document
from sira.serve.http.protocol import Protocol
from sira.serve.limits import Limits
from sira.serve.settings import HttpSettings
from tests.conftest import MakeIndex
from tests.serve.http.support import DOCUMENTS, NO_LOG, raw, running, soon

pytestmark = pytest.mark.java
HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


def ended(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    parts: list[bytes] = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def refuses(connection: socket.socket) -> bool:
    """Whether the other end is closed, so that one byte more cannot be sent."""
    try:
        connection.sendall(b"G")
    except OSError:
        return True
    return False


def test_a_connection_without_a_whole_head_is_closed(make_index: MakeIndex) -> None:
    with running({"pots": make_index(DOCUMENTS)}, Limits(threads=1, body_s=0.5)) as server:
        address = ("127.0.0.1", server.port)
        silent, half, second = (socket.create_connection(address, timeout=20) for _ in range(3))
        half.sendall(HEAD)
        second.sendall(HEAD + b"\r\n")
        assert b" 200 OK" in second.recv(65536)
        time.sleep(1.0)  # between requests a connection may rest
        second.sendall(HEAD)
        assert [ended(item) for item in (silent, half, second)] == [b"", b"", b""]
        dripping = socket.create_connection(address, timeout=20)
        assert soon(lambda: refuses(dripping))
        assert server.get("/health").status_code == 200
        for item in (silent, half, second, dripping):
            item.close()
        assert soon(lambda: len(server.server.server_state.connections) == 1)


def test_the_bound_on_heads_is_none_on_answers(make_index: MakeIndex) -> None:
    with running({"pots": make_index(DOCUMENTS)}, Limits(threads=1, body_s=0.5, search_s=30)) as server:
        service = server.front.service
        real = service.search

        def slow(*asked: Any) -> dict[str, Any]:
            time.sleep(1.2)
            return real(*asked)

        service.search = slow  # type: ignore[method-assign]
        for _ in range(2):  # on one connection
            assert server.post("/v1/indexes/pots/search", {"query": "kiln"}).status_code == 200
        assert len(server.server.server_state.connections) == 1


@pytest.mark.parametrize(
    "bytes_", [b"\x16\x03\x01 hello\r\n\r\n", HEAD + b"x: " + b"y" * 70_000, b"GET /\xff HTTP/1.1\r\n\r\n"]
)
def test_bytes_that_are_no_request_are_a_problem(make_index: MakeIndex, bytes_: bytes) -> None:
    with running({"pots": make_index(DOCUMENTS)}, Limits(threads=1)) as server:
        head, _, body = raw(server.port, bytes_).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"content-type: application/problem+json\r\n" in head
        assert json.loads(body)["type"] == "urn:sira:problem:bad-request"
        assert server.get("/health").status_code == 200


def test_an_offer_of_another_protocol_is_passed_over(make_index: MakeIndex, caplog: pytest.LogCaptureFixture) -> None:
    """As Java's own HTTP client makes it in its first request."""
    offer = {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2-settings": "AAEAAEAAAAIAAAABAAMAAABk"}
    with running({"pots": make_index(DOCUMENTS)}, Limits(threads=1)) as server:
        for _ in range(2):  # on one connection
            answer = server.post("/v1/indexes/pots/search", {"query": "kiln"}, headers=offer)
            assert answer.json()["hits"]
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


BAD_CHUNK = b"Transfer-Encoding: chunked\r\n\r\nno chunk\r\n"


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("line", "statuses"),
    [("POST /v1/indexes/pots/search", (401, 400)), ("GET /health", (200, 400)), ("HEAD /health", (200, 400))],
)
def test_a_body_that_cannot_be_read_ends_the_connection_and_leaves_no_stack(
    make_index: MakeIndex, caplog: pytest.LogCaptureFixture, line: str, statuses: tuple[int, int], late: bool
) -> None:
    """Of requests that are answered before their body has come, or as it comes."""
    settings = HttpSettings(log=NO_LOG, token="a-token-of-the-tests")
    with (
        running({"pots": make_index(DOCUMENTS)}, Limits(threads=1), settings) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection,
    ):
        head, bad = BAD_CHUNK.split(b"no", 1)
        start = f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode() + head
        connection.sendall(start if late else start + b"no" + bad)
        told = connection.recv(65536) if late else b""
        if late:
            connection.sendall(b"no" + bad)
        told += ended(connection)
        assert int(told.split()[1]) == statuses[0 if late else 1]
        assert told.count(b"HTTP/1.1 ") == 1
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_a_client_that_reads_slowly_and_steadily_gets_all(make_index: MakeIndex) -> None:
    limits = Limits(threads=1, page_bytes=16 << 20, lines=200_000, write_s=0.5)
    large = Document("large", "words that take a while on their way to a client\n" * 100_000)
    with running({"pots": make_index((large,))}, limits) as server, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", server.port))
        path = "/v1/indexes/pots/documents?docid=large&limit=200000"
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        size = 0
        while part := connection.recv(131_072):
            size += len(part)
            time.sleep(len(part) / 2_000_000)  # two seconds and more in all
        assert size > len(large.text)


def test_a_large_answer_and_pipelined_small_ones_come_whole_and_in_order(make_index: MakeIndex) -> None:
    with running({"pots": make_index(DOCUMENTS)}, Limits(threads=2)) as server:
        asked = {"docid": "long", "limit": 2000}
        plain = httpx2.get(f"{server.url}/v1/indexes/pots/documents", params=asked, headers={"accept-encoding": ""})
        assert len(plain.content) == int(plain.headers["content-length"]) > 100_000
        one = b"GET /v1/indexes/pots/documents?docid=long&limit=2000 HTTP/1.1\r\nHost: localhost\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
            connection.sendall((one + b"\r\n") * 2 + HEAD + b"Connection: close\r\n\r\n")
            told = ended(connection)
        bodies = [item.partition(b"\r\n\r\n")[2] for item in told.split(b"HTTP/1.1 200 OK")[1:]]
        assert [json.loads(item) for item in bodies] == [plain.json(), plain.json(), {"status": "ok"}]


def test_a_connection_made_late_does_not_put_the_end_off() -> None:
    """It is closed at once if it is silent, and answered if its request was on the way."""

    async def app(_: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def leave() -> tuple[bytes, bytes]:
        config, state = uvicorn.Config(app, log_config=None, access_log=False), ServerState()
        streams: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        for late in (False, True, True):
            ours, theirs = socket.socketpair()
            made = Protocol(config, state, {}, head_s=60, write_s=60, connections=10)
            await asyncio.get_running_loop().connect_accepted_socket(lambda made=made: made, theirs)
            streams.append(await asyncio.open_connection(sock=ours))
            if not late:
                made.shutdown()
        (_, first), (silent, _), (asking, writer) = streams
        writer.write(HEAD + b"Connection: close\r\n\r\n")
        async with asyncio.timeout(20):
            told = await silent.read(), await asking.read()
        for _, item in streams:
            item.close()
        assert first.is_closing()
        return told

    nothing, answer = asyncio.run(leave())
    assert nothing == b""
    assert answer.startswith(b"HTTP/1.1 204")
