"""What a server refuses, each with its status and a problem that names the item."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sira.errors import InputError
from sira.serve.limits import Limits
from tests.conftest import MakeIndex
from tests.serve.http.support import DOCUMENTS, Running, is_problem, raw, running

pytestmark = pytest.mark.java
SEARCH = "/v1/indexes/pots/search"
JSON = {"content-type": "application/json"}
LIMITS = Limits(
    body_bytes=20_000, k=50, explain_k=20, query_characters=200, program_characters=500, clauses=20, phrases=10,
    phrase_characters=60, batch=3, docids=2, terms=5, lines=100, threads=2, sessions=2, body_s=1.0, search_s=5.0,
)  # fmt: skip


@pytest.fixture(scope="module")
def server(make_index: MakeIndex) -> Iterator[Running]:
    with running({"pots": make_index(DOCUMENTS)}, LIMITS) as found:
        yield found


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "body"),
        (b"{", "not JSON"),
        (b'{"query": "a", "query": "b"}', "'query' stands twice"),
        (b'{"query": "a", "k": NaN}', "NaN"),
        (b'{"query": "a", "k": Infinity}', "Infinity"),
        (b'{"query": "a", "settings": {"k1": 1e999}}', "1e999"),
        (b'{"query": "a", "k": ' + b"9" * 5000 + b"}", "a number that is too long"),
        (b'{"query": "\xff\xfe"}', "not UTF-8"),
        (b'{"query": "\\ud800"}', "half a character"),
        (b"[" * 5000 + b"]" * 5000, "nests deeper"),
        (b'{"query": "a", "program": ' + b'{"a":' * 40 + b"1" + b"}" * 41, "nests deeper"),
        (b'{"topic":' * 2000, "n"),
        (b"null", "body"),
        (b'"query"', "body"),
        (b"[1, 2]", "body"),
    ],
)
def test_bodies_that_cannot_be_read(server: Running, body: bytes, fault: str) -> None:
    answer = server.client.post(SEARCH, content=body, headers=JSON)
    problem = is_problem(answer, answer.status_code)
    assert answer.status_code in (400, 422)
    assert fault in problem["detail"]


@pytest.mark.parametrize(
    ("body", "item"),
    [
        ({}, "body"),
        ({"query": "a", "topic": "b"}, "body"),
        ({"query": "a", "sketch": {"phrases": []}}, "body"),
        ({"query": "a" * 201}, "query"),
        ({"topic": "a" * 201}, "topic"),
        ({"program_text": "a " * 300}, "program_text"),
        ({"query": "a", "k": 51}, "k"),
        ({"query": "a", "k": 0}, "k"),
        ({"query": "a", "k": "10"}, "k"),
        ({"query": "a", "k": True}, "k"),
        ({"query": "a", "k": 1.5}, "k"),
        ({"query": "a", "offset": -1}, "offset"),
        ({"query": "a", "offset": 2**40}, "offset"),
        ({"query": "a", "limit": 0}, "limit"),
        ({"query": "a", "mode": "several"}, "body"),
        ({"query": "a", "nothing": 1}, "nothing"),
        ({"query": 1}, "query"),
        ({"topic": "a", "sketch": {"phrases": ["x"] * 11}}, "sketch"),
        ({"topic": "a", "sketch": {"phrases": ["x" * 61]}}, "sketch.phrases"),
        ({"topic": "a", "sketch": {"phrases": [{"text": "x", "weight": -1}]}}, None),
        ({"topic": "a", "llm": True}, "llm"),
        ({"query": "a", "settings": {"b": 2}}, None),
        ({"query": "a", "settings": {"sketch_weight": -1}}, None),
        ({"query": " ".join(f"w{number}" for number in range(40))}, "program"),
        ({"program_text": " ".join(f"w{number}" for number in range(40))}, "program"),
        ({"program": {"clauses": [{"kind": "term", "term": "a", "weight": -1}]}}, None),
        ({"program": {"clauses": [{"kind": "term", "term": "a", "weight": 1e31}]}}, None),
        ({"program": {"clauses": [{"kind": "range", "field": "nowhere", "gte": 1}]}}, None),
        ({"program": {"schema_version": 99}}, None),
        ({"program": {"clauses": "x"}}, None),
        ({"program_text": "+glaze AND kiln"}, None),
        ({"program_text": "@scoring bm25f k1=-1"}, None),
    ],
)
def test_values_that_cannot_be_used(server: Running, body: Any, item: str | None) -> None:
    problem = is_problem(server.post(SEARCH, body), 422)
    if item is not None:
        assert problem["item"] == item
    assert len(problem["detail"]) < 1000


@pytest.mark.parametrize(
    ("path", "body", "item"),
    [
        ("/v1/indexes/pots/search/batch", {"searches": [{"query": "a"}] * 4}, "searches"),
        ("/v1/indexes/pots/search/batch", {"searches": []}, "searches"),
        ("/v1/indexes/pots/search/batch", {"searches": [{"query": "a"}, {"query": "a", "k": 0}]}, "searches.1.k"),
        ("/v1/indexes/pots/explain", {"query": "a", "k": 21}, "k"),
        ("/v1/indexes/pots/explain", {"query": "a", "docids": ["x", "y", "z"]}, "docids"),
        ("/v1/indexes/pots/terms", {"terms": ["a"] * 6}, "terms"),
        ("/v1/indexes/pots/terms", {"terms": ["a" * 300]}, "terms"),
        ("/v1/indexes/pots/terms", {"terms": []}, "terms"),
        ("/v1/indexes/pots/find", {"docid": "raku", "pattern": "(", "mode": "regex"}, "pattern"),
        ("/v1/indexes/pots/find", {"docid": "raku", "pattern": " "}, "pattern"),
        ("/v1/indexes/pots/find", {"docid": "raku", "pattern": "x" * 1001}, "pattern"),
        ("/v1/sessions", {"index": "pots", "settings": {"depth": 51}}, "k"),
        ("/v1/sessions", {"index": "pots", "settings": {"cached_rankings": 10**9, "depth": 5}}, None),
        ("/v1/sessions", {"index": "pots", "profile": "nobody"}, "profile"),
        ("/v1/sessions", {"index": "pots", "settings": {"path": "/etc"}}, "settings.path"),
    ],
)
def test_values_of_other_routes(server: Running, path: str, body: Any, item: str | None) -> None:
    problem = is_problem(server.post(path, body), 422)
    if item is not None:
        assert problem["item"] == item


def test_a_pattern_without_end_costs_no_more_than_its_bound(server: Running) -> None:
    start = time.monotonic()
    body = {"docid": "long", "pattern": r"(\w+\s*)+$X", "mode": "regex"}
    is_problem(server.post("/v1/indexes/pots/find", body), 422)
    assert time.monotonic() - start < 10


def test_pages_of_documents_are_bounded(server: Running) -> None:
    for params in (
        {"limit": "101"},
        {"limit": "0"},
        {"limit": "x"},
        {"offset": "-1"},
        {"offset": "1e999"},
        {"offset": "9" * 5000},
    ):
        is_problem(server.get("/v1/indexes/pots/documents", params={"docid": "raku", **params}), 422)
    assert is_problem(server.get("/v1/indexes/pots/documents"), 422)["item"] == "docid"


@pytest.mark.parametrize("name", ["nope", "..", ".", "%2e%2e", "pots%00", "pots%2f..%2fpots", "%ff", "a" * 5000])
def test_an_index_that_is_not_served(server: Running, name: str) -> None:
    answer = server.post(f"/v1/indexes/{name}/search", {"query": "kiln"})
    problem = is_problem(answer, answer.status_code)
    assert answer.status_code in (404, 405)
    assert len(problem["detail"]) < 300


def _head(length: int, *more: str) -> bytes:
    lines = [f"POST {SEARCH} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *more]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


def test_a_large_body_is_refused_before_it_is_read(server: Running) -> None:
    huge = json.dumps({"query": "x" * 10_000_000}).encode()
    is_problem(server.client.post(SEARCH, content=huge, headers=JSON), 413, "body-too-large")
    assert raw(server.port, _head(10_000_000, "Expect: 100-continue")).startswith(b"HTTP/1.1 413")


def test_a_large_body_in_pieces_is_refused_when_it_is_too_large(server: Running) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"query": "'
        for _ in range(100):
            yield b"x" * 1000
        yield b'"}'

    is_problem(server.client.post(SEARCH, content=pieces(), headers=JSON), 413, "body-too-large")


def test_a_client_that_sends_slowly_is_told_so(server: Running) -> None:
    start = time.monotonic()
    answer = raw(server.port, _head(100) + b'{"query"')
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"urn:sira:problem:slow-body" in answer
    assert time.monotonic() - start < 8


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/json; charset=latin-1"],
)
def test_other_content_types(server: Running, kind: str) -> None:
    answer = server.client.post(SEARCH, content=b'{"query": "kiln"}', headers={"content-type": kind})
    is_problem(answer, 415, "unsupported-media-type")


def test_packed_bodies_are_refused(server: Running) -> None:
    answer = server.client.post(SEARCH, content=b"{}", headers={**JSON, "content-encoding": "gzip"})
    is_problem(answer, 415)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_other_methods(server: Running, method: str) -> None:
    is_problem(server.client.request(method, SEARCH), 405, "method-not-allowed")


def test_head_of_a_route_without_it(server: Running) -> None:
    assert server.client.head(SEARCH).status_code == 405


def test_sessions_are_bounded_and_say_when_one_is_free(make_index: MakeIndex) -> None:
    with running(
        {"pots": make_index(DOCUMENTS)}, Limits(threads=1, sessions=2, session_s=0.6), refresh_s=0.1
    ) as server:
        opened = [server.post("/v1/sessions", {"index": "pots"}).json()["session"] for _ in range(2)]
        busy = server.post("/v1/sessions", {"index": "pots"})
        is_problem(busy, 429, "busy")
        assert int(busy.headers["retry-after"]) >= 1
        time.sleep(0.8)  # they expire
        is_problem(server.get(f"/v1/sessions/{opened[0]}"), 404, "no-such-session")
        assert server.post("/v1/sessions", {"index": "pots"}).status_code == 201


def test_a_connection_that_says_nothing_holds_up_nobody(server: Running) -> None:
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
    try:
        assert server.post(SEARCH, {"query": "kiln"}).status_code == 200
    finally:
        for connection in silent:
            connection.close()


def test_limits_that_are_none() -> None:
    with pytest.raises(InputError, match="limits: k = 0"):
        Limits(k=0)
    with pytest.raises(InputError, match="search_s"):
        Limits(search_s=float("nan"))
