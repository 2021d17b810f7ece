"""The processes of one server: each listens on a socket in a folder of theirs, and what asks for a session goes to the
process that holds it. Its id begins with the tag of that process: in the path of the HTTP API's sessions, in the header
of MCP's, or in the arguments of an MCP call. Nothing else is passed on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, cast

import httpx2
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sira.serve.http.problems import refused
from sira.serve.limits import Limits

_PATH = re.compile(r"/v1/sessions/([^/]+)(?:/.*)?")
_ID = re.compile(r"([0-9a-f]{8})\.[A-Za-z0-9_-]{22,32}")
_MCP = re.compile(r"/mcp(?:/.*)?")
_MCP_HEADER = b"mcp-session-id"
_HOP = frozenset((b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade"))
_OF_A_REQUEST = _HOP | {b"content-length", b"expect", b"x-request-id"}
_OF_AN_ANSWER = _HOP | {b"date", b"x-request-id"}
QUIET_S = 60.0
"""Without a byte of an answer, and its process counts as gone: MCP's streams give a sign of life every 15 s."""
KEEP_ALIVE_S = 75
HEADER_BYTES = 128 * 1024
"""What passed the bound of the process that a client reached passes here, too."""


_log = logging.getLogger(__name__)


class _PassedOn:
    """In the place of a route, for the access log and the counters: the other process has the route itself."""

    path = "passed on"


class Peers:
    """`tag` is that of this process, which is known by the socket `TAG.sock` in `folder`."""

    def __init__(self, folder: Path, tag: str, limits: Limits) -> None:
        self._folder, self._tag, self._limits = folder, tag, limits
        self._clients: dict[str, httpx2.AsyncClient] = {}

    def others(self) -> list[str]:
        """The tags of the other processes; one that was killed may be among them."""
        return sorted(path.stem for path in self._folder.glob("*.sock") if path.stem != self._tag)

    @contextlib.asynccontextmanager
    async def listening(self, app: ASGIApp) -> AsyncGenerator[None]:
        """Listen for the others while the block runs."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_unless_late)
        socket = self._folder / f"{self._tag}.sock"
        config = uvicorn.Config(
            app,
            uds=str(socket),
            lifespan="off",
            log_config=None,
            access_log=False,
            http="h11",
            ws="none",
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=HEADER_BYTES,
        )
        server = _Inner(config)
        task = asyncio.create_task(server.serve())
        try:
            yield
        finally:
            server.should_exit = True
            with contextlib.suppress(Exception):
                await asyncio.wait_for(task, 5)
            socket.unlink(missing_ok=True)
            for client in self._clients.values():
                await client.aclose()
            loop.set_exception_handler(None)

    def forwarding(self, app: ASGIApp) -> Callable[[Scope, Receive, Send], Any]:
        """An ASGI middleware that passes on what asks for others' sessions.

        Where the other process is gone, its sessions are, too: this one answers, which does not know them either.
        """

        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope.get("client") is None:  # from a peer
                await app(scope, receive, send)
                return
            tag, body = _tag(_named(scope)), _Body(receive)
            if tag is None and scope["method"] == "POST" and _MCP.fullmatch(scope["path"]):
                tag = _tag(_in_arguments(await body.whole()))
            if tag is None or tag not in self.others() or not await self._pass_on(tag, scope, body, send):
                await app(scope, body, send)

        return handle

    async def samples(self, tag: str, headers: Mapping[str, str]) -> tuple[str, Any]:
        """The counters of another process; None where it does not answer."""
        kept = {name: headers[name] for name in ("host", "authorization") if name in headers}
        try:
            answer = await self._client(tag).get("/metrics?own=true", headers=kept, timeout=2.0)
            return tag, answer.json() if answer.status_code == 200 else None
        except (httpx2.HTTPError, OSError, ValueError):
            return tag, None

    async def _pass_on(self, tag: str, scope: Scope, body: _Body, send: Send) -> bool:
        """Whether the client has its answer, or has left; if not, nothing was sent."""
        content = await body.whole()
        relaying = asyncio.ensure_future(self._relay(tag, scope, content, send))
        leaving = asyncio.ensure_future(body.left())
        try:
            await asyncio.wait({relaying, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return relaying.result() if relaying.done() else True
        finally:
            leaving.cancel()
            if relaying.cancel():
                await asyncio.wait({relaying})  # it closes its connection, by which the other process knows

    async def _relay(self, tag: str, scope: Scope, content: bytes, send: Send) -> bool:
        headers = [(name, value) for name, value in scope["headers"] if name not in _OF_A_REQUEST]
        headers.append((b"x-request-id", str(scope.get("request_id", "")).encode()))
        query = scope["query_string"]
        url = (scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1")
        timeout_s = QUIET_S if _MCP.fullmatch(scope["path"]) else self._limits.search_s + 5
        begun = False
        try:
            async with self._client(tag).stream(
                scope["method"], url, headers=cast(Any, headers), content=content, timeout=timeout_s
            ) as answer:
                told = [(name.lower(), value) for name, value in answer.headers.raw]
                told = [(name, value) for name, value in told if name not in _OF_AN_ANSWER]
                start: Message = {"type": "http.response.start", "status": answer.status_code, "headers": told}
                if answer.headers.get("content-type", "").startswith("text/event-stream"):
                    scope["route"], begun = _PassedOn, True
                    await send(start)
                    async for part in answer.aiter_raw():
                        await send({"type": "http.response.body", "body": part, "more_body": True})
                    whole = b""
                else:
                    whole = b"".join([part async for part in answer.aiter_raw()])
        except httpx2.ReadTimeout:
            if not begun:  # it may be at work on it: nobody else can answer
                raise refused(504, "timed-out", "No answer in time", "the process that holds it is too slow") from None
            start, whole = {}, b""
        except (httpx2.HTTPError, httpx2.InvalidURL):
            if not begun:
                return False
            start, whole = {}, b""  # a stream that breaks off ends
        if not begun:
            scope["route"] = _PassedOn
            await send(start)
        await send({"type": "http.response.body", "body": whole})
        return True

    def _client(self, tag: str) -> httpx2.AsyncClient:
        if tag not in self._clients:
            transport = httpx2.AsyncHTTPTransport(
                uds=str(self._folder / f"{tag}.sock"),
                verify=False,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),  # streams hold theirs
            )
            client = httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False)
            client.headers.clear()  # what the client did not say, such as that it takes gzip, is not said for it
            self._clients[tag] = client
        return self._clients[tag]


def _unless_late(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """asyncio's own handler, less what is no fault: anyio's streams over sockets of UNIX, by which the processes speak,
    tell a read that was called off that there is something to read, where both come in one step of the loop."""
    late = isinstance(context.get("exception"), asyncio.InvalidStateError)
    if late and context["message"].startswith("Exception in callback Future.set_result("):
        _log.debug("%s: it was called off", context["message"])
    else:
        loop.default_exception_handler(context)


class _Inner(uvicorn.Server):
    """A second server in one process, which leaves signals to the first."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


