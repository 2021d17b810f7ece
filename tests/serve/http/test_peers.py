"""What passes between two processes of a server, over their sockets: whole answers, streams, and the ends of both."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from sira.serve.http.listening import bound
from sira.serve.http.peers import Peers
from sira.serve.http.problems import ProblemError
from sira.serve.limits import Limits
from sira.serve.settings import HttpSettings

HERE, THERE = "0123abcd", "4567cdef"
NAME = "x" * 32
TEXT = b"glaze " * 20_000
MANY = 150
"""More than a pool of connections holds by default."""


class Holder:
    """The process that has the session: an answer, packed where that is asked for, or a stream without end."""

    def __init__(self) -> None:
        self.streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if scope["method"] == "GET":
            await self._stream(receive, send)
            return
        packs = b"gzip" in headers.get(b"accept-encoding", b"")
        body = gzip.compress(TEXT) if packs else TEXT
        told = [(b"content-length", str(len(body)).encode()), (b"x-query", scope["query_string"])]
        told += [(b"content-encoding", b"gzip")] if packs else []
        await send({"type": "http.response.start", "status": 201, "headers": told})
        await send({"type": "http.response.body", "body": body})

    async def _stream(self, receive: Receive, send: Send) -> None:
        told = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": told})
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        self.streams += 1
        while (await receive())["type"] != "http.disconnect":
            pass
        self.streams -= 1


async def nobody(scope: Scope, receive: Receive, send: Send) -> None:
    """The process that a client reaches, and that knows no session."""
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b"not here: " + body})


@contextlib.asynccontextmanager
async def between(folder: Path, holder: Holder) -> AsyncGenerator[tuple[httpx2.AsyncClient, contextlib.AsyncExitStack]]:
    """A client of the one process, and the life of the other one."""
    here, there = (Peers(folder, tag, Limits()) for tag in (HERE, THERE))
    server = uvicorn.Server(uvicorn.Config(here.forwarding(nobody), lifespan="off", log_level="critical"))
    with bound(HttpSettings(port=0)) as listening:
        listening.listen()
        task = asyncio.create_task(server.serve([listening]))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        limits = httpx2.Limits(max_connections=None)
        async with contextlib.AsyncExitStack() as life, here.listening(nobody):
            await life.enter_async_context(there.listening(holder))
            while len(list(folder.glob("*.sock"))) < 2:
                await asyncio.sleep(0.01)
            async with httpx2.AsyncClient(base_url=url, limits=limits, timeout=30, trust_env=False) as client:
                yield client, life
        server.should_exit = server.force_exit = True
        await task


def test_an_answer_is_passed_as_it_is(tmp_path: Path) -> None:
    async def run() -> None:
        async with between(tmp_path, Holder()) as (client, life):
            path = f"/v1/sessions/{THERE}.{NAME}?a=b%20c"
            packed = await client.post(path, headers={"accept-encoding": "gzip"})
            assert (packed.status_code, packed.headers["x-query"]) == (201, "a=b%20c")
            assert (packed.headers["content-encoding"], packed.content) == ("gzip", TEXT)
            del client.headers["accept-encoding"]
            plain = await client.post(path)
            assert "content-encoding" not in plain.headers
            assert plain.content == TEXT
            await life.aclose()
            gone = await client.post(path, content=b"a question")
            assert (gone.status_code, gone.content) == (404, b"not here: a question")

    asyncio.run(run())


def test_a_name_in_the_arguments_of_a_call_is_found_whatever_else_the_body_is(tmp_path: Path) -> None:
    async def run() -> None:
        async with between(tmp_path, Holder()) as (client, _):
            for name, status in ((f"{THERE}.{NAME}", 201), (f"{HERE}.{NAME}", 404), (f"89abcdef.{NAME}", 404)):
                body = {"params": {"arguments": {"session": name}}}
                assert (await client.post("/mcp/pots", json=body)).status_code == status
            bodies = [b'{"session"', b'"session"', b'["session"]', b'{"params": "session"}', b"\xff" + b'"session"']
            bodies += [b'{"session":' + b"[" * 200_000, b'{"params": {"arguments": {"session": ["' + b'"]}}}', b""]
            for body in bodies:
                answer = await client.post("/mcp", content=body)
                assert (answer.status_code, answer.content) == (404, b"not here: " + body)

    asyncio.run(run())


def test_many_streams_flow_and_end_with_their_client_or_their_process(tmp_path: Path) -> None:
    holder = Holder()

    async def run() -> None:
        async with between(tmp_path, holder) as (client, life):
            given = {"mcp-session-id": f"{THERE}.{NAME}"}

            async def opened(stack: contextlib.AsyncExitStack) -> httpx2.Response:
                answer = await stack.enter_async_context(client.stream("GET", "/mcp", headers=given))
                assert answer.status_code == 200
                return answer

            async with contextlib.AsyncExitStack() as stack, asyncio.timeout(60):
                await asyncio.gather(*(opened(stack) for _ in range(MANY)))
                assert holder.streams == MANY
            async with asyncio.timeout(30):
                while holder.streams:
                    await asyncio.sleep(0.01)
            async with contextlib.AsyncExitStack() as stack, asyncio.timeout(30):
                answer = await opened(stack)
                parts = answer.aiter_bytes()
                assert await anext(parts) == b"data: 1\n\n"
                await life.aclose()
                assert [part async for part in parts] == []

    asyncio.run(run())


async def _asked(there: Peers, path: str) -> list[Any]:
    """What is sent to a client that asks for a path."""
    come: list[Any] = [{"type": "http.request", "body": b"", "more_body": False}]
    told: list[Any] = []

    async def receive() -> Any:
        if not come:
            await asyncio.Event().wait()
        return come.pop()

    async def send(message: Any) -> None:
        told.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": [], "client": ("127.0.0.1", 1)}  # fmt: skip
    await there.forwarding(nobody)(scope, receive, send)
    return told


def test_an_address_that_cannot_be_passed_on_is_answered_here(tmp_path: Path) -> None:
    (tmp_path / f"{THERE}.sock").touch()
    told = asyncio.run(_asked(Peers(tmp_path, HERE, Limits()), f"/v1/sessions/{THERE}.{NAME}/{'x' * 70_000}"))
    assert told[0]["status"] == 404


def test_a_process_that_is_too_slow_is_not_told_as_gone(tmp_path: Path) -> None:
    """It may be at work on the call."""

    async def silent(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await asyncio.sleep(20)

    async def go() -> None:
        server = await asyncio.start_unix_server(silent, tmp_path / f"{THERE}.sock")
        with pytest.raises(ProblemError) as caught:
            await _asked(Peers(tmp_path, HERE, Limits(search_s=0.01)), f"/v1/sessions/{THERE}.{NAME}")
        server.close()
        assert caught.value.problem.status == 504

    asyncio.run(go())


def test_bytes_that_come_as_a_read_is_called_off_are_no_fault(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What calls a read off and what it waits for come in one step of the loop."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        leaving, client = socket.socketpair()
        with socket.socket(socket.AF_UNIX) as listening, leaving, client:
            listening.bind(str(tmp_path / "peer"))
            listening.listen()
            async with (
                Peers(tmp_path, HERE, Limits()).listening(nobody),
                await anyio.connect_unix(tmp_path / "peer") as stream,
            ):
                peer = listening.accept()[0]
                reading = asyncio.create_task(stream.receive())
                loop.add_reader(leaving, reading.cancel)
                await asyncio.sleep(0.1)  # until it reads
                client.send(b"x")
                peer.send(b"an answer")
                await asyncio.wait({reading})
                loop.remove_reader(leaving)
                assert reading.cancelled()
                peer.close()
                loop.call_soon(int, "no number")
                await asyncio.sleep(0)

    asyncio.run(run())
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ValueError]
