"""MCP over streamable HTTP: an ASGI application, to be mounted at /mcp.

`/mcp` serves the first index, `/mcp/NAME` the one of that name. Sessions are the protocol's where it has them (up to
2025-11-25), else named in the arguments of the tools. Where several processes answer, their names begin with the tag of
the process that holds them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.routing import Route

from sira.serve.mcp.base import McpSettings
from sira.serve.mcp.desks import desks_of
from sira.serve.mcp.server import PATH, SESSION_HEADER, Adapter
from sira.serve.service import Service
from sira.serve.work import Workers

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

CONNECTIONS = 8
"""Sessions of the protocol, which cost little, for each that may keep rankings."""
HOUSE_S = 30.0
"""Between looks for sessions that are out of date."""
WORK = (b'"tools/call"', b'"resources/read"')
"""In the body of what takes a thread."""
TOLD = 16
"""Calls beyond those that may wait, which a result tells to come again; the next are refused before they are read."""


class McpApp:
    """An ASGI application, for one that checks host, origin and token. `run` is to surround its life: in the lifespan
    of the application that it is mounted in."""

    def __init__(self, adapter: Adapter, settings: McpSettings) -> None:
        self.adapter = adapter
        self._before = adapter.before.encode()
        self._calls, self._most_calls = 0, settings.limits.queue + settings.limits.searching_threads + TOLD
        self._whole = RequestBodyLimitMiddleware(self._admitted, settings.limits.body_bytes)
        self._route = Route(PATH, self)
        self._house_s = min(HOUSE_S, settings.limits.session_s / 2)
        self._manager = StreamableHTTPSessionManager(
            adapter.server(),
            session_idle_timeout=settings.limits.session_s,
            max_sessions=CONNECTIONS * settings.limits.sessions,
            max_request_body_size=settings.limits.body_bytes,
        )

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        try:
            async with self._manager.run(), anyio.create_task_group() as group:
                group.start_soon(self._keep_house)
                yield
                group.cancel_scope.cancel()
        finally:
            self.adapter.close()

    async def _keep_house(self) -> None:
        while True:
            await anyio.sleep(self._house_s)
            self.adapter.sessions.expire()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("route", self._route)  # by which the server around counts its answers
        if not self.adapter.serves(scope["path"]):
            told = f"There is no index at {scope['path'][:200]!r}: there are {', '.join(self.adapter.names)}"
            error = {"code": INVALID_REQUEST, "message": told}
            await JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 404)(scope, receive, send)
            return
        scope = {**scope, "headers": [(name, self._inner(name, value)) for name, value in scope["headers"]]}
        await self._whole(scope, receive, self._outer(send))
        if scope["method"] == "DELETE" and (session := Headers(scope=scope).get(SESSION_HEADER)):
            self.adapter.ended(session)

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Where more calls come than are answered, they do not pile up before the SDK, which takes its time with each;
        the body is here, as one message."""
        come = [await receive()]
        work = scope["method"] == "POST" and any(name in come[0].get("body", b"") for name in WORK)
        if work and self._calls >= self._most_calls:
            busy = self.adapter.workers.refusal()
            error = {"code": INTERNAL_ERROR, "message": f"The server is busy: {busy}"}
            told = {"jsonrpc": "2.0", "id": None, "error": error}
            await JSONResponse(told, 429, {"Retry-After": str(busy.retry_after_s)})(scope, receive, send)
            return

        async def again() -> Message:
            return come.pop() if come else await receive()

        self._calls += work
        try:
            await self._manager.handle_request(scope, again, send)
        finally:
            self._calls -= work

    def _inner(self, name: bytes, value: bytes) -> bytes:
        """The SDK's name of a session, which has no tag; what has another tag, or none, is the name of none."""
        if name != SESSION_HEADER.encode():
            return value
        return value.removeprefix(self._before) if value.startswith(self._before) else b"-"

    def _outer(self, send: Send) -> Send:
        async def tagged(message: Message) -> None:
            if message["type"] == "http.response.start":
                header = SESSION_HEADER.encode()
                told = [(name.lower(), value) for name, value in message["headers"]]
                told = [(name, self._before + value if name == header else value) for name, value in told]
                message = {**message, "headers": told}
            await send(message)

        return tagged

    def routes(self) -> list[Route]:
        """`/mcp` and `/mcp/NAME`; not a mount, which would redirect the first, and clients do not all follow."""
        return [self._route, Route(f"{PATH}/{{index}}", self)]


def mcp_app(service: Service, settings: McpSettings | None = None, *, workers: Workers | None = None) -> McpApp:
    """MCP over the indexes of a service, the first of them at `/mcp` itself; `workers` are those of another transport,
    to share its bounds. Sessions are named after the service's tag."""
    settings = settings or McpSettings(limits=service.limits)
    desks = desks_of(service, settings.tools)
    adapter = Adapter(desks, settings, workers=workers, tag=service.tag)
    return McpApp(adapter, settings)
