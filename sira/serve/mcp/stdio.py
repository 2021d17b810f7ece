"""MCP over stdin and stdout: one client, one session.

What is no message is answered as such, and neither ends nor blocks the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import signal
import threading
from collections.abc import Iterator
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from sira.serve.mcp.server import Adapter
from sira.serve.mcp.wire import Wire

MOST_LINE_BYTES = 4 * 1024 * 1024
"""Of one message; the SDK's bound of a request over HTTP."""
CHUNK = 1 << 16
DRAIN_S = 3.0
"""For calls that run when the client has gone; a regular expression's process has ended by then."""
STOPPED, INTERRUPTED = 0, 130

Inbound = SessionMessage | types.JSONRPCError


class LineReader:
    """Lines of a stream of bytes; one of more than `most` bytes is None, and costs no memory."""

    def __init__(self, most: int = MOST_LINE_BYTES) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """The lines that end in `data`, without their ends and without empty ones."""
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._add(part)
            yield from self.end()
        self._add(rest)

    def end(self) -> Iterator[bytes | None]:
        """What has come since the last line's end."""
        size, parts = self._size, self._parts
        self._parts, self._size = [], 0
        if size > self._most:
            yield None
        elif line := b"".join(parts).strip():
            yield line

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._most:
            self._parts.append(part)
        else:
            self._parts.clear()


def parsed(line: bytes | None) -> Inbound:
    """The message of a line, or the answer to a line that is none."""
    if line is None:
        return _refusal(None, types.PARSE_ERROR, f"Parse error: a message has at most {MOST_LINE_BYTES:,} bytes")
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        pass
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return _refusal(None, types.PARSE_ERROR, "Parse error: a message is one line of JSON")
    given: Any = cast("dict[str, Any]", data).get("id") if isinstance(data, dict) else None
    known = isinstance(given, str | int) and not isinstance(given, bool)
    return _refusal(given if known else None, types.INVALID_REQUEST, "Invalid request: no JSON-RPC 2.0 message")


def written(message: SessionMessage) -> bytes:
    """A message as its line. An answer that cannot be written, such as one with half a character, is a fault in its
    place, so that nobody waits for it."""
    try:
        return message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except ValueError:
        number = getattr(message.message, "id", None)
        refusal = _refusal(number, types.INTERNAL_ERROR, "The answer is no Unicode text")
        return refusal.model_dump_json(by_alias=True, exclude_unset=True).encode()


def _refusal(number: str | int | None, code: int, text: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=types.ErrorData(code=code, message=text))


def serve_stdio(adapter: Adapter, wire: Wire) -> int:
    """Serve until the client closes stdin or goes away, or SIGTERM or SIGINT comes; the exit status.

    Threads that still run are left behind, and with them Java: the caller ends the process.
    """
    status = asyncio.run(_serve(adapter, wire))
    adapter.close(DRAIN_S)
    return status


async def _serve(adapter: Adapter, wire: Wire) -> int:
    loop = asyncio.get_running_loop()
    status = [STOPPED]
    inbound_send, inbound = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbound_send, outbound = anyio.create_memory_object_stream[SessionMessage](0)
    refusals = outbound_send.clone()
    writer = _Writer(wire.sink)

    async def take(item: Inbound) -> None:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            if isinstance(item, SessionMessage):
                await inbound_send.send(item)
            else:
                await refusals.send(SessionMessage(item))

    async def give() -> None:
        async for message in outbound:
            if not await writer.write(written(message) + b"\n"):
                group.cancel_scope.cancel()  # nobody reads any more

    async def run() -> None:
        server = adapter.server()
        await server.run(inbound, outbound_send, server.create_initialization_options())
        group.cancel_scope.cancel()

    def stop(code: int) -> None:
        status[0] = code
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for number, code in ((signal.SIGTERM, STOPPED), (signal.SIGINT, INTERRUPTED)):
            loop.add_signal_handler(number, stop, code)
        group.start_soon(give)
        group.start_soon(run)
        threading.Thread(
            target=_read, args=(wire.source, loop, take, inbound_send.close), name="sira-mcp-stdin", daemon=True
        ).start()
    return status[0]


def _read(source: int, loop: asyncio.AbstractEventLoop, take: Any, end: Any) -> None:
    """In a thread: one message after the other, each when the one before was taken."""
    reader = LineReader()
    with contextlib.suppress(RuntimeError):  # the loop is closed
        while data := _some(source):
            for line in reader.feed(data):
                asyncio.run_coroutine_threadsafe(take(parsed(line)), loop).result()
        for line in reader.end():
            asyncio.run_coroutine_threadsafe(take(parsed(line)), loop).result()
        loop.call_soon_threadsafe(end)


def _some(source: int) -> bytes:
    try:
        return os.read(source, CHUNK)
    except OSError:
        return b""


class _Writer:
    """Writes in a thread of its own, so that a client that does not read holds up nobody else."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._queue: queue.SimpleQueue[tuple[bytes, asyncio.Future[bool], asyncio.AbstractEventLoop]]
        self._queue = queue.SimpleQueue()
        threading.Thread(target=self._work, name="sira-mcp-stdout", daemon=True).start()

    async def write(self, data: bytes) -> bool:
        """Whether it could be written."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        self._queue.put((data, future, loop))
        return await future

    def _work(self) -> None:
        while True:
            data, future, loop = self._queue.get()
            view, written = memoryview(data), True
            try:
                while view:
                    view = view[os.write(self._sink, view) :]
            except OSError:
                written = False
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, future, written)


def _settle(future: asyncio.Future[bool], written: bool) -> None:
    if not future.done():
        future.set_result(written)
