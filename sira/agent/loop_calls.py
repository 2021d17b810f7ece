"""Calls as models write them, made fit for the rest of an episode: their number, ids, names and arguments.

What a tool is called with stays as it was written; the conversation holds a form that every endpoint takes back, since
a name or arguments that it refuses would end the question on the model's first slip.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from sira.records import ToolCall

MAX_CALLS = 64
"""Of one turn; what a model writes beyond them is not carried out, and it is told so."""
NAME_CHARACTERS = 64
_ID_CHARACTERS = 100
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_ECHO_CHARACTERS = 20_000
"""Of arguments that go back to the model as they are."""
_SHOWN_CHARACTERS = 200


def taken(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """The calls that are carried out, in order, each with an id of its own."""
    found: dict[str, ToolCall] = {}
    for number, call in enumerate(calls[:MAX_CALLS]):
        name = call.id[:_ID_CHARACTERS]
        while not name or name in found:
            name = f"{name[:_ID_CHARACTERS]}-{number}"
        found[name] = call._replace(id=name)
    return tuple(found.values())


def left_out_note(count: int) -> str:
    return f"[{count} further calls of this turn were not carried out: write at most {MAX_CALLS} in one turn.]"


def for_conversation(call: ToolCall) -> ToolCall:
    """The call as an endpoint takes it back: a name of `[A-Za-z0-9_-]{1,64}` (OpenAI's bound), and arguments that are
    a JSON object, which chat templates (Hermes, Qwen) parse. What was none is told of under `unreadable`."""
    name = _NOT_IN_NAMES.sub("_", call.name)[:NAME_CHARACTERS] or "unnamed"
    return call._replace(name=name, arguments=_object(call.arguments))


def _object(text: str) -> str:
    if len(text) <= _ECHO_CHARACTERS:
        try:
            data: Any = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict):
            return text if text.strip() else "{}"
    return json.dumps({"unreadable": text[:_SHOWN_CHARACTERS]})
