"""The calls of the HTTP API: one function a route. `index` is the name that the server gives it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, Unpack

from sira.client import answers
from sira.client.answers import (
    Compiled,
    DocumentPage,
    Explained,
    Indexes,
    IndexFacts,
    Json,
    Matches,
    SearchPage,
    SessionFacts,
    Terms,
    ToolAnswer,
    Version,
)
from sira.client.calls import Call, quoted
from sira.client.errors import Problem
from sira.client.options import CompileOptions, ExplainOptions, FindOptions, SearchOptions
from sira.errors import InputError
from sira.program import Program, program_to_json

Value = TypeVar("Value")


def health() -> Call[Json]:
    return Call("GET", "/health", answers.mapping)


def ready() -> Call[Json]:
    return Call("GET", "/ready", answers.mapping)


def version() -> Call[Version]:
    return Call("GET", "/version", answers.version)


def metrics() -> Call[str]:
    return Call("GET", "/metrics", answers.text, as_text=True)


def openapi() -> Call[Json]:
    return Call("GET", "/openapi.json", answers.mapping)


def indexes() -> Call[Indexes]:
    return Call("GET", "/v1/indexes", answers.indexes)


def manifest(index: str) -> Call[IndexFacts]:
    return Call("GET", f"/v1/indexes/{quoted(index)}", answers.index_facts)


def compile(index: str, **options: Unpack[CompileOptions]) -> Call[Compiled]:
    return Call("POST", f"/v1/indexes/{quoted(index)}/compile", answers.compiled, _body(options))


def search(index: str, **options: Unpack[SearchOptions]) -> Call[SearchPage]:
    return Call("POST", f"/v1/indexes/{quoted(index)}/search", answers.search_page, _body(options))


def batch(index: str, searches: Iterable[SearchOptions]) -> Call[tuple[SearchPage | Problem, ...]]:
    body = {"searches": [_body(options) for options in _listed(searches, "searches")]}
    return Call("POST", f"/v1/indexes/{quoted(index)}/search/batch", answers.batch, body)


def explain(index: str, **options: Unpack[ExplainOptions]) -> Call[Explained]:
    return Call("POST", f"/v1/indexes/{quoted(index)}/explain", answers.explained, _body(options))


def document(index: str, docid: str, offset: int, limit: int) -> Call[DocumentPage]:
    query: dict[str, str | int] = {"docid": docid, "offset": offset, "limit": limit}
    return Call("GET", f"/v1/indexes/{quoted(index)}/documents", answers.document_page, query=query)


def find(index: str, docid: str, pattern: str, **options: Unpack[FindOptions]) -> Call[Matches]:
    body = {"docid": docid, "pattern": pattern, **options}
    return Call("POST", f"/v1/indexes/{quoted(index)}/find", answers.matches, body)


def terms(index: str, texts: Iterable[str]) -> Call[Terms]:
    return Call("POST", f"/v1/indexes/{quoted(index)}/terms", answers.terms, {"terms": _listed(texts, "texts")})


def open_session(index: str, profile: str | None, settings: Mapping[str, Any] | None) -> Call[SessionFacts]:
    body = {"index": index, "profile": profile, "settings": settings}
    body = {name: value for name, value in body.items() if value is not None}
    return Call("POST", "/v1/sessions", answers.session_facts, body, repeatable=False)


def session(session: str) -> Call[SessionFacts]:
    return Call("GET", f"/v1/sessions/{quoted(session)}", answers.session_facts)


def close_session(session: str) -> Call[None]:
    return Call("DELETE", f"/v1/sessions/{quoted(session)}", answers.nothing, repeatable=False)


def call_tool(session: str, tool: str, arguments: str | Mapping[str, Any]) -> Call[ToolAnswer]:
    path = f"/v1/sessions/{quoted(session)}/tools/{quoted(tool)}"
    given = dict(arguments) if isinstance(arguments, Mapping) else arguments
    return Call("POST", path, answers.tool_answer, {"arguments": given}, repeatable=False)


def pi_search(index: str | None, query: str, limit: int, offset: int) -> Call[Json]:
    body = {"query": query, "limit": limit, "offset": offset}
    return Call("POST", f"{_pi(index)}/search", answers.mapping, body)


def pi_read_document(index: str | None, docid: str, offset: int, limit: int) -> Call[Json]:
    body = {"docid": docid, "offset": offset, "limit": limit}
    return Call("POST", f"{_pi(index)}/read-document", answers.mapping, body)


def _pi(index: str | None) -> str:
    return "/pi" if index is None else f"/pi/{quoted(index)}"


def _listed(items: Iterable[Value], name: str) -> list[Value]:
    """Raises InputError for one text or mapping, which Python would take as its letters or keys."""
    if isinstance(items, str | bytes | Mapping):
        raise InputError(f"{name}: give a list, of one item where there is one")
    return list(items)


def _body(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as JSON; programs as values become JSON, too."""
    body = dict(options)
    program = body.get("program")
    if isinstance(program, Program):
        body["program"] = program_to_json(program)
    return body
