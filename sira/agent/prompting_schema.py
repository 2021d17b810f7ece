"""Turns whose form decoding is held to: a call of one tool, or the answer, as JSON under a schema.

For models that call no tools by themselves, behind servers that constrain decoding (vLLM, llama.cpp): each turn is a
call that can be carried out, and once the model was told to answer, an answer is all that the schema admits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from sira.llm.base import Tool
from sira.records import ToolCall

ANSWER = "answer"
ARGUMENT_CHARACTERS, EXPLANATION_CHARACTERS = 200, 600
FORM_TEXT = (
    'Write each turn as one JSON object: {"turn": {"tool": "the tool", "arguments": {"field": "value"}}}. The last one '
    'is your answer: {"turn": {"tool": "answer", "arguments": {"explanation": "... [docid]", "exact_answer": "...", '
    '"confidence": 50}}}.'
)


def turn_schema(tools: Sequence[Tool], *, answer_only: bool) -> dict[str, Any]:
    """One turn; every string in it is bounded, lest a weak model never end one."""
    answer = _turn(
        ANSWER,
        _object(
            {
                "explanation": _string(EXPLANATION_CHARACTERS),
                "exact_answer": _string(ARGUMENT_CHARACTERS),
                "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
            }
        ),
    )
    calls = [] if answer_only else [_turn(tool.name, _bounded(tool.parameters)) for tool in tools]
    return _object({"turn": {"anyOf": [*calls, answer]}})


def read_turn(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """(final text, calls) of a reply: the answer in the form that is asked of all models, or the one call. A text that
    is no such turn stays as it is."""
    try:
        data: Any = json.loads(text)
        turn: Any = data["turn"]
        name, arguments = turn["tool"], turn["arguments"]
    except (ValueError, RecursionError, KeyError, TypeError, IndexError):
        return text, ()
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return text, ()
    fields = cast("dict[str, Any]", arguments)
    if name != ANSWER:
        return "", (ToolCall("call_0", name, json.dumps(fields, ensure_ascii=False)),)
    return (
        f"Explanation: {fields.get('explanation', '')}\nExact Answer: {fields.get('exact_answer', '')}\n"
        f"Confidence: {fields.get('confidence', '')}%",
        (),
    )


def _turn(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return _object({"tool": {"type": "string", "enum": [name]}, "arguments": dict(arguments)})


def _bounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments with bounded strings and lists, numbers from 1."""
    bounded: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            bounded[key] = {name: _bounded(inner) for name, inner in cast("dict[str, Any]", value).items()}
        elif key == "items":
            bounded[key] = _bounded(cast("dict[str, Any]", value))
        else:
            bounded[key] = value
    match schema.get("type"):
        case "string" if "enum" not in schema:
            return {
                **_string(ARGUMENT_CHARACTERS),
                **({"description": schema["description"]} if "description" in schema else {}),
            }
        case "number":
            return {**bounded, "type": "integer", "minimum": 1, "maximum": 1_000_000}
        case "array":
            return {**bounded, "maxItems": min(8, schema.get("maxItems", 8))}
        case "object":
            return {**bounded, "additionalProperties": False}
        case _:
            return bounded


def _object(members: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(members), "required": list(members), "additionalProperties": False}


def _string(characters: int) -> dict[str, Any]:
    # as in sira.llm.schema: a pattern, since some decoders know no maxLength
    return {"type": "string", "pattern": f'^[^"\\\\\\x00-\\x1F\\x7F]{{1,{characters}}}$'}
