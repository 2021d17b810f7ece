"""JSON bodies, read strictly: UTF-8, finite numbers, no key twice, no deep nesting, no half characters."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine
from typing import Any, cast

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from sira.serve.faults import Gone
from sira.serve.http.problems import ProblemError, invalid, problem_of, refused

MOST_DIGITS = 40
"""Of a whole number; far more than any field takes."""
MOST_KEYS = 1_000
"""Of one object: each that no field has would be a fault of its own."""


def parsed(body: bytes, depth: int) -> Any:
    """Raises ProblemError (400) naming the fault."""
    deep = f"it nests deeper than {depth} levels"
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _bad(f"it is not UTF-8 (byte {error.start})", "encode the body as UTF-8") from None
    try:
        value = json.loads(
            text, parse_float=_finite, parse_int=_short, parse_constant=_constant, object_pairs_hook=_once
        )
    except json.JSONDecodeError as error:
        raise _bad(f"it is not JSON ({error.msg}, line {error.lineno}, column {error.colno})", "send JSON") from None
    except RecursionError:
        raise _bad(deep, "send a flatter document") from None
    if body.count(b"[") + body.count(b"{") > depth and _deeper(value, depth):
        raise _bad(deep, "send a flatter document")
    if "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _bad("it holds half a character (a lone surrogate)", "send whole characters") from None
    return value


def _bad(what: str, remedy: str) -> ProblemError:
    return refused(400, "bad-json", "The body cannot be read", f"body: {what}: {remedy}", item="body", remedy=remedy)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _bad(f"the number {text[:40]} is beyond the range of numbers", "send finite numbers")
    return value


def _short(text: str) -> int:
    """Such a number would stand in errors, and be counted with, at its full length."""
    if len(text) > MOST_DIGITS:
        raise _bad(f"it holds a number that is too long ({len(text):,} digits)", "send shorter numbers")
    return int(text)


def _constant(name: str) -> Any:
    raise _bad(f"{name} is no JSON", "send finite numbers")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) > MOST_KEYS:
        raise _bad(f"one object has {len(found):,} keys", f"give at most {MOST_KEYS:,}")
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        shown = twice[:60].encode("utf-8", "backslashreplace").decode()
        raise _bad(f"the key {shown!r} stands twice in one object", "give each key once")
    return found


def _deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects nest deeper, without recursion."""
    level: list[Any] = [value]
    for _ in range(depth):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner += cast("dict[str, Any]", item).values()
            elif isinstance(item, list):
                inner += cast("list[Any]", item)
        level = [item for item in inner if isinstance(item, dict | list)]
        if not level:
            return False
    return True


class StrictRequest(Request):
    """The request as FastAPI reads it, with `parsed` in place of Python's own reading. Raises ProblemError (499) for a
    client that leaves within its body."""

    async def body(self) -> bytes:
        try:
            return await super().body()
        except ClientDisconnect:
            raise ProblemError(problem_of(Gone("the client left"))) from None

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            front = self.app.state.front
            self._json = parsed(await self.body(), front.service.limits.json_depth)
        return self._json


class StrictRoute(APIRoute):
    """A route whose body, where it takes one, is strict JSON. Raises ProblemError: 415 for another content type, 422
    for values that do not fit."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        field = self.body_field
        model = None if field is None else cast("type[BaseModel]", field.field_info.annotation)

        async def handle(request: Request) -> Response:
            if field is not None:
                _check_type(request)
            try:
                return await handler(StrictRequest(request.scope, request.receive))
            except RequestValidationError as error:
                raise ProblemError(invalid(error.errors(), error.body, model)) from None

        return cast("Callable[[Request], Coroutine[Any, Any, Response]]", handle)


def _check_type(request: Request) -> None:
    given = request.headers.get("content-type", "")
    kind, _, parameters = given.partition(";")
    charset = parameters.strip().lower()
    if kind.strip().lower() != "application/json" or charset not in ("", "charset=utf-8", 'charset="utf-8"'):
        raise refused(
            415,
            "unsupported-media-type",
            "The body is of another type",
            "content-type: this route takes application/json in UTF-8: send that",
            item="content-type",
            remedy="send application/json",
        )
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise refused(
            415,
            "unsupported-media-type",
            "The body is encoded",
            "content-encoding: bodies are taken as they are: send it uncompressed",
            item="content-encoding",
            remedy="send the body uncompressed",
        )
