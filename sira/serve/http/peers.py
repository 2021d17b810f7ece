"""The processes of one server: each listens on a socket in a folder of theirs, and calls of a session go to the process
that holds it. A session id begins with the tag of its process; nothing else is passed on."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, cast

import httpx2
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sira.serve.http.problems import refused
from sira.serve.limits import Limits

_SESSION_PATH = re.compile(r"/v1/sessions/([0-9a-f]{8})\.[A-Za-z0-9_-]{32}(?:/.*)?")
_HOP = frozenset(
    (b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade", b"content-length", b"date")
)


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
        socket = self._folder / f"{self._tag}.sock"
        config = uvicorn.Config(app, uds=str(socket), lifespan="off", log_config=None, access_log=False, http="h11")
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

    def forwarding(self, app: ASGIApp) -> Callable[[Scope, Receive, Send], Any]:
        """An ASGI middleware that passes calls of others' sessions on."""

        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            found = _SESSION_PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
            from_peer = scope.get("client") is None
            if found is None or from_peer or found[1] == self._tag:
                await app(scope, receive, send)
            else:
                await self._pass_on(found[1], scope, receive, send)

        return handle

    async def samples(self, tag: str, headers: Mapping[str, str]) -> tuple[str, Any]:
        """The counters of another process; None where it does not answer."""
        kept = {name: headers[name] for name in ("host", "authorization") if name in headers}
        try:
            answer = await self._client(tag).get("/metrics?own=true", headers=kept, timeout=2.0)
            return tag, answer.json() if answer.status_code == 200 else None
        except (httpx2.HTTPError, OSError, ValueError):
            return tag, None

    async def _pass_on(self, tag: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises ProblemError (404) where the process is gone, and its sessions with it."""
        scope["route"] = _PassedOn
        body = await _body(receive)
        headers = [(name, value) for name, value in scope["headers"] if name not in _HOP and name != b"x-request-id"]
        headers.append((b"x-request-id", str(scope.get("request_id", "")).encode()))
        asking = asyncio.ensure_future(
            self._client(tag).request(
                scope["method"],
                scope["raw_path"].decode("latin-1"),
                headers=cast(Any, headers),
                content=body,
                timeout=self._limits.search_s + 5,
            )
        )
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return  # nobody reads an answer
            answer = asking.result()
        except (httpx2.HTTPError, OSError):
            raise refused(
                404,
                "no-such-session",
                "There is no such session",
                "the process that held this session has ended, and the session with it: open another one",
                item="session",
                remedy="open another session",
            ) from None
        finally:
            asking.cancel()
            leaving.cancel()
        kept = [(name.lower(), value) for name, value in answer.headers.raw if name.lower() not in _HOP]
        kept = [(name, value) for name, value in kept if name not in (b"content-encoding", b"x-request-id")]
        kept.append((b"content-length", str(len(answer.content)).encode()))
        await send({"type": "http.response.start", "status": answer.status_code, "headers": kept})
        await send({"type": "http.response.body", "body": answer.content})

    def _client(self, tag: str) -> httpx2.AsyncClient:
        if tag not in self._clients:
            transport = httpx2.AsyncHTTPTransport(uds=str(self._folder / f"{tag}.sock"), verify=False)
            self._clients[tag] = httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False)
        return self._clients[tag]


class _Inner(uvicorn.Server):
    """A second server in one process, which leaves signals to the first."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message: Message = await receive()
        parts.append(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return b"".join(parts)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
