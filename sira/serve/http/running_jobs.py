"""From a route to the service and back: the job goes to a thread, its answer is made JSON there, and a client that
leaves takes its job with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request
from pydantic_core import PydanticSerializationError, to_json
from starlette.responses import Response

from sira.errors import EnvironmentFault
from sira.serve.front import Front
from sira.serve.http.guard import TEXTS
from sira.serve.requests import Source
from sira.serve.service import Note, Service

AnySource = TypeVar("AnySource", bound=Source)


def front_of(request: Request) -> Front:
    return request.app.state.front


async def answered(
    request: Request, job: Callable[[Service, Callable[[], bool]], Any], *, texts: Any = None, status: int = 200
) -> Response:
    """The answer of a job, which is called with the service and with what asks whether to stop. `texts` is what an
    access log with texts shows."""
    front = front_of(request)
    request.scope[TEXTS] = texts

    def told(stopped: Callable[[], bool]) -> bytes:
        try:
            return as_json(job(front.service, stopped))
        except OSError as error:  # no file, process or memory is left; its path, where it has one, is the server's
            raise EnvironmentFault(f"the server's machine: {error.strerror or 'a fault'}: ask again later") from error

    body = await front.run(told, gone=left(request))
    return Response(body, status, media_type="application/json")


def as_json(value: Any) -> bytes:
    """Half characters, which a model may write into the arguments of a tool, become question marks."""
    try:
        return to_json(value, inf_nan_mode="null")
    except (UnicodeEncodeError, PydanticSerializationError):
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def left(request: Request) -> Callable[[], Any]:
    """Returns when the client has left; the body must have been read."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return gone


async def resolved(request: Request, source: AnySource) -> tuple[AnySource, Note]:
    """The request with the sketch of the server's model, where it asks for one."""
    return await front_of(request).resolved(source, gone=left(request))


def texts_of(source: Source) -> Any:
    return source.topic if source.topic is not None else source.query or source.program_text
