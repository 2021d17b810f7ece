"""Clients that leave, send no HTTP, or ask for what the machine cannot give: the answer, the log and the counters."""

from __future__ import annotations

import json
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sira.serve.settings import HttpSettings
from tests.conftest import MakeIndex
from tests.serve.http.support import DOCUMENTS, Running, is_problem, raw, running, soon

pytestmark = pytest.mark.java
SEARCH = "/v1/indexes/pots/search"
BODY = b'{"query": "glaze"}'
HEAD = f"POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


@pytest.fixture(scope="module")
def server(make_index: MakeIndex) -> Iterator[Running]:
    with running({"pots": make_index(DOCUMENTS)}) as found:
        yield found


def reset(port: int, data: bytes) -> None:
    """Send the data, and break the connection off."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(data)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_a_client_that_leaves_within_its_body_is_no_bad_request(make_index: MakeIndex, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with running({"pots": make_index(DOCUMENTS)}, http=HttpSettings(log=log)) as server:
        server.post(SEARCH, {"query": "glaze"})
        for sent in (b"", BODY[:5], BODY[:-1]):
            for _ in range(5):
                reset(server.port, HEAD + LENGTH + b"\r\n" + sent)
        assert soon(lambda: log.read_text().count("\n") == 16)
        assert _abandoned(server) == 15
    statuses = [json.loads(line)["status"] for line in log.read_text().splitlines()]
    assert sorted(status for status in statuses if status != 200) == [499] * 15


def _abandoned(server: Running) -> int:
    text = server.get("/metrics").text
    return int(float(text.partition("\nsira_abandoned_total ")[2].split("\n")[0]))


def test_what_the_machine_cannot_give_is_no_fault_of_the_request(
    make_index: MakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A regular expression runs in a process of its own, which here cannot be begun."""
    with running({"pots": make_index(DOCUMENTS)}) as server:
        find = {"docid": "raku", "pattern": "gl.*", "mode": "regex"}
        with monkeypatch.context() as changed:
            changed.setattr(sys, "executable", "/secret/folder/python")
            answer = server.post("/v1/indexes/pots/find", find)
            problem = is_problem(answer, 503, "unavailable")
            assert "secret" not in answer.text
            assert problem["remedy"] == "ask again later"
        assert server.post("/v1/indexes/pots/find", find).json()["total"] == 2


@pytest.mark.parametrize(
    "framing",
    [
        LENGTH + b"Content-Length: 5\r\n",
        b"Content-Length: +18\r\n",
        b"Content-Length: 0x12\r\n",
        b"Content-Length: -1\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding: chunked, chunked\r\n",
        b"Transfer-Encoding: identity\r\n" + LENGTH,
        b"Transfer-Encoding : chunked\r\n",
        LENGTH + b"X-A: a\0b\r\n",
        LENGTH + b"Host: evil.example\r\n",
    ],
)
def test_framing_that_two_servers_could_read_differently(server: Running, framing: bytes) -> None:
    told = raw(server.port, HEAD + framing + b"\r\n" + BODY)
    assert told.startswith(b"HTTP/1.1 400")
    assert b"hits" not in told


def test_hostile_paths_and_methods_make_no_labels(make_index: MakeIndex, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with running({"pots": make_index(DOCUMENTS)}, http=HttpSettings(log=log, log_texts=True)) as server:
        for number in range(30):
            raw(server.port, b"M%d /x%d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % (number, number))
            for path in (f"/v1/indexes/i{number}", f"/v1/sessions/s{number}", f"/static/f{number}", f"/y{number}"):
                server.get(path)
        server.get("/v1/indexes/pots/documents", params={"docid": "\x1b[31m\n{}\u202e"})
        labels = {line.partition("{")[2].rpartition("}")[0] for line in _counters(server)}
        assert len(labels) == 6, labels
        assert soon(lambda: log.read_text().count("\n") > 150)
    text = log.read_text()
    assert all(" " <= letter <= "~" or letter == "\n" for letter in text)
    assert all(json.loads(line)["status"] for line in text.splitlines())


def _counters(server: Running) -> list[str]:
    return [line for line in server.get("/metrics").text.splitlines() if line.startswith("sira_requests_total")]


def test_a_search_of_a_batch_that_asks_for_a_model_has_its_own_fault(server: Running) -> None:
    searches = [{"query": "kiln"}, {"topic": "kiln", "llm": True}, {"query": "glaze"}]
    first, second, third = server.post(f"{SEARCH}/batch", {"searches": searches}).json()["results"]
    assert first["hits"] == server.post(SEARCH, searches[0]).json()["hits"]
    assert second["problem"]["item"] == "llm"
    assert third["hits"] == server.post(SEARCH, searches[2]).json()["hits"]
    many = is_problem(server.post(f"{SEARCH}/batch", {"searches": [{"query": "a"}] * 3000}), 422)
    assert many["detail"].startswith("searches: 3,000")


def test_open_routes_say_so_in_the_openapi_document(make_index: MakeIndex) -> None:
    token = "one-token-of-the-tests"
    with running({"pots": make_index(DOCUMENTS)}, http=HttpSettings(token=token, log=Path("/dev/null"))) as server:
        document = server.get("/openapi.json", headers={"authorization": f"Bearer {token}"}).json()
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if method == "get" and "{" not in path:
                    asks = operation.get("security", document["security"]) != []
                    assert (server.get(path).status_code == 401) == asks, path


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (SEARCH, b'{"topic": "a", "sketch": {"phrases": [' + b"1," * 400_000 + b"1]}}"),
        (SEARCH, b'{"topic": "a", "sketch": {"phrases": [' + b"{}," * 300_000 + b"{}]}}"),
        (f"{SEARCH}/batch", b'{"searches": [' + b"{}," * 300_000 + b"{}]}"),
        ("/v1/indexes/pots/terms", b'{"terms": [' + b"1," * 400_000 + b"1]}"),
        ("/v1/indexes/pots/explain", b'{"query": "a", "docids": [' + b"1," * 400_000 + b"1]}"),
        (SEARCH, b"{" + b",".join(b'"k%d": 1' % number for number in range(70_000)) + b"}"),
    ],
    ids=["phrases", "objects", "batch", "terms", "docids", "keys"],
)
def test_of_many_faults_the_first_is_enough(server: Running, path: str, body: bytes) -> None:
    """To list them all would hold up every other client for seconds."""
    answer = server.client.post(path, content=body, headers={"content-type": "application/json"})
    problem = is_problem(answer, answer.status_code)
    assert answer.status_code in (400, 422)
    assert len(problem.get("errors", ())) <= 1
    assert " more)" not in problem["detail"]
