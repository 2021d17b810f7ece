"""What a client raises: the server's problems (RFC 9457) by kind, and what goes wrong on the way.

SiraError
├── InputError
│   ├── InvalidRequestError   400, 413, 415, 422 and other 4xx: what was asked cannot be carried out
│   ├── UnauthorizedError     401, 403, 421: the token, or the name by which the server was called
│   └── NotFoundError
│       └── AbsentError       404: no such index, docid, session, tool or route
├── EnvironmentFault
│   ├── BusyError             429: ask again after `retry_after_s`
│   ├── UnavailableError      503: it shuts down, an index cannot be opened, or it has no model
│   ├── SlowError             408, 504, or no answer within the client's timeout
│   ├── UnreachableError      502, no connection, or one that broke before the answer was whole
│   ├── ClosedError           the client was closed, also while it waited
│   └── ForeignAnswerError    an answer that is none of sira's
└── ServerFaultError          500 and other 5xx: a fault of the server's, whose log has more under `request_id`
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, cast

from sira.errors import EnvironmentFault, InputError, NotFoundError, SiraError

MEDIA_TYPE = "application/problem+json"
_PREFIX = "urn:sira:problem:"


class Problem(SiraError):
    """What all answers that are no results have. `kind` is the end of the problem's type, such as `invalid-program`;
    `item` the field or thing that is wrong and `remedy` what mends it, where the server says so; `retry_after_s` the
    seconds of Retry-After."""

    status: int | None = None
    kind: str | None = None
    item: str | None = None
    remedy: str | None = None
    request_id: str | None = None
    retry_after_s: float | None = None


class InvalidRequestError(Problem, InputError):
    """What was asked cannot be carried out as it is."""


class UnauthorizedError(Problem, InputError):
    """The server does not take requests from here: a token is missing or wrong, or the address is."""


class AbsentError(Problem, NotFoundError):
    """An index, docid, session, tool or route that is not there."""


class BusyError(Problem, EnvironmentFault):
    """All places are taken; nothing was begun."""


class UnavailableError(Problem, EnvironmentFault):
    """The server cannot do this now."""


class SlowError(Problem, EnvironmentFault):
    """No answer in time."""


class UnreachableError(Problem, EnvironmentFault):
    """No connection, or one that broke. `sent` is False where none came about: the server has begun nothing."""

    sent: bool = True


class ClosedError(Problem, EnvironmentFault):
    """The client is closed."""


class ForeignAnswerError(Problem, EnvironmentFault):
    """What answers there is no server of sira, or one of another version."""


class ServerFaultError(Problem):
    """The server failed at a request that it should have carried out or refused."""


def problem_of(status: int, headers: Mapping[str, str], body: bytes, url: str) -> Problem:
    """The error that an answer of status 400 or more stands for. `headers` by names in lower case."""
    said = _said(headers, body)
    if said is not None:
        found = problem_of_json(said, status)
    elif status in (429, 502, 503, 504):  # these also come from what stands before a server
        found = _class(status)(f"{url}: it answered {status}: ask again later")
    else:
        found = ForeignAnswerError(
            f"{url}: it answered {status} as no server of sira does: check the address, and what stands in between"
        )
    found.status = status
    found.request_id = found.request_id or headers.get("x-request-id")
    found.retry_after_s = retry_after(headers.get("retry-after"))
    return found


def problem_of_json(said: Mapping[str, Any], status: int | None = None) -> Problem:
    """The error that a problem object stands for, also one inside an answer."""
    status = int(said["status"]) if status is None else status
    text = " ".join(str(said.get("detail") or said.get("title") or f"it answered {status}").split())
    found = _class(status)(text)
    found.status = status
    found.kind = str(said.get("type", "")).removeprefix(_PREFIX) or None
    found.item, found.remedy, found.request_id = said.get("item"), said.get("remedy"), said.get("request_id")
    return found


def retry_after(value: str | None) -> float | None:
    """The seconds of a Retry-After; None for a date, which servers of sira never give."""
    try:
        seconds = float(value or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _class(status: int) -> type[Problem]:
    classes: Mapping[int, type[Problem]] = {
        401: UnauthorizedError,
        403: UnauthorizedError,
        404: AbsentError,
        408: SlowError,
        421: UnauthorizedError,
        429: BusyError,
        502: UnreachableError,
        503: UnavailableError,
        504: SlowError,
    }
    return classes.get(status, InvalidRequestError if status < 500 else ServerFaultError)


def _said(headers: Mapping[str, str], body: bytes) -> dict[str, Any] | None:
    if headers.get("content-type", "").partition(";")[0].strip() != MEDIA_TYPE:
        return None
    try:
        data = json.loads(body)
    except ValueError:
        return None
    return cast("dict[str, Any]", data) if isinstance(data, dict) else None
