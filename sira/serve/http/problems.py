"""Errors as RFC 9457 tells them: application/problem+json with type, title, status and detail, the item and the
remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from sira.errors import EnvironmentFault, IndexFault, InputError, NotFoundError, ProgramError, SiraError
from sira.serve.faults import Busy, Closing, Gone, NoSuchTool, SessionGone, TimedOut, without_any_path
from sira.serve.http.values import faults

MEDIA_TYPE = "application/problem+json"
MOST_ERRORS = 8
MOST_CHARACTERS = 2_000
"""Of a detail, in which a program or a number may stand."""
_ITEM = re.compile(r"([A-Za-z0-9_.\[\]-]{1,64}(?: [A-Za-z0-9_.-]{1,64})?)(?: \(\w+\))?(?:: | = )")
_IN_PROGRAM = re.compile(r"program JSON, ([\w.\[\]-]{1,200}): ")
_REMEDY = re.compile(
    r"(?:add|ask|build|call|choose|close|drop|expected|give|leave|name|open|put|read|say|send|set|split|start|take|try|use|wait"
    r"|write) "
)


@dataclass(frozen=True, slots=True)
class Problem:
    """`kind` ends the type; `item` is the field or thing that is wrong, `remedy` what mends it (both where known)."""

    status: int
    kind: str
    title: str
    detail: str
    item: str | None = None
    remedy: str | None = None
    errors: Sequence[Mapping[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def to_json(self, request_id: str | None = None) -> dict[str, Any]:
        data: dict[str, Any] = {
            "type": f"urn:sira:problem:{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        data |= {name: value for name, value in (("item", self.item), ("remedy", self.remedy)) if value}
        data |= {"errors": [dict(item) for item in self.errors]} if self.errors else {}
        return data if request_id is None else {**data, "request_id": request_id}

    def response(self, request_id: str | None = None) -> Response:
        body = json.dumps(self.to_json(request_id), ensure_ascii=False).encode("utf-8", "backslashreplace")
        return Response(body, self.status, dict(self.headers), MEDIA_TYPE)


class ProblemError(HTTPException):
    """A problem on its way to the answer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.status, problem.detail, dict(problem.headers))
        self.problem = problem


def refused(status: int, kind: str, title: str, detail: str, **more: Any) -> ProblemError:
    return ProblemError(Problem(status, kind, title, detail, **more))


_KINDS: Sequence[tuple[type[SiraError], int, str, str]] = (
    (NoSuchTool, 404, "no-such-tool", "There is no such tool"),
    (SessionGone, 404, "no-such-session", "There is no such session"),
    (NotFoundError, 404, "not-found", "Not found"),
    (ProgramError, 422, "invalid-program", "The program cannot be run"),
    (InputError, 422, "invalid-value", "A value cannot be used"),
    (Busy, 429, "busy", "The server is busy"),
    (TimedOut, 504, "timed-out", "No answer in time"),
    (Gone, 499, "gone", "The client left"),
    (Closing, 503, "closing", "The server is shutting down"),
    (IndexFault, 503, "index-unavailable", "The index cannot be used now"),
    (EnvironmentFault, 503, "unavailable", "The server lacks something"),
    (SiraError, 503, "failed", "The search engine failed"),
)


def problem_of(error: SiraError) -> Problem:
    """What a client is told of one of sira's own errors."""
    _, status, kind, title = next(row for row in _KINDS if isinstance(error, row[0]))
    text = " ".join(str(error).split())
    if len(text) > MOST_CHARACTERS:
        text = text[: MOST_CHARACTERS - 1] + "…"
    if not isinstance(error, InputError):
        text = without_any_path(text)
    headers: dict[str, str] = {}
    if isinstance(error, Busy):
        headers["Retry-After"] = str(error.retry_after_s)
    elif isinstance(error, Closing):
        headers["Retry-After"] = "1"
    return Problem(status, kind, title, text, _item(error, text), _remedy(text), headers=headers)


def _item(error: SiraError, text: str) -> str | None:
    """`k: ...` and `k1 = 1e+308: ...` name the item; the place in a program stands behind `program JSON, `."""
    if isinstance(error, ProgramError) and text.startswith("program text"):
        return "program_text"
    if found := _IN_PROGRAM.match(text):
        place = ".".join(part for part in found[1].split(".") if not part.endswith("Clause"))
        return "program" if place == "program" else f"program.{place}"
    found = _ITEM.match(text)
    return found[1] if found else None


def _remedy(text: str) -> str | None:
    """The last part, where it tells to do something."""
    last = re.split(r"[:;] ", text)[-1]
    return last if _REMEDY.match(last) else None


def invalid(errors: Sequence[Any], body: Any = None, model: type[BaseModel] | None = None) -> Problem:
    """The faults of a body or of query parameters, as pydantic lists them (see `values.faults`)."""
    found = faults(errors, body, model)
    first, more = found[0], len(found) - 1
    return Problem(
        422,
        "invalid-value",
        "A value cannot be used",
        f"{first.item}: {first.what}: {first.remedy}" + (f" (and {more} more)" if more else ""),
        first.item,
        first.remedy,
        tuple({"item": item.item, "message": f"{item.what}: {item.remedy}"} for item in found[:MOST_ERRORS]),
    )


_BY_STATUS = {
    400: ("bad-request", "The request cannot be read"),
    404: ("no-such-route", "There is no such route"),
    405: ("method-not-allowed", "The route does not take this method"),
}


def of_status(error: HTTPException) -> Problem:
    """What the framework itself refuses."""
    if isinstance(error, ProblemError):
        return error.problem
    kind, title = _BY_STATUS.get(error.status_code, ("refused", "The request was refused"))
    detail = {
        404: "there is nothing at this path: see /openapi.json for the routes",
        405: "this method is not taken here: see the header Allow",
    }.get(error.status_code, str(error.detail))
    return Problem(error.status_code, kind, title, detail, headers=dict(error.headers or {}))


INTERNAL = Problem(
    500,
    "internal",
    "A fault of the server's",
    "the request met a fault of the server's: its log has more under the request id",
)
