"""Clients that vanish in the middle: their work is stopped or left to itself, and its place comes back."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sira.records import Document
from sira.serve.front import Front
from sira.serve.limits import Limits
from sira.serve.service import Service
from sira.serve.settings import ServeSettings
from tests.conftest import MakeIndex
from tests.llm.openai_server import HANG, OpenAIServer
from tests.serve.http.support import DOCUMENTS, Running, is_problem, running, soon

pytestmark = pytest.mark.java

SEARCH = "/v1/indexes/pots/search"
SLOW = {"reason": "", "docid": "slow", "pattern": "(a|aa)+$", "mode": "regex"}
"""It runs for two seconds, and then fails."""
WITH_SLOW = (*DOCUMENTS, Document("slow", "a" * 40 + "b"))


def begin(server: Running, path: str, body: dict[str, Any]) -> socket.socket:
    """Send a request; to close the socket is to leave."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(head.encode() + b"\r\n\r\n" + data)
    return connection


def nothing_is_left(server: Running, abandoned: int) -> None:
    front = server.front
    assert soon(lambda: front.searching.running == front.searching.waiting == 0)
    assert soon(lambda: f"sira_abandoned_total {abandoned}" in server.get("/metrics").text)
    assert server.post(SEARCH, {"query": "kiln"}).status_code == 200
    assert soon(lambda: "sira_requests_in_flight 1" in server.get("/metrics").text)  # the one that asks


def test_a_batch_ends_at_its_next_search(make_index: MakeIndex) -> None:
    with running({"pots": make_index(DOCUMENTS)}, Limits(threads=1, queue=2)) as server:
        searching, go, began = server.front.service._searching, threading.Event(), list[str]()
        real = searching.search

        def search(opened: Any, asked: Any, note: Any = None) -> Any:
            began.append(asked.query)
            assert go.wait(20)
            return real(opened, asked, note)

        searching.search = search  # type: ignore[method-assign]
        batch = {"searches": [{"query": f"kiln {number}"} for number in range(50)]}
        connection = begin(server, f"{SEARCH}/batch", batch)
        assert soon(lambda: began == ["kiln 0"])
        connection.close()
        assert soon(lambda: "sira_abandoned_total 1" in server.get("/metrics").text)
        go.set()
        assert soon(lambda: server.front.searching.running == 0)
        assert began == ["kiln 0"]
        searching.search = real  # type: ignore[method-assign]
        nothing_is_left(server, 1)


def test_calls_of_a_session(make_index: MakeIndex) -> None:
    with running({"pots": make_index(WITH_SLOW)}, Limits(threads=2, queue=4)) as server:
        session = server.post("/v1/sessions", {"index": "pots"}).json()["session"]
        path = f"/v1/sessions/{session}/tools/"
        one = begin(server, path + "find_in_document", {"arguments": SLOW})
        assert soon(lambda: server.front.searching.running == 1)
        other = begin(server, path + "search", {"arguments": {"reason": "", "query": "kiln"}})  # it waits for its turn
        assert soon(lambda: server.front.searching.running == 2)
        one.close()
        other.close()
        nothing_is_left(server, 2)
        told = server.post(path + "search", {"arguments": {"reason": "", "query": "glaze"}}).json()
        assert told["failure"] is None
        assert server.client.delete(f"/v1/sessions/{session}").status_code == 204
        (slot,) = server.front.service.pool._slots.values()
        assert slot.current is not None
        assert slot.current.users == 0


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    pytest.importorskip("openai", reason="wants the package openai")
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = OpenAIServer()
    (tmp_path / "model.toml").write_text(
        f'[model]\nbackend = "openai"\nmodel = "served-model"\nbase_url = "{server.url}"\nmax_retries = 0\n'
    )
    yield server
    server.stop()


def test_sketches_of_the_servers_model(make_index: MakeIndex, tmp_path: Path, model: OpenAIServer) -> None:
    model.answers = {f"<query>\n{text}\n</query>": [HANG] for text in ("one", "two")}
    limits = Limits(threads=1, queue=2, model_threads=1, model_queue=1, shutdown_s=2.0)
    settings = ServeSettings({"pots": make_index(DOCUMENTS)}, llm=str(tmp_path / "model.toml"), limits=limits)
    with running({}, limits, front=Front(Service(settings))) as server:
        sketching = server.front.sketching
        one = begin(server, SEARCH, {"topic": "one", "llm": True})
        assert soon(lambda: len(model.calls) == 1)
        two = begin(server, f"{SEARCH}/batch", {"searches": [{"topic": "two", "llm": True}] * 3})
        assert soon(lambda: sketching.waiting == 1)
        is_problem(server.post(SEARCH, {"topic": "three", "llm": True}), 429, "busy")
        assert server.post(SEARCH, {"query": "kiln"}).status_code == 200  # who wants no model does not wait for one
        one.close()
        two.close()
        assert soon(lambda: sketching.waiting == 0)
        model.stop()
        assert soon(lambda: sketching.running == 0)
        nothing_is_left(server, 2)
        assert len(model.calls) == 1  # what waited was never asked
