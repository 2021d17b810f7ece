"""The chat-completions format in both directions: a request as the body of a call, a body or an error as a reply.

Shared by the endpoint, whose calls go over HTTP, and the batch file, whose calls stand in a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from sira.errors import InputError
from sira.llm.base import Finish, Reply, Request, Usage
from sira.llm.schema import format_name
from sira.llm.settings import ModelSettings
from sira.tables import printable

CALL_PATH = "/v1/chat/completions"
OPTIONAL_FIELDS = (
    "chat_template_kwargs", "repetition_penalty", "min_p", "top_k", "top_p", "temperature", "seed", "max_tokens",
)  # fmt: skip
"""What a call can do without; `max_tokens` then goes under its other name, `max_completion_tokens`."""

_OWN_FIELDS = frozenset({"model", "messages", "stream", "n"})
_SAMPLING = ("top_p", "top_k", "min_p", "repetition_penalty")
_MESSAGE_CHARACTERS = 300

_REFUSING = re.compile(
    r"un(supported|known|recogni[sz]ed|expected)|not (supported|permitted|allowed)|does not support|extra|cannot find",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|available context size|context window"
    r"|\"param\":\s*\"input_tokens\"|string_above_max_length|(prompt|input|request) (is )?too (long|large)"
    r"|too many tokens|token count exceeds",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content_filter|content_policy|content management policy|flagged", re.IGNORECASE)


def is_hosted(base_url: str) -> bool:
    """OpenAI's own service, which refuses the fields that it does not know."""
    host = urlsplit(base_url).hostname or ""
    return host == "api.openai.com" or host.endswith(".api.openai.com")


def check_extra_body(settings: ModelSettings) -> None:
    """Raises InputError for an `extra_body` that would change what sira itself decides or cannot read."""
    if taken := sorted(_OWN_FIELDS & settings.extra_body.keys()):
        raise InputError(f"[model] extra_body: {taken[0]!r} is set by sira; take it out")


def chat_body(settings: ModelSettings, request: Request, model: str, *, hosted: bool = False) -> dict[str, Any]:
    """The body of one call. What `extra_body` holds stands in place of ours, field by field."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": settings.temperature,
        "seed": request.seed,
    }
    body |= {name: value for name in _SAMPLING if (value := getattr(settings, name)) is not None}
    if request.schema is not None and settings.structured == "json_schema":
        schema = {"name": format_name(request.schema), "strict": True, "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif request.schema is not None and settings.structured == "json_object":
        body["response_format"] = {"type": "json_object"}
    if not hosted:
        body["chat_template_kwargs"] = {"enable_thinking": settings.thinking}
    body |= settings.extra_body
    if "max_completion_tokens" in settings.extra_body:
        body.pop("max_tokens", None)
    return body


def without(body: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """The body less these optional fields."""
    left = dict(body)
    for field in fields:
        value = left.pop(field, None)
        if field == "max_tokens" and value is not None:
            left["max_completion_tokens"] = value
    return left


def refused_field(body: Mapping[str, Any], error: str) -> str | None:
    """The field of the body that a server's error says it does not know (`response_format` among them)."""
    if _REFUSING.search(error) is None or _TOO_LONG.search(error):
        return None
    # The message on `max_tokens` may name its other name alone, and so may one on `max_completion_tokens`.
    if "max_tokens" in body and re.search(r"\bmax_completion_tokens\b", error):
        return "max_tokens"
    present = [name for name in ("response_format", *OPTIONAL_FIELDS) if name in body]
    return next((name for name in present if re.search(rf"\b{name}\b", error)), None)


def error_message(error: str) -> str:
    """A server's error as one short line: the message in its JSON, or the text itself."""
    try:
        found: Any = json.loads(error)
    except ValueError:
        found = error
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and cast("dict[str, Any]", found).get(name):
            found = cast("dict[str, Any]", found)[name]
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return printable(" ".join(text.split()))[:_MESSAGE_CHARACTERS]


def failed_reply(key: str, status: int | None, error: str) -> Reply:
    """The reply to a call that the server answered with an error."""
    detail = error_message(error) if status is None else f"HTTP {status}: {error_message(error)}"
    client_error = status is None or 400 <= status < 500
    if status == 413 or (client_error and status != 429 and _TOO_LONG.search(error)):
        return Reply(key, "", Finish.TOO_LONG, detail=detail)
    if client_error and _FILTERED.search(error):
        return Reply(key, "", Finish.REFUSED, detail=detail)
    return Reply(key, "", Finish.ERROR, detail=detail)


def completion_reply(key: str, body: object) -> Reply:
    """The reply that a chat completion holds; `ERROR` with a detail for a body that is none."""
    if not isinstance(body, dict):
        return Reply(key, "", Finish.ERROR, detail="the reply is no chat completion: no JSON object")
    fields = cast("dict[str, Any]", body)
    choices: Any = fields.get("choices")
    if not isinstance(choices, list):
        if fields.get("error"):
            return failed_reply(key, None, json.dumps(fields))
        return Reply(key, "", Finish.ERROR, detail="the reply is no chat completion: it has no `choices`")
    listed = cast("list[Any]", choices)
    if len(listed) != 1:
        return Reply(key, "", Finish.ERROR, detail=f"the reply has {len(listed)} choices where 1 was asked for")
    choice: Any = listed[0]
    message: Any = cast("dict[str, Any]", choice).get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return Reply(key, "", Finish.ERROR, detail="the reply is no chat completion: its choice has no `message`")
    said = cast("dict[str, Any]", message)
    finish, detail = _finish(cast("dict[str, Any]", choice), said)
    thought: Any = said.get("reasoning_content") or said.get("reasoning")
    reasoning = _well_formed(thought) if isinstance(thought, str) else None
    return Reply(key, _content(said.get("content")), finish, _usage(fields.get("usage")), detail, reasoning)


def _finish(choice: dict[str, Any], message: dict[str, Any]) -> tuple[Finish, str | None]:
    refusal: Any = message.get("refusal")
    if refusal:
        return Finish.REFUSED, printable(str(refusal))[:_MESSAGE_CHARACTERS]
    match choice.get("finish_reason"):
        case "length":
            return Finish.LENGTH, None
        case "content_filter":
            return Finish.REFUSED, "stopped by the endpoint's content filter"
        case "error" | "abort" as reason:
            return Finish.ERROR, f"the endpoint broke off: finish_reason {reason!r}"
        case _:
            return Finish.STOP, None


def _content(content: object) -> str:
    """A string, nothing, or a list of parts as some servers write it."""
    if isinstance(content, list):
        parts = [
            cast("dict[str, Any]", part).get("text") for part in cast("list[Any]", content) if isinstance(part, dict)
        ]
        content = "".join(part for part in parts if isinstance(part, str))
    return _well_formed(content) if isinstance(content, str) else ""


def _well_formed(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair, which no UTF-8 file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _usage(usage: object) -> Usage:
    fields = cast("dict[str, Any]", usage) if isinstance(usage, dict) else {}
    details: Any = fields.get("prompt_tokens_details")
    cached: Any = cast("dict[str, Any]", details).get("cached_tokens") if isinstance(details, dict) else None
    counts = (fields.get("prompt_tokens"), fields.get("completion_tokens"), cached)
    return Usage(*(count if isinstance(count, int) else 0 for count in counts))
