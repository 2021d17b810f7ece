"""The JSON Schemas that decoding is held to: every array and every string bounded, compact, nothing optional.

A string's length is bounded by its pattern and not by maxLength, which some services refuse and with which one decoder
writes raw control characters; `uniqueItems` is unknown to another. The pattern leaves out quotes, backslashes and
control characters, so no reply needs an escape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from sira.records import Role

DEFAULT_MAX_CHARACTERS = 64
"""Of one phrase. Recorded phrases of one to six words have at most 48."""
ROLES: tuple[str, ...] = get_args(Role)
WEIGHTS = (0.5, 1, 2, 3)
"""Those that a model may give; a closed list, since some decoders bound no number."""
_BYTES_OF_A_CHARACTER = 4  # UTF-8, and no token is shorter than one byte


def phrases_schema(max_phrases: int, max_characters: int = DEFAULT_MAX_CHARACTERS) -> dict[str, Any]:
    """`{"phrases": [...]}` with at most `max_phrases` strings.

    A string may have one character more than `max_characters`: a decoder ends an endless string at its bound, in the
    middle of a word, and so parsing sees by the length that this is half an item, and drops it.
    """
    return _object({"phrases": _list(_string(max_characters), max_phrases)})


def sketch_schema(
    max_phrases: int,
    max_characters: int = DEFAULT_MAX_CHARACTERS,
    *,
    weights: bool = False,
    max_facets: int = 0,
    max_searches: int = 0,
) -> dict[str, Any]:
    """`{"phrases": [{"text", "role"}, ...]}`, each phrase with a `weight` where `weights`; then `facets` (strings) and
    `searches` (lists of at most `max_phrases` strings), each where its bound is above 0."""
    text = _string(max_characters)
    phrase: dict[str, Any] = {"text": text, "role": {"type": "string", "enum": list(ROLES)}}
    if weights:
        phrase["weight"] = {"type": "number", "enum": list(WEIGHTS)}
    members: dict[str, Any] = {"phrases": _list(_object(phrase), max_phrases)}
    if max_facets:
        members["facets"] = _list(text, max_facets)
    if max_searches:
        members["searches"] = _list(_list(text, max_phrases), max_searches)
    return _object(members)


def _object(members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(members),
        "required": list(members),
        "additionalProperties": False,
    }


def _list(items: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": dict(items), "maxItems": most}


def _string(max_characters: int) -> dict[str, Any]:
    return {"type": "string", "pattern": f'^[^"\\\\\\x00-\\x1F\\x7F]{{1,{max_characters + 1}}}$'}


def worst_case_tokens(max_phrases: int, max_characters: int = DEFAULT_MAX_CHARACTERS) -> int:
    """A bound on the tokens of any compact reply that `phrases_schema` admits: its longest UTF-8 form in bytes, and the
    token that ends it."""
    frame = len('{"phrases":[]}')
    return frame + max_phrases * ((max_characters + 1) * _BYTES_OF_A_CHARACTER + len('"",')) + 1


def format_name(schema: Mapping[str, Any]) -> str:
    """The name that OpenAI-compatible endpoints want beside a schema."""
    return "_".join(schema["properties"])
