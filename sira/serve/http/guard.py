"""What stands before every route: who may ask, how much may come, how many at a time, the request id, the access log
and the counters."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sira.serve.faults import Busy
from sira.serve.http.incoming import Incoming
from sira.serve.http.metrics import Metrics
from sira.serve.http.places import Places
from sira.serve.http.problems import INTERNAL, Problem, ProblemError, problem_of, refused
from sira.serve.limits import Limits
from sira.serve.settings import LOOPBACK, HttpSettings

OPEN_PATHS = frozenset({"/", "/health", "/ready", "/favicon.ico"})
"""Asked without a token: they tell nothing of the indexes."""
OPEN_FOLDER = "/static/"
CHECKS = frozenset({"/health", "/ready"})
"""Asked by any name, since balancers send none, or the address."""
TEXTS = "sira.texts"
"""Where a route leaves what an access log with texts shows."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)

_log = logging.getLogger(__name__)

Write = Callable[[Mapping[str, Any]], None]


class Guard:
    """An ASGI app around another. Every request gets an answer: a fault of the app is a problem of status 500."""

    def __init__(
        self, app: ASGIApp, *, settings: HttpSettings, limits: Limits, places: Places, metrics: Metrics, write: Write
    ) -> None:
        self._app, self._limits, self._places, self._metrics, self._write = app, limits, places, metrics, write
        self._log_texts = settings.log_texts
        self._token = None if settings.token is None else _digest(settings.token.encode())
        loopback = settings.on_loopback
        self._hosts = frozenset((*LOOPBACK, settings.host, *settings.hosts)) if loopback or settings.hosts else None
        self._origins = frozenset(settings.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        headers = _headers(scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope["request_id"] = request_id
        answer = _Answer(send, request_id)
        place = self._places.place(scope["path"])
        self._metrics.in_flight += 1
        try:
            try:
                self._admit(scope, headers)
                body = Incoming(receive, self._limits)
                await body.check(headers)
                if place is not None:
                    await body.come()
                    place.take()
                    answer.began = place.leave
                await self._app(scope, body, answer.send)
            except ProblemError as error:  # raised before the framework could see it
                await self._told(error.problem, scope, receive, answer)
            except Busy as error:
                await self._told(problem_of(error), scope, receive, answer)
            except Exception:
                if answer.status is None:
                    _log.exception("request %s failed", request_id)
                    await self._told(INTERNAL, scope, receive, answer)
                else:
                    raise
        finally:
            if place is not None:
                place.leave()
            self._metrics.in_flight -= 1
            took = time.perf_counter() - start
            status = answer.status or 499
            if status == 499:
                self._metrics.abandoned += 1
            self._metrics.answered(_route(scope), _method(scope), status, took)
            self._write(self._line(scope, status, took, answer.size))

    async def _told(self, problem: Problem, scope: Scope, receive: Receive, answer: _Answer) -> None:
        if answer.status is None:
            response = problem.response(scope["request_id"])
            origin = _headers(scope).get("origin") if self._origins else None
            if origin in self._origins:  # what is refused here, the app's CORS does not see
                response.headers["access-control-allow-origin"] = origin
                response.headers["access-control-expose-headers"] = "x-request-id, retry-after"
                response.headers["vary"] = "Origin"
            await response(scope, receive, answer.send)

    def _admit(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Raises ProblemError."""
        if "content-length" in headers and "transfer-encoding" in headers:
            raise refused(
                400,
                "bad-request",
                "The request cannot be read",
                "content-length: transfer-encoding stands beside it, and a proxy may have read the other: send one",
                item="content-length",
                remedy="send one of content-length and transfer-encoding",
                headers={"Connection": "close"},
            )
        host = headers.get("host", "")
        if self._hosts is not None and _name(host) not in self._hosts and scope["path"] not in CHECKS:
            raise refused(
                421,
                "wrong-host",
                "The server is not called by this name",
                "host: this server is called by its loopback address, or by a name that it was told: "
                "name it by --allow-host",
                item="host",
                remedy="call 127.0.0.1, or start the server with --allow-host",
            )
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins and not _same(origin, host):
            raise refused(
                403,
                "foreign-origin",
                "Pages of other origins may not call this server",
                "origin: a page of another origin called: name it by --allow-origin",
                item="origin",
                remedy="start the server with --allow-origin",
            )
        preflight = scope["method"] == "OPTIONS" and origin in self._origins
        if self._token is not None and not preflight and not _is_open(scope["path"]):
            self._check_token(headers.get("authorization", ""))

    def _check_token(self, given: str) -> None:
        kind, _, token = given.partition(" ")
        right = kind.lower() == "bearer" and hmac.compare_digest(
            _digest(token.strip().encode("latin-1", "replace")), self._token or b""
        )
        if not right:
            raise refused(
                401,
                "no-token" if not given else "wrong-token",
                "A token is needed",
                "authorization: this server asks for a token: send `Authorization: Bearer TOKEN`",
                item="authorization",
                remedy="send the server's token",
                headers={"WWW-Authenticate": "Bearer"},
            )

    def _line(self, scope: Scope, status: int, took: float, size: int) -> Mapping[str, Any]:
        client: Any = scope.get("client")
        line: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "request_id": scope["request_id"],
            "client": client[0] if client else "worker",
            "method": _method(scope),
            "route": _route(scope),
            "status": status,
            "ms": round(1000 * took, 3),
            "bytes": size,
        }
        index = scope.get("path_params", {}).get("index")
        if index is not None and status != 404:  # a name that is none may be anything
            line["index"] = index
        if self._log_texts and TEXTS in scope:
            line["texts"] = scope[TEXTS]
        return line


class _Answer:
    """Sends an answer with our headers."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send, self._id = send, request_id.encode()
        self.status: int | None = None
        self.size = 0
        self.began: Callable[[], None] | None = None
        """Called when the answer begins."""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.began is not None:
                self.began()
            there = {name.lower() for name, _ in message.get("headers", ())}
            more = [(name, value) for name, value in _HEADERS if name not in there]
            message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", self._id), *more]}
        elif message["type"] == "http.response.body":
            self.size += len(message.get("body", b""))
        await self._send(message)


def _headers(scope: Scope) -> Mapping[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


def _name(host: str) -> str:
    """The name or address of a Host header, without the port."""
    name, _, port = host.rpartition(":") if re.search(r":\d*$", host) else (host, "", "")
    name = name if name or port else host
    return name.strip("[]").rstrip(".").lower()


def _same(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _route(scope: Scope) -> str:
    """The route by its pattern: no docid, session or index stands in it."""
    route: Any = scope.get("route")
    return str(getattr(route, "path", "") or "none")


def _method(scope: Scope) -> str:
    method = scope["method"]
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "OTHER"
