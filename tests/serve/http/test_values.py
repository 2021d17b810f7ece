"""What a client is told of a value that does not fit: the place in its request, what is wrong, what to write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import MakeIndex
from tests.serve.http.support import DOCUMENTS, Running, is_problem, running

pytestmark = pytest.mark.java
V1 = "/v1/indexes/pots"
SEARCH = f"{V1}/search"


@pytest.fixture(scope="module")
def server(make_index: MakeIndex) -> Iterator[Running]:
    with running({"pots": make_index(DOCUMENTS)}) as found:
        yield found


@pytest.mark.parametrize(
    ("path", "body", "item", "remedy"),
    [
        (SEARCH, {"query": "a", "k": "3"}, "k", "give a whole number"),
        (SEARCH, {"query": "a", "k": 3.0}, "k", "give a whole number"),
        (SEARCH, {"query": "a", "k": True}, "k", "give a whole number"),
        (SEARCH, {"query": "a", "k": None}, "k", "give a whole number"),
        (SEARCH, {"query": "a", "k": 0}, "k", "give 1 or more"),
        (SEARCH, {"query": "a", "offset": 2**40}, "offset", "give at most 2,147,483,647"),
        (SEARCH, {"query": 1}, "query", "give a string"),
        (SEARCH, {"query": "a", "titles": 1}, "titles", "give true or false"),
        (SEARCH, {"query": "a", "Limit": 3}, "Limit", "write limit, or leave it out"),
        (SEARCH, {"topic": "a", "sketch": {"phrase": []}}, "sketch.phrase", "write phrases, or leave it out"),
        (SEARCH, {"topic": "a", "mode": "all"}, "mode", "give 'compiled', 'auto' or 'several'"),
        (SEARCH, {"topic": "a", "sketch": []}, "sketch", "give an object"),
        (SEARCH, {"topic": "a", "sketch": {"phrases": "x"}}, "sketch.phrases", "give a list"),
        (SEARCH, {"topic": "a", "sketch": {"phrases": [1]}}, "sketch.phrases.0", "give a string or an object"),
        (SEARCH, {"topic": "a", "sketch": {"phrases": ["x", {}]}}, "sketch.phrases.1.text", "give it"),
        (SEARCH, {"topic": "a", "sketch": {"phrases": [{"text": "x", "role": "may"}]}}, "sketch.phrases.0.role",
         "give 'should', 'must' or 'must_not'"),
        (SEARCH, {"topic": "a", "sketch": {"ranges": [{"field": "y", "gte": True}]}}, "sketch.ranges.0.gte",
         "give a whole number or a number or a string"),
        (SEARCH, {"topic": "a", "llm": {"samples": 9}}, "llm.samples", "give at most 5"),
        (SEARCH, {"topic": "a", "llm": 3}, "llm", "give true or false or an object"),
        (SEARCH, {}, "body", "give exactly one of topic, query, program and program_text, not none"),
        (SEARCH, {"query": "a", "llm": True}, "body", "give topic in place of query, or no sketch and no llm"),
        (SEARCH, {"query": "a", "settings": {"k1": -1}}, "k1", None),
        (SEARCH, {"query": "a", "settings": {"max_term": 1}}, "settings.max_term",
         "write max_terms, or leave it out"),
        (SEARCH, {"program_text": "+a AND"}, "program_text", None),
        (SEARCH, {"program": {"clauses": [{"kind": "term", "term": 5}]}}, "program.clauses.0.term", None),
        (SEARCH, {"program": {"clause": []}}, "program.clause", None),
        (f"{SEARCH}/batch", {"searches": [{"query": "a"}, {"query": "a", "K": 1}]}, "searches.1.K",
         "write k, or leave it out"),
        (f"{SEARCH}/batch", {"searches": [None]}, "searches.0", "give an object"),
        (f"{V1}/terms", {"terms": []}, "terms", "give 1 or more"),
        (f"{V1}/terms", {"words": ["a"]}, "terms", "give it"),
        (f"{V1}/find", {"docid": "raku", "pattern": ""}, "pattern", "give 1 characters or more"),
        ("/v1/sessions", {"index": "pots", "settings": {"depth": 0}}, "settings", "give 1 or more"),
        ("/v1/sessions", {"index": "pots", "settings": {"path": "/etc"}}, "settings.path", None),
        ("/v1/sessions/x/tools/search", {"arguments": None}, "arguments", "give an object or a string"),
        ("/pi/search", {"query": "a"}, "limit", "give it"),
    ],
)  # fmt: skip
def test_the_item_and_the_remedy(server: Running, path: str, body: Any, item: str, remedy: str | None) -> None:
    problem = is_problem(server.post(path, body), 422)
    assert problem["item"] == item
    if remedy is not None:
        assert problem["remedy"] == remedy
        assert remedy in problem["detail"]


def test_an_unknown_field_without_a_near_name_lists_the_fields(server: Running) -> None:
    told = is_problem(server.post(f"{V1}/find", {"docid": "a", "pattern": "b", "nothing": 1}), 422)["remedy"]
    assert told == "leave it out; the fields are docid, pattern, mode, before, after, offset, limit"


def test_all_faults_of_a_body_are_told_at_once(server: Running) -> None:
    problem = is_problem(server.post(SEARCH, {"query": 1, "k": "x", "offset": 0}), 422)
    assert [entry["item"] for entry in problem["errors"]] == ["query", "k", "offset"]
    assert problem["detail"] == "query: it is a number: give a string (and 2 more)"


def test_a_body_that_is_missing(server: Running) -> None:
    answer = server.client.post(SEARCH, headers={"content-type": "application/json"})
    assert is_problem(answer, 422)["detail"] == "body: it is missing: send a JSON object"


def test_query_parameters(server: Running) -> None:
    for params, told in (
        ({}, "docid: it is missing: give it"),
        ({"docid": "raku", "limit": "x"}, "limit: it is not a whole number: give a whole number"),
        ({"docid": "raku", "offset": "0"}, "offset: it is too small: give 1 or more"),
    ):
        assert is_problem(server.get(f"{V1}/documents", params=params), 422)["detail"] == told


def test_what_is_wrong_does_not_come_back_at_its_full_length(server: Running) -> None:
    for body, status in (
        ({"query": "a", "k": int("9" * 3000)}, 400),
        ({"query": "a", "x" * 100_000: 1}, 422),
        ({"program": {"clauses": [{"kind": "term", "term": "y" * 100_000, "weight": -1}]}}, 422),
    ):
        assert len(server.post(SEARCH, body).content) < 10_000
        is_problem(server.post(SEARCH, body), status)


def test_a_remedy_tells_to_do_something(server: Running) -> None:
    """What stands behind the last colon may be half of an explanation."""
    assert "remedy" not in is_problem(server.post(SEARCH, {"program": {"clauses": 1}}), 422)
    gone = is_problem(server.get("/v1/sessions/none"), 404)
    assert gone["remedy"] == "open another one"
