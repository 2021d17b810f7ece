"""Errors as RFC 9457 tells them: application/problem+json with type, title, status and detail, the item and the
remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from sira.errors import EnvironmentFault, IndexFault, InputError, NotFoundError, ProgramError, SiraError
from sira.serve.faults import Busy, Closing, Gone, NoSuchTool, SessionGone, TimedOut, without_any_path

MEDIA_TYPE = "application/problem+json"
MOST_ERRORS = 8
_ITEM = re.compile(r"[A-Za-z0-9_.\[\]-]{1,64}(?: [A-Za-z0-9_.-]{1,64})?")


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
    if not isinstance(error, InputError):
        text = without_any_path(text)
    headers: dict[str, str] = {}
    if isinstance(error, Busy):
        headers["Retry-After"] = str(error.retry_after_s)
    elif isinstance(error, Closing):
        headers["Retry-After"] = "1"
    first, colon, _ = text.partition(": ")
    item = first if colon and _ITEM.fullmatch(first) else None
    remedy = text.rpartition(": ")[2] if colon else None
    return Problem(status, kind, title, text, item, remedy, headers=headers)


def invalid(errors: Sequence[Any]) -> Problem:
    """The faults of a body or of query parameters, as pydantic lists them; without what stood there."""
    listed = [
        {"item": _place(error["loc"]), "message": str(error["msg"]).removeprefix("Value error, ")}
        for error in errors[:MOST_ERRORS]
    ]
    first = listed[0] if listed else {"item": "body", "message": "it cannot be used"}
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return Problem(
        422,
        "invalid-value",
        "A value cannot be used",
        f"{first['item']}: {first['message']}{more}",
        first["item"],
        "see /openapi.json for what this route takes",
        tuple(listed),
    )


def _place(parts: Sequence[Any]) -> str:
    named = [str(part) for part in parts[1:]]  # the first says whether it is the body, the query or the path
    return ".".join(named)[:200].encode("utf-8", "backslashreplace").decode() or "body"


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
