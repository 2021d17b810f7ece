"""The client and the OpenAPI document say the same: routes, fields of requests with their choices, and of answers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from sira.client import SiraClient, answers, options, routes
from sira.client.calls import Call
from tests.client.conftest import TOKEN
from tests.client.support import Served

pytestmark = pytest.mark.java

CALLS: Mapping[str, Call[Any]] = {
    "health": routes.health(),
    "ready": routes.ready(),
    "version": routes.version(),
    "metrics": routes.metrics(),
    "list_indexes": routes.indexes(),
    "get_index": routes.manifest("X"),
    "compile": routes.compile("X", query="x"),
    "search": routes.search("X", query="x"),
    "search_batch": routes.batch("X", [{"query": "x"}]),
    "explain": routes.explain("X", query="x"),
    "get_document": routes.document("X", "x", 1, 1),
    "find": routes.find("X", "x", "x", mode="regex", before=1, after=1, offset=1, limit=1),
    "terms": routes.terms("X", ["x"]),
    "open_session": routes.open_session("X", "sira", {}),
    "get_session": routes.session("X"),
    "close_session": routes.close_session("X"),
    "call_tool": routes.call_tool("X", "X", {}),
    "pi_search": routes.pi_search(None, "x", 1, 0),
    "pi_search_index": routes.pi_search("X", "x", 1, 0),
    "pi_read_document": routes.pi_read_document(None, "x", 1, 1),
    "pi_read_document_index": routes.pi_read_document("X", "x", 1, 1),
}
"""By operation: a call that gives all that can be given."""
OPTIONS: Mapping[str, type] = {
    "CompileRequest": options.CompileOptions,
    "SearchRequest": options.SearchOptions,
    "ExplainRequest": options.ExplainOptions,
    "SettingsIn": options.SettingsOptions,
    "Asking": options.AskingOptions,
}
ANSWERS: Mapping[str, tuple[type, set[str]]] = {
    "Version": (answers.Version, set()),
    "IndexList": (answers.Indexes, set()),
    "IndexState": (answers.IndexState, set()),
    "CompileAnswer": (answers.Compiled, set()),
    "ClauseOut": (answers.ClauseFacts, set()),
    "VerdictOut": (answers.Verdict, {"share"}),  # df over the documents of the answer
    "SearchAnswer": (answers.SearchPage, set()),
    "HitOut": (answers.Hit, {"title"}),  # SearchPage.titles
    "ExplainAnswer": (answers.Explained, {"qid", "text"}),  # those of its program
    "DocumentAnswer": (answers.DocumentPage, set()),
    "FindAnswer": (answers.Matches, set()),
    "MatchOut": (answers.Match, set()),
    "TermsAnswer": (answers.Terms, set()),
    "TermOut": (answers.TermFacts, set()),
    "SessionAnswer": (answers.SessionFacts, set()),
    "ToolOut": (answers.ToolFacts, set()),
    "ToolAnswer": (answers.ToolAnswer, set()),
}
"""By schema: the value of the client, and the fields that stand elsewhere."""
BETWEEN_PROCESSES = {"own"}
"""Query parameters by which the processes of one server ask each other."""


@pytest.fixture(scope="module")
def document(served: Served) -> Mapping[str, Any]:
    with SiraClient(served.url, TOKEN) as client:
        return client.openapi()


def _operations(document: Mapping[str, Any]) -> dict[str, tuple[str, str, Mapping[str, Any]]]:
    """Method, path and operation by id; HEAD is no route of its own."""
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method != "head"
    }


def _schema(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return document["components"]["schemas"][name]


def test_every_route_has_a_call_and_every_call_a_route(document: Mapping[str, Any]) -> None:
    operations = _operations(document)
    assert set(operations) == set(CALLS)
    for name, call in CALLS.items():
        method, path, operation = operations[name]
        assert call.method == method
        assert call.path == re.sub(r"\{\w+\}", "X", path), name
        queries = {item["name"] for item in operation.get("parameters", []) if item["in"] == "query"}
        assert set(call.query) == queries - BETWEEN_PROCESSES, name
        assert (call.body is not None) == ("requestBody" in operation), name


def test_every_call_has_a_method() -> None:
    made = {name for name, value in vars(routes).items() if callable(value) and value.__module__ == routes.__name__}
    made = {name for name in made if not name.startswith("_")}
    methods = {name for name in vars(SiraClient) if not name.startswith("_")} - {"close"}
    assert methods == made


@pytest.mark.parametrize("name", ["find", "terms", "open_session", "call_tool", "pi_search", "pi_read_document"])
def test_calls_give_every_field_of_their_body(document: Mapping[str, Any], name: str) -> None:
    _, _, operation = _operations(document)[name]
    reference: str = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert set(CALLS[name].body) == set(_schema(document, reference.rpartition("/")[2])["properties"])


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_the_fields_of_the_requests(document: Mapping[str, Any], name: str) -> None:
    hints, properties = get_type_hints(OPTIONS[name]), _schema(document, name)["properties"]
    assert set(hints) == set(properties)
    for field, hint in hints.items():
        if get_origin(hint) is Literal:
            assert set(get_args(hint)) == _choices(properties[field]), field


def _choices(schema: Mapping[str, Any]) -> set[str]:
    return set(schema.get("enum", [])) | {item for part in schema.get("anyOf", []) for item in part.get("enum", [])}


@pytest.mark.parametrize("name", ANSWERS)
def test_values_hold_every_field_of_the_answers(document: Mapping[str, Any], name: str) -> None:
    kind, elsewhere = ANSWERS[name]
    held = set(kind._fields) if hasattr(kind, "_fields") else {item.name for item in dataclasses.fields(kind)}  # pyright: ignore
    told = set(_schema(document, name)["properties"])
    assert told - held == elsewhere
    extra = {"titles"} if name == "SearchAnswer" else set()
    assert held - told == extra


def test_no_schema_of_an_answer_is_forgotten(document: Mapping[str, Any]) -> None:
    """What is not among the values above is read as it stands."""
    as_it_stands = {"Health", "Ready", "IndexFacts", "Compiled", "BatchAnswer", "BatchFault", "Problem"}
    as_it_stands |= {"ProblemOut", "PiSearchAnswer", "PiReadAnswer", "PiHit"}
    requests = {
        name for name in document["components"]["schemas"] if name.endswith(("Request", "In", "Parts", "Table"))
    }
    assert set(document["components"]["schemas"]) - requests - {"Asking"} == set(ANSWERS) | as_it_stands
