"""Bounds on what one clause and many connections cost, and framing that a proxy could have read differently."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from sira.records import Document
from sira.serve.limits import Limits
from tests.conftest import MakeIndex
from tests.serve.http.support import DOCUMENTS, Running, is_problem, raw, running, soon

pytestmark = pytest.mark.java
SEARCH = "/v1/indexes/pots/search"
BODY = b'{"query": "glaze"}'


@pytest.fixture(scope="module")
def server(make_index: MakeIndex) -> Iterator[Running]:
    with running({"pots": make_index(DOCUMENTS)}) as found:
        yield found


def test_the_words_of_one_clause_are_bounded(server: Running) -> None:
    """Lucene's work on a phrase grows with the square of its words, and cannot be stopped."""
    for kind in ("phrase", "any_of"):
        clauses = [{"kind": kind, "terms": ["glaze"] * 501}]
        problem = is_problem(server.post(SEARCH, {"program": {"clauses": clauses}}), 422)
        assert "a clause has 501 words: this server runs 500" in problem["detail"]
        clauses[0]["terms"] = ["glaze"] * 500
        assert server.post(SEARCH, {"program": {"clauses": clauses}}).status_code == 200
    text = '"' + "glaze " * 600 + '"'
    is_problem(server.post(SEARCH, {"program_text": text}), 422)
    session = server.post("/v1/sessions", {"index": "pots"}).json()["session"]
    for program in (text, {"clauses": [{"kind": "phrase", "terms": ["glaze"] * 600}]}):
        arguments = json.dumps({"reason": "", "program": program})
        told = server.post(f"/v1/sessions/{session}/tools/search", {"arguments": arguments}).json()
        assert told["failure"] == "invalid_tool_arguments"
        assert "a clause has 600 words: give at most 500" in told["text"]


def test_two_lengths_of_one_body_are_refused_and_end_the_connection(server: Running) -> None:
    """What follows may be a second request, which a proxy took for a part of the first."""
    head = f"POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
    framing = b"Content-Length: 90\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
    told = raw(server.port, head + framing + b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 400")
    assert told.count(b"HTTP/1.1") == 1


def test_beyond_the_bound_a_connection_is_closed_as_it_comes(
    make_index: MakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sira.serve.http.running.MOST_CONNECTIONS", 3)
    health = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with running({"pots": make_index(DOCUMENTS)}) as server:
        held = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(2)]
        for connection in held:
            connection.sendall(health)
            assert b" 200 " in connection.recv(65536)
        assert server.get("/health").status_code == 200  # the third, which the client keeps
        with contextlib.suppress(ConnectionError):
            assert raw(server.port, health) == b""
        held[0].sendall(health)
        assert b" 200 " in held[0].recv(65536)
        for connection in held:
            connection.close()
        assert soon(lambda: b" 200 " in _asked(server.port, health))


def _asked(port: int, data: bytes) -> bytes:
    try:
        return raw(port, data, seconds=1)
    except ConnectionError:
        return b""


def test_a_session_searches_no_further_than_the_server(make_index: MakeIndex) -> None:
    limits = Limits(threads=1, clauses=20, clause_words=10, query_characters=50)
    with running({"pots": make_index(DOCUMENTS)}, limits) as server:
        session = server.post("/v1/sessions", {"index": "pots", "settings": {"clauses": 1000}}).json()["session"]
        clauses = [{"kind": "term", "term": f"t{number}"} for number in range(21)]
        for asked, told in (
            ({"program": " ".join(item["term"] for item in clauses)}, "it has 21 clauses: give at most 20"),
            ({"program": {"clauses": clauses}}, "it has 21 clauses: give at most 20"),
            ({"program": '"' + "glaze " * 11 + '"'}, "a clause has 11 words: give at most 10"),
            ({"query": "x" * 51}, "query has 51 characters: give at most 50"),
        ):
            answer = server.post(f"/v1/sessions/{session}/tools/search", {"arguments": {"reason": "", **asked}}).json()
            assert answer["failure"] == "invalid_tool_arguments"
            assert told in answer["text"]


def test_a_client_that_never_reads_loses_its_connection(make_index: MakeIndex) -> None:
    limits = Limits(threads=1, page_bytes=16 << 20, lines=200_000, write_s=0.5, body_s=0.5)
    large = Document("large", "slow words of no end, for a client that does not read\n" * 150_000)
    head = b"GET /v1/indexes/pots/documents?docid=large&limit=200000 HTTP/1.1\r\nHost: localhost\r\n"
    with running({"pots": make_index((large,))}, limits) as server:
        assert server.get("/health").status_code == 200
        deaf = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        deaf.sendall(head + b"Connection: close\r\n\r\n")
        connections = server.server.server_state.connections
        assert soon(lambda: server.app.state.metrics.in_flight == 1)
        assert soon(lambda: len(connections) == 1), "the client that reads has the other"
        deaf.close()


@pytest.mark.parametrize(
    ("clause", "place", "told"),
    [
        ({"kind": "phrase", "terms": ["a", "b"], "slop": 1}, "slop", "there is no such field: leave it out"),
        ({"kind": "phrase"}, "terms", "it is missing: give it"),
        ({"kind": "wildcard", "term": "a*"}, "kind", "choose term, phrase, any_of, facet, range"),
        ({"kind": ["term"]}, "kind", "choose term, phrase, any_of, facet, range"),
        ({"kind": "facet"}, "facet", "it is missing: give it"),
    ],
)
def test_the_fault_of_a_clause_is_told_by_its_kind(
    server: Running, clause: dict[str, Any], place: str, told: str
) -> None:
    clauses = [{"kind": "term", "term": "a"}, clause]
    problem = is_problem(server.post(SEARCH, {"program": {"clauses": clauses}}), 422)
    assert problem["item"] == f"program.clauses.1.{place}"
    assert problem["detail"].endswith(told)


def test_the_messages_of_tools_are_told_without_their_names(server: Running) -> None:
    find = server.post("/v1/indexes/pots/find", {"docid": "raku", "pattern": "(", "mode": "regex"})
    terms = server.post("/v1/indexes/pots/terms", {"terms": ["a" * 300]})
    for answer, item in ((find, "pattern"), (terms, "terms")):
        problem = is_problem(answer, 422)
        assert problem["item"] == item
        assert "arguments" not in problem["detail"]
