"""Parts of a trajectory: docids by the details of a tool's result, usage, and values as JSON. Pure functions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, cast

from sira.agent.arguments import MAX_CHARACTERS
from sira.llm.base import Usage

SEARCH, BROWSE, READ = "search", "read_search_results", "read_document"
FIRST_PAGE = 5
"""Hits that a search is taken to have shown where its details do not say."""

_KEPT_CHARACTERS = 1000


def seen_docids(tool: str, details: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(retrieved, previewed) by the details of a result. A list that holds anything but strings counts as none."""
    retrieved = _strings(details.get("retrievedDocids"))
    if details.get("previewedDocids") is not None:
        return retrieved, _strings(details["previewedDocids"])
    if tool == SEARCH:
        return retrieved, retrieved[:FIRST_PAGE]
    return retrieved, retrieved if tool == BROWSE else ()


def usage_json(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_cached": usage.cached_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def written(value: object) -> str:
    """JSON on one line; numbers that JSON does not know are null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), default=str)


def _finite(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): _finite(item) for key, item in cast("Mapping[object, object]", value).items()}
        case list() | tuple():
            return [_finite(item) for item in cast("list[object]", value)]
        case _:
            return value


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        return ()
    listed = cast("list[Any]", value)
    return tuple(listed) if all(isinstance(item, str) for item in listed) else ()


def arguments_of(text: str) -> object:
    """The arguments of a call as an object, or the text where it is none; of a text that no tool reads the beginning,
    since the file is written again after each step."""
    if len(text) > MAX_CHARACTERS:
        return f"{text[:_KEPT_CHARACTERS]}… ({len(text):,} characters)"
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return cast("object", data) if isinstance(data, dict) else text


def read_docid(arguments: object, details: Mapping[str, Any]) -> str | None:
    docid: Any = details.get("docid")
    if docid is None and isinstance(arguments, dict):
        docid = cast("dict[str, Any]", arguments).get("docid")
        docid = str(docid) if isinstance(docid, int) and not isinstance(docid, bool) else docid
    return docid if isinstance(docid, str) else None
