"""The chat-completions format in both directions: a request as the body of a call, a body as a reply.

Shared by the endpoint, whose calls go over HTTP, and the batch file, whose calls stand in a file.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from sira.errors import InputError
from sira.llm.base import Finish, Reply, Request, Usage
from sira.llm.schema import format_name
from sira.llm.server_error import MESSAGE_CHARACTERS, failed_reply, written
from sira.llm.settings import ModelSettings
from sira.records import ToolCall, ToolTurn, Turn
from sira.tables import printable

CALL_PATH = "/v1/chat/completions"
_OWN_FIELDS = frozenset({"model", "messages", "stream", "n"})
_SAMPLING = ("top_p", "top_k", "min_p", "repetition_penalty")
_MOST_TOKENS = 2**53
_NAME_CHARACTERS = 200


def check_extra_body(settings: ModelSettings) -> None:
    """Raises InputError for an `extra_body` that would change what sira itself decides or cannot read."""
    if taken := sorted(_OWN_FIELDS & settings.extra_body.keys()):
        raise InputError(f"[model] extra_body: {taken[0]!r} is set by sira; take it out")


def chat_body(settings: ModelSettings, request: Request, model: str, *, hosted: bool = False) -> dict[str, Any]:
    """The body of one call. What `extra_body` holds stands in place of ours, field by field."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [_turn(message) for message in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": settings.temperature,
        "seed": request.seed,
    }
    if request.stop:
        body["stop"] = list(request.stop)
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
            }
            for tool in request.tools
        ]
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


def _turn(message: Turn) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": message.role, "content": message.content}
    if not isinstance(message, ToolTurn):
        return turn
    if message.tool_calls:
        turn["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        turn["tool_call_id"] = message.tool_call_id
    return turn


def without(body: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """The body less these optional fields."""
    left = dict(body)
    for field in fields:
        value = left.pop(field, None)
        if field == "max_tokens" and value is not None:
            left["max_completion_tokens"] = value
    return left


class NoJson(Exception):
    """A body that is no JSON."""


def parsed_body(text: str) -> object:
    """The body of a response. Raises NoJson."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise NoJson from None


def answerer(body: object) -> str:
    """The model and fingerprint that a completion bears; empty without."""
    fields = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    names = (fields.get("model"), fields.get("system_fingerprint"))
    return printable(" ".join(name for name in names if isinstance(name, str)))[:_NAME_CHARACTERS]


def completion_reply(key: str, body: object) -> Reply:
    """The reply that a chat completion holds; `ERROR` with a detail for a body that is none."""
    if not isinstance(body, dict):
        return Reply(key, "", Finish.ERROR, detail="the reply is no chat completion: no JSON object")
    fields = cast("dict[str, Any]", body)
    choices: Any = fields.get("choices")
    if not isinstance(choices, list):
        if fields.get("error"):
            return failed_reply(key, None, written(fields))
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
    reasoning = said.get("reasoning_content") or said.get("reasoning")
    return Reply(
        key,
        _content(said.get("content")),
        finish,
        _usage(fields.get("usage")),
        detail,
        tuple(_tool_calls(said.get("tool_calls"))),
        _content(reasoning),
    )


def _tool_calls(listed: object) -> Iterator[ToolCall]:
    """The calls that have a name; an id that lacks or stands twice gives way to the call's number, which the next
    request names."""
    seen: set[str] = set()
    for number, item in enumerate(cast("list[Any]", listed) if isinstance(listed, list) else []):
        call = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        function: Any = call.get("function")
        if not isinstance(function, dict):
            continue
        fields = cast("dict[str, Any]", function)
        name, arguments, given = fields.get("name"), fields.get("arguments"), call.get("id")
        if not isinstance(name, str) or not name:
            continue
        if not isinstance(arguments, str):  # some servers give the object itself
            arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
        place = given if isinstance(given, str) and given and given not in seen else ""
        place = place or next(f"call_{at}" for at in itertools.count(number) if f"call_{at}" not in seen)
        seen.add(place)
        yield ToolCall(_well_formed(place), _well_formed(name), _well_formed(arguments))


def _finish(choice: dict[str, Any], message: dict[str, Any]) -> tuple[Finish, str | None]:
    refusal: Any = message.get("refusal")
    if refusal:
        said = refusal if isinstance(refusal, str) else written(refusal)
        return Finish.REFUSED, printable(said)[:MESSAGE_CHARACTERS]
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
    return Usage(*map(token_count, counts))


def token_count(count: object) -> int:
    """A count as some server or file gives it; 0 where it is none."""
    return count if type(count) is int and 0 <= count < _MOST_TOKENS else 0
