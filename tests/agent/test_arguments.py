"""Whatever a model writes as a call, it gets one result that says how to mend it."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sira import Index
from sira.agent.base import Failure
from sira.agent.controller import Controller
from sira.agent.settings import PI_SERINI, SIRA, ToolSettings
from tests.agent.calls import pots

pytestmark = pytest.mark.java

BAD: list[tuple[str, str, str]] = [
    ("search", "{", "not JSON"),
    ("search", "", "reason is missing"),
    ("search", "null", "not null"),
    ("search", "[1]", "not a list"),
    ("search", '"kiln"', "not a string"),
    ("search", "[" * 100_000, "not JSON"),
    ("search", '{"reason": "r"}', "query is missing"),
    ("search", '{"reason": "r", "query": 5}', "query must be a string, not a number"),
    ("search", '{"reason": "r", "query": ["a"]}', "query must be a string, not a list"),
    ("search", '{"reason": 1, "query": "kiln"}', "reason must be a string"),
    ("search", '{"query": "kiln"}', "reason is missing"),
    ("search", '{"reason": "r", "query": "\\ud800 kiln"}', "half a character"),
    ("search", json.dumps({"reason": "r", "query": "kiln " * 25_000}), "give at most 100,000"),
    ("search", json.dumps({"reason": "r", "query": "x" * 10_000_000}), "at most 1,000,000 can be read"),
    (
        "read_search_results",
        '{"reason": "r", "search_id": "s1", "offset": "7"}',
        "offset must be a number, not a string",
    ),
    ("read_search_results", '{"reason": "r", "search_id": "s1", "limit": true}', "limit must be a number"),
    ("read_search_results", '{"reason": "r", "search_id": "s1", "limit": ' + "9" * 5000 + "}", "not JSON"),
    ("read_document", '{"reason": "r", "docid": ""}', "docid must be a non-empty string"),
    ("read_document", '{"reason": "r", "docid": true}', "docid must be a string"),
    ("read_document", '{"reason": "r", "docid": "../../etc/passwd"}', "was not found"),
    ("read_document", json.dumps({"reason": "r", "docid": "d" * 900_000}), "was not found"),
    ("read_document", '{"reason": "r", "docid": 12}', 'docid "12" was not found'),
]
BAD_OF_OURS: list[tuple[str, str, str]] = [
    (
        "search",
        '{"reason": "r", "query": "kiln", "k": 5}',
        'there is no field "k". The fields are reason, query, program',
    ),
    ("search", '{"reason": "r", "query": "kiln", "program": "kiln"}', "give one of them"),
    ("search", '{"reason": "r", "program": 5}', "must be a text or an object"),
    ("search", '{"reason": "r", "program": "heart AND"}', "column 7"),
    ("search", '{"reason": "r", "program": "x^1e999"}', "expected a number from 0"),
    ("search", '{"reason": "r", "program": {"clauses": 5}}', "program JSON, clauses"),
    ("search", '{"reason": "r", "program": {"clauses": [{"kind": "term", "term": "a", "weight": NaN}]}}', "finite"),
    (
        "search",
        '{"reason": "r", "program": {"clauses": [{"kind": "range", "field": "no", "gte": 1}]}}',
        "no such field",
    ),
    ("search", '{"reason": "r", "program": {"clauses": [{"kind": "term", "term": "\\ud800"}]}}', "surrogate"),
    ("fuse_searches", '{"reason": "r", "search_ids": ["s1"]}', "two or more"),
    ("fuse_searches", '{"reason": "r", "search_ids": ["s1", "s9"]}', '"s9" is unknown'),
    ("fuse_searches", '{"reason": "r", "search_ids": {}}', "must be a list of strings, not an object"),
    ("find_in_document", '{"reason": "r", "docid": "doc-1", "pattern": "(", "mode": "regex"}', "no regular expression"),
    (
        "find_in_document",
        '{"reason": "r", "docid": "doc-1", "pattern": "x", "mode": "glob"}',
        'choose "literal" or "regex"',
    ),
    ("find_in_document", json.dumps({"reason": "r", "docid": "doc-1", "pattern": "x" * 2000}), "at most 1,000"),
    ("find_in_results", '{"reason": "r", "search_id": "s1"}', "give either terms"),
    ("find_in_results", '{"reason": "r", "search_id": "s1", "terms": ["the"]}', "no word that is indexed"),
    ("find_in_results", '{"reason": "r", "search_id": "s1", "terms": [5]}', "must be a list of strings"),
    ("term_statistics", json.dumps({"reason": "r", "terms": ["x" * 300]}), "at most 200 characters"),
    ("find_in_results", json.dumps({"reason": "r", "search_id": "s1", "terms": ["x"] * 30}), "give 1 to 20"),
    ("term_statistics", '{"reason": "r", "terms": []}', "give 1 to 50"),
    ("read_search_results", '{"reason": "r", "search_id": "s1", "only_new": "yes"}', "only_new must be true or false"),
]


@pytest.fixture(scope="module")
def index(make_index: Callable[..., Path]) -> Index:
    return Index(make_index(pots(12)))


def started(index: Index, settings: ToolSettings) -> Controller:
    controller = Controller(index, settings)
    controller.call("search", '{"reason": "r", "query": "kiln"}')
    return controller


@pytest.mark.parametrize("settings", [PI_SERINI, SIRA], ids=["pi-serini", "sira"])
@pytest.mark.parametrize(("tool", "arguments", "told"), BAD, ids=range(len(BAD)))
def test_faults_are_told(index: Index, settings: ToolSettings, tool: str, arguments: str, told: str) -> None:
    result = started(index, settings).call(tool, arguments)
    assert result.failure is not None
    assert told in result.text
    assert len(result.text) < 1000
    json.dumps(result.details, allow_nan=False).encode()
    result.text.encode()


@pytest.mark.parametrize(("tool", "arguments", "told"), BAD_OF_OURS, ids=range(len(BAD_OF_OURS)))
def test_faults_of_our_tools_are_told(index: Index, tool: str, arguments: str, told: str) -> None:
    result = started(index, SIRA).call(tool, arguments)
    assert result.failure is Failure.INVALID_ARGUMENTS
    assert told in result.text
    assert len(result.text) < 1000


def test_an_unknown_tool_is_answered_with_those_there_are(index: Index) -> None:
    result = Controller(index, PI_SERINI).call("grep\ud800", "{}")
    assert result.failure is Failure.UNKNOWN_TOOL
    assert result.text.endswith("call one of search, read_search_results, read_document.")
    result.text.encode()


def test_pi_serini_lets_other_fields_pass(index: Index) -> None:
    result = Controller(index, PI_SERINI).call("search", '{"reason": "r", "query": "kiln", "k": 5}')
    assert result.failure is None


def test_huge_numbers_are_numbers(index: Index) -> None:
    controller = started(index, SIRA)
    for number in ("1e308", "1" + "0" * 400, "-1e308", "0.1"):
        page = controller.call("read_search_results", f'{{"reason": "r", "search_id": "s1", "limit": {number}}}')
        assert page.failure is None
        read = controller.call("read_document", f'{{"reason": "r", "docid": "doc-1", "limit": {number}}}')
        assert read.failure is None


@pytest.mark.parametrize("settings", [PI_SERINI, SIRA], ids=["pi-serini", "sira"])
def test_random_calls_never_raise(index: Index, settings: ToolSettings) -> None:
    draw = random.Random(7)
    controller = started(index, settings)
    values: list[Any] = [
        "kiln", "s1", "doc-1", "", " ", None, True, 3, -1, 2.5, float("nan"), 10**30, [], ["kiln", "w12x3"],
        ["s1", "s2"], {}, "é\u0000", "+kiln -w1x0", {"clauses": []}, "regex", "k.ln", "\ud800",
    ]  # fmt: skip
    names = [tool.name for tool in controller.tools]
    fields = sorted({field for tool in controller.tools for field in tool.parameters["properties"]})
    for _ in range(600):
        chosen = {field: draw.choice(values) for field in draw.sample(fields, draw.randrange(1, 6))} | {"reason": "r"}
        arguments = json.dumps(chosen)
        if draw.random() < 0.1:
            arguments = arguments[: draw.randrange(len(arguments))] + draw.choice(string.punctuation)
        result = controller.call(draw.choice(names), arguments)
        assert result.text
        result.text.encode()
        json.dumps(result.details)
