"""What the error of an OpenAI-compatible server means: for the request, for its fields, for the job.

A message may quote the prompt, and a document holds any words. So what goes beyond one request is told by the codes and
by names in quotes, not by words of the message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from sira.llm.base import Finish, Reply
from sira.tables import printable

OPTIONAL_FIELDS = (
    "chat_template_kwargs", "repetition_penalty", "min_p", "top_k", "top_p", "temperature", "seed", "stop",
    "max_tokens",
)  # fmt: skip
"""What a call can do without; `max_tokens` then goes under its other name, `max_completion_tokens`."""

MESSAGE_CHARACTERS = 300

_REFUSING = re.compile(
    r"un(supported|known|recogni[sz]ed|expected)|not (supported|permitted|allowed)|does not support|extra|cannot find",
    re.IGNORECASE,
)
_BARE_NAME = re.compile(r"Unrecognized request arguments? supplied: (\w+)|This (response_format) type is ")
"""How messages begin that name a field without quotes."""
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|available context size|context window"
    r"|\"param\":\s*\"input_tokens\"|string_above_max_length|(prompt|input|request) (is )?too (long|large)"
    r"|too many tokens|token count exceeds",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content_filter|content_policy|content management policy|flagged", re.IGNORECASE)


def passes(status: int) -> bool:
    """Whether the same request may be answered later."""
    return status in (408, 409, 429) or status >= 500


def ends_the_job(status: int, error: str) -> bool:
    """Whether this answer awaits every request: a wrong key, no credit, an unknown model."""
    found = _error_object(error)
    codes = {value for name in ("code", "type") if isinstance(value := found.get(name), str)}
    unknown_model = status == 404 and ("model_not_found" in codes or "model" in error_message(error).lower())
    return status in (401, 402) or unknown_model or "insufficient_quota" in codes


def may_end_the_job(status: int, error: str) -> bool:
    """Whether this answer awaits every request or is about this one alone, as that of a gateway's firewall."""
    return status in (403, 404) and _FILTERED.search(error) is None


def remedy_of(status: int, key_env: str) -> str:
    """What a user can do about an answer that ends the job; `key_env` is the variable that holds the key."""
    match status:
        case 404:
            return "check `model` and `base_url` (it mostly ends in /v1) in [model]"
        case 402 | 429:
            return "the account has no credit left"
        case _:
            return f"set the environment variable {key_env} to a key that is valid here"


def refused_field(body: Mapping[str, Any], error: str) -> str | None:
    """The field of the body that a server's error says it does not know (`response_format` among them)."""
    if _REFUSING.search(error) is None or _TOO_LONG.search(error):
        return None
    named = list(_named_fields(error))
    # The message on `max_tokens` may name its other name alone, and so may one on `max_completion_tokens`.
    if "max_tokens" in body and "max_completion_tokens" in named:
        return "max_tokens"
    return next((name for name in ("response_format", *OPTIONAL_FIELDS) if name in body and name in named), None)


def error_message(error: str) -> str:
    """A server's error as one short line: the message in its JSON, or the text itself."""
    found: Any = _read(error)
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and cast("dict[str, Any]", found).get(name):
            found = cast("dict[str, Any]", found)[name]
    text = found if isinstance(found, str) else written(cast("object", found))
    return printable(" ".join(text.split()))[:MESSAGE_CHARACTERS]


def failed_reply(key: str, status: int | None, error: str) -> Reply:
    """The reply to a call that the server answered with an error."""
    detail = error_message(error) if status is None else f"HTTP {status}: {error_message(error)}"
    client_error = status is None or 400 <= status < 500
    if status == 413 or (client_error and status != 429 and _TOO_LONG.search(error)):
        return Reply(key, "", Finish.TOO_LONG, detail=detail)
    if client_error and _FILTERED.search(error):
        return Reply(key, "", Finish.REFUSED, detail=detail)
    return Reply(key, "", Finish.ERROR, detail=detail)


def written(value: object) -> str:
    """A JSON value as text; a remark where it is nested too deeply for that."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "an error that cannot be written"


def _named_fields(error: str) -> Iterator[str]:
    """What the error names as a field: `param`, the places that a validator lists, or else names in quotes."""
    found = _error_object(error)
    param, listed = found.get("param"), found.get("detail")
    if isinstance(param, str) and param:
        yield re.split(r"[.\[]", param.removeprefix("body."), maxsplit=1)[0]
        return
    if isinstance(listed, list):
        for entry in cast("list[Any]", listed):
            place: Any = cast("dict[str, Any]", entry).get("loc") if isinstance(entry, dict) else None
            if isinstance(place, list):
                yield from (part for part in cast("list[Any]", place) if isinstance(part, str))
        return
    message: Any = found.get("message", listed)
    message = message if isinstance(message, str) else error
    begins = _BARE_NAME.match(message)
    yield from (name for name in (begins.groups() if begins else ()) if name)
    yield from re.findall(r"[\"'`](\w+)(?=[\"'`])", message)


def _error_object(error: str) -> dict[str, Any]:
    """The innermost object of an error; empty where it is no JSON object."""
    found: Any = _read(error)
    while isinstance(found, dict) and isinstance(cast("dict[str, Any]", found).get("error"), dict):
        found = cast("dict[str, Any]", found)["error"]
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _read(error: str) -> object:
    try:
        return json.loads(error)
    except (ValueError, RecursionError):
        return error
