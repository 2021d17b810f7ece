"""A busy server: back-pressure, clients that leave or are slow, a new build under load, and leaving under load."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sira.lucene.writer import build_index
from sira.records import Document
from sira.serve.limits import Limits
from sira.serve.requests import SearchRequest
from tests.conftest import MakeIndex, records
from tests.serve.http.support import DOCUMENTS, Running, is_problem, running, soon

pytestmark = pytest.mark.java
SEARCH = "/v1/indexes/pots/search"


@contextmanager
def held(server: Running) -> Iterator[threading.Event]:
    """Searches wait for the event; the first of them is counted in `began`."""
    service = server.front.service
    go, real = threading.Event(), service.search

    def search(index: str, asked: SearchRequest, note: Any = None) -> dict[str, Any]:
        began.append(str(asked.query))
        assert go.wait(20)
        return real(index, asked, note)

    began: list[str] = []
    go.began = began  # type: ignore[attr-defined]
    service.search = search  # type: ignore[method-assign]
    try:
        yield go
    finally:
        go.set()
        service.search = real  # type: ignore[method-assign]


def in_threads(server: Running, bodies: list[dict[str, Any]]) -> list[Any]:
    pool = ThreadPoolExecutor(len(bodies))
    return [pool.submit(httpx2.post, server.url + SEARCH, json=body, timeout=30) for body in bodies]


def post_and_leave(port: int, body: dict[str, Any]) -> socket.socket:
    data = json.dumps(body).encode()
    lines = (f"POST {SEARCH} HTTP/1.1", "Host: localhost", "Content-Type: application/json")
    head = "\r\n".join([*lines, f"Content-Length: {len(data)}", "", ""])
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(head.encode() + data)
    return connection


def test_beyond_the_queue_the_answer_is_429_at_once(make_index: MakeIndex) -> None:
    limits = Limits(threads=1, queue=2)
    with running({"pots": make_index(DOCUMENTS)}, limits) as server, held(server) as go:
        waiting = in_threads(server, [{"query": f"kiln {number}"} for number in range(3)])
        assert soon(lambda: server.front.searching.running == 1 and server.front.searching.waiting == 2)
        start = time.monotonic()
        refused = server.post(SEARCH, {"query": "one more"})
        assert time.monotonic() - start < 10
        is_problem(refused, 429, "busy")
        assert int(refused.headers["retry-after"]) >= 1
        assert server.get("/health").status_code == 200
        assert "sira_searches_waiting 2" in server.get("/metrics").text
        go.set()
        assert [future.result().status_code for future in waiting] == [200, 200, 200]
        assert 'sira_rejected_total{queue="search"} 1' in server.get("/metrics").text


def test_a_search_beyond_its_time_is_given_up_and_frees_its_place(make_index: MakeIndex) -> None:
    limits = Limits(threads=1, queue=4, search_s=0.3)
    with running({"pots": make_index(DOCUMENTS)}, limits) as server, held(server) as go:
        is_problem(server.post(SEARCH, {"query": "kiln"}), 504, "timed-out")
        is_problem(server.post(SEARCH, {"query": "waits for the first"}), 504, "timed-out")
        assert server.front.searching.running == 1
        assert server.front.searching.waiting == 0
        go.set()
        assert soon(lambda: server.front.searching.running == 0)
        assert server.post(SEARCH, {"query": "kiln"}).status_code == 200
        assert go.began == ["kiln", "kiln"]  # type: ignore[attr-defined] - what waited was never begun


def test_a_client_that_leaves_takes_its_search_with_it(make_index: MakeIndex) -> None:
    limits = Limits(threads=1, queue=8)
    with running({"pots": make_index(DOCUMENTS)}, limits) as server, held(server) as go:
        first = post_and_leave(server.port, {"query": "the first"})
        assert soon(lambda: server.front.searching.running == 1)
        others = [post_and_leave(server.port, {"query": f"never {number}"}) for number in range(5)]
        assert soon(lambda: server.front.searching.waiting == 5)
        for connection in others:
            connection.close()
        assert soon(lambda: server.front.searching.waiting == 0)
        first.close()
        assert soon(lambda: "sira_abandoned_total 6" in server.get("/metrics").text)
        assert server.front.searching.running == 1  # Lucene goes on
        go.set()
        assert soon(lambda: server.front.searching.running == 0)
        assert go.began == ["the first"]  # type: ignore[attr-defined]
        assert server.post(SEARCH, {"query": "kiln"}).status_code == 200


def test_fifty_clients_that_leave_cost_nothing_that_stays(make_index: MakeIndex) -> None:
    with running({"pots": make_index(DOCUMENTS)}, Limits(threads=2, queue=8)) as server:
        assert server.post(SEARCH, {"query": "kiln"}).status_code == 200
        threads, files = threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))
        for number in range(50):
            post_and_leave(server.port, {"query": f"kiln {number}"}).close()
        assert soon(lambda: server.front.searching.running == 0, 5)
        assert soon(lambda: len(list(Path("/proc/self/fd").iterdir())) <= files + 1, 5)
        assert threading.active_count() <= threads
        (opened,) = {id(slot.current): slot.current for slot in server.front.service.pool._slots.values()}.values()
        assert soon(lambda: opened is not None and opened.users == 0, 5)


def test_a_client_that_reads_slowly_holds_no_thread(make_index: MakeIndex) -> None:
    text = "".join(f"{number} slow words of no end\n" for number in range(60_000))
    limits = Limits(threads=1, queue=8, page_bytes=8 << 20, lines=100_000, write_s=0.5, shutdown_s=1.0)
    with running({"pots": make_index((Document("large", text),))}, limits) as server:
        slow: list[socket.socket] = []
        for _ in range(5):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(
                b"GET /v1/indexes/pots/documents?docid=large&limit=100000 HTTP/1.1\r\nHost: localhost\r\n\r\n"
            )
            slow.append(connection)
        assert server.post(SEARCH, {"query": "slow"}).status_code == 200
        assert soon(lambda: server.app.state.metrics.in_flight == 0, 10)  # given up after write_s
        for connection in slow:
            connection.close()


def test_a_new_build_takes_over_without_a_wrong_answer(tmp_path: Path) -> None:
    folder = tmp_path / "pots"
    builds = [
        [Document(f"{name}{number}", f"glaze {name} {'word ' * number}") for number in range(5)] for name in "abcdef"
    ]
    build_index(records(builds[0]), folder, progress=False)
    stop, wrong, answered = threading.Event(), list[str](), list[str]()

    with running({"pots": folder}, Limits(threads=2), refresh_s=0.05) as server:

        def ask() -> None:
            with httpx2.Client(base_url=server.url, trust_env=False, timeout=20) as client:
                while not stop.is_set():
                    answer = client.post(SEARCH, json={"query": "glaze", "titles": True})
                    names = {hit["docid"][0] for hit in answer.json().get("hits", [])}
                    if answer.status_code != 200 or len(names) != 1 or answer.json()["total"] != 5:
                        wrong.append(answer.text)
                    answered.append("".join(names))

        session = server.post("/v1/sessions", {"index": "pots"}).json()["session"]
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert soon(lambda: "a" in answered)
        for generation, documents in enumerate(builds[1:], start=2):
            build_index(records(documents), folder, progress=False, overwrite=True)
            assert soon(lambda generation=generation: generation_of(server) == generation)
            assert soon(lambda documents=documents: answered[-1] == documents[0].docid[0])
        # a session stays on the build that it began on
        told = server.post(f"/v1/sessions/{session}/tools/search", {"arguments": {"reason": "", "query": "glaze"}})
        assert {docid[0] for docid in told.json()["details"]["retrievedDocids"]} == {"a"}
        stop.set()
        for thread in threads:
            thread.join()
        assert server.client.delete(f"/v1/sessions/{session}").status_code == 204
    assert not wrong
    assert set(answered) >= {"a", "f"}


def generation_of(server: Running) -> int:
    return server.get("/v1/indexes").json()["indexes"][0]["generation"]


def test_a_build_that_cannot_be_used_leaves_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "pots"
    build_index(records(DOCUMENTS), folder, progress=False)
    with running({"pots": folder}, refresh_s=0.05) as server:
        before = server.post(SEARCH, {"query": "kiln"}).json()["hits"]
        (folder / "manifest.json").write_text("{")
        assert soon(lambda: server.get("/v1/indexes").json()["indexes"][0]["fault"] is not None)
        told = server.get("/v1/indexes").json()["indexes"][0]["fault"]
        assert str(tmp_path) not in told
        assert 'sira_index_fault{index="pots"} 1' in server.get("/metrics").text
        assert server.post(SEARCH, {"query": "kiln"}).json()["hits"] == before
        folder.rename(tmp_path / "gone")
        assert server.post(SEARCH, {"query": "kiln"}).json()["hits"] == before


def test_an_index_that_is_not_there_is_a_fault_until_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "pots"
    with running({"pots": folder}) as server:
        problem = is_problem(server.post(SEARCH, {"query": "kiln"}), 503, "index-unavailable")
        assert str(tmp_path) not in json.dumps(problem)
        build_index(records(DOCUMENTS), folder, progress=False)
        assert server.post(SEARCH, {"query": "kiln"}).status_code == 200


def test_leaving_under_load_finishes_what_runs(make_index: MakeIndex) -> None:
    limits = Limits(threads=2, queue=8, shutdown_s=10)
    with running({"pots": make_index(DOCUMENTS)}, limits) as server, held(server) as go:
        futures = in_threads(server, [{"query": f"kiln {number}"} for number in range(4)])
        assert soon(lambda: server.front.searching.running == 2 and server.front.searching.waiting == 2)
        server.stop()
        assert soon(lambda: not accepts(server.port))
        go.set()
        assert [future.result().status_code for future in futures] == [200] * 4


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def test_leaving_does_not_wait_for_ever(make_index: MakeIndex) -> None:
    limits = Limits(threads=1, queue=2, shutdown_s=1.0)
    start = 0.0
    released: Callable[[], None] = lambda: None  # noqa: E731
    with running({"pots": make_index(DOCUMENTS)}, limits) as server:
        holding = held(server)
        go = holding.__enter__()
        released = go.set
        connection = post_and_leave(server.port, {"query": "kiln"})
        assert soon(lambda: server.front.searching.running == 1)
        start = time.monotonic()
        server.stop()
        assert soon(lambda: not server.app.state.ready, 10)
    assert time.monotonic() - start < 10
    connection.close()
    released()