class _Body:
    """Receives a request: its body may be read before, and comes again."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read: bytes | None = None
        self._again: Message | None = None

    async def whole(self) -> bytes:
        """The body; empty where the client has left."""
        parts: list[bytes] = []
        while self._read is None:
            message = await self._receive()
            parts.append(message.get("body", b""))
            if message["type"] == "http.disconnect":
                self._read, self._again = b"", message
            elif not message.get("more_body", False):
                self._read = b"".join(parts)
                self._again = {"type": "http.request", "body": self._read, "more_body": False}
        return self._read

    async def left(self) -> None:
        """Returns when the client has left; the body must have been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def __call__(self) -> Message:
        again, self._again = self._again, None
        return await self._receive() if again is None else again


def _named(scope: Scope) -> str | None:
    """The session that the path or the header names."""
    path = scope["path"]
    if found := _PATH.fullmatch(path):
        return found[1]
    names = (value.decode("latin-1") for name, value in scope["headers"] if name == _MCP_HEADER)
    return next(names, None) if _MCP.fullmatch(path) else None


def _in_arguments(body: bytes) -> Any:
    """What a call of MCP gives as `session`; None where it gives nothing."""
    if b'"session"' not in body:
        return None
    try:
        return json.loads(body)["params"]["arguments"]["session"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _tag(name: Any) -> str | None:
    found = _ID.fullmatch(name) if isinstance(name, str) else None
    return found[1] if found else None
