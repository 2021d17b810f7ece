"""What a client is told beside the text of a call: titles, hints, output schemas and the record of a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sira.agent.base import ToolResult
from sira.serve.mcp.compiling import COMPILE, EXPLAIN

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "number"}
_MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
_MAYBE_COUNT: Schema = {"type": ["integer", "null"], "minimum": 0}
_NEXT: Schema = {"type": ["integer", "null"], "minimum": 1, "description": "offset of the next page; null at the end"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "array", "items": _object(properties)}


@dataclass(frozen=True, slots=True)
class Output:
    """One tool's. `fields` are the record's: name -> (schema, key of the result's details); all are required.

    `whole`: the text is in the record, too, since some clients show their model nothing else. Else the text is a
    document's, and is not sent twice: there is no `structuredContent`, and the fields stand in `_meta`.
    """

    title: str
    fields: Mapping[str, tuple[Schema, str]]
    whole: bool = True

    @property
    def schema(self) -> Schema | None:
        """Of `structuredContent`; `session` stands there where the transport has no sessions of its own."""
        if not self.whole:
            return None
        schema = _object({"text": _TEXT, **{name: schema for name, (schema, _) in self.fields.items()}})
        schema["properties"]["session"] = _TEXT
        return schema

    def record(self, result: ToolResult, session: str | None) -> dict[str, Any]:
        told = {name: result.details.get(key) for name, (_, key) in self.fields.items()}
        text = {"text": result.text} if self.whole else {}
        return {**text, **told, **({} if session is None else {"session": session})}


_RANKING: dict[str, tuple[Schema, str]] = {
    "search_id": (_TEXT, "searchId"),
    "query": (_TEXT, "rawQuery"),
    "mode": ({"type": "string", "enum": ["plain", "program", "fused"]}, "queryMode"),
    "total": (_COUNT, "totalCached"),
    "first_rank": (_COUNT, "returnedRankStart"),
    "last_rank": (_COUNT, "returnedRankEnd"),
    "docids": (_TEXTS, "previewedDocids"),
    "next_offset": (_NEXT, "nextOffset"),
}
_TERM = {"term": _TEXT, "analysed": _TEXTS, "df": _MAYBE_COUNT, "idf": _MAYBE_NUMBER, "share": _MAYBE_NUMBER}
_HIT = {
    "docid": _TEXT,
    "rank": _COUNT,
    "score": _NUMBER,
    "plain_rank": _MAYBE_COUNT,
    "move": {"type": "string", "enum": ["new", "up", "same", "down"]},
}
_MISSED = {"docid": _TEXT, "found": {"type": "boolean"}, "rank": _MAYBE_COUNT, "score": _NUMBER}

OUTPUTS: Mapping[str, Output] = {
    "search": Output("Search", _RANKING),
    "read_search_results": Output("Read more search results", _RANKING),
    "fuse_searches": Output("Fuse searches", _RANKING),
    "find_in_results": Output("Find in search results", {**_RANKING, "matches": (_COUNT, "totalMatches")}),
    "read_document": Output(
        "Read a document",
        {
            "docid": (_TEXT, "docid"),
            "first_line": (_COUNT, "returnedOffsetStart"),
            "last_line": (_COUNT, "returnedOffsetEnd"),
            "total_lines": (_COUNT, "totalLines"),
            "next_offset": (_NEXT, "nextOffset"),
        },
        whole=False,
    ),
    "find_in_document": Output(
        "Find in a document",
        {
            "docid": (_TEXT, "docid"),
            "first_match": (_COUNT, "returnedMatchStart"),
            "last_match": (_COUNT, "returnedMatchEnd"),
            "matches": (_COUNT, "totalMatches"),
            "next_offset": (_NEXT, "nextOffset"),
        },
        whole=False,
    ),
    "term_statistics": Output(
        "Term statistics", {"documents": (_COUNT, "documents"), "terms": (_list(_TERM), "terms")}
    ),
    COMPILE: Output(
        "Compile a sketch",
        {
            "program": (_TEXT, "program"),
            "clauses": (_COUNT, "clauses"),
            "proposed": (_COUNT, "proposed"),
            "verdicts": ({"type": "object", "additionalProperties": _COUNT}, "verdicts"),
            "first_line": (_COUNT, "returnedOffsetStart"),
            "last_line": (_COUNT, "returnedOffsetEnd"),
            "total_lines": (_COUNT, "totalLines"),
            "next_offset": (_NEXT, "nextOffset"),
        },
    ),
    EXPLAIN: Output(
        "Explain a search",
        {
            "program": (_TEXT, "program"),
            "documents": (_COUNT, "documents"),
            "hits": (_list(_HIT), "hits"),
            "lost": (_list({"docid": _TEXT, "plain_rank": _MAYBE_COUNT}), "lost"),
            "missed": (_list(_MISSED), "missed"),
            "next_offset": (_NEXT, "nextOffset"),
        },
    ),
}
"""A tool that has no row is served with its text alone."""

RANKING_TOOLS = frozenset({"read_search_results", "fuse_searches", "find_in_results"})
"""They need a ranking of an earlier call, and so its session."""
