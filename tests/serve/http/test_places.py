"""More requests than a server can read: who comes beyond its places is refused before anything is done for them."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from sira.serve.http.places import Places
from sira.serve.limits import Limits
from tests.conftest import MakeIndex
from tests.serve.http.support import DOCUMENTS, Running, is_problem, running, soon

pytestmark = pytest.mark.java
SEARCH = "/v1/indexes/pots/search"
LIMITS = Limits(threads=1, queue=2, model_threads=1, model_queue=0)
PLACES = 4


def places_of(server: Running) -> Places:
    """The server's own, which its guard holds."""
    guard = next(item for item in server.app.user_middleware if "places" in item.kwargs)
    return guard.kwargs["places"]  # pyright: ignore[reportReturnType]


@contextmanager
def half_sent(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Connections whose body lacks its end."""
    body = json.dumps({"query": "kiln"})
    head = f"POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connections = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(count)]
    for connection in connections:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body[:-1]}".encode())
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


def test_who_has_not_sent_its_request_takes_no_place(make_index: MakeIndex) -> None:
    with running({"pots": make_index(DOCUMENTS)}, LIMITS) as server, half_sent(server.port, 3 * PLACES) as slow:
        assert soon(lambda: f"sira_requests_in_flight {3 * PLACES + 1}" in server.get("/metrics").text)
        assert server.post(SEARCH, {"query": "kiln"}).status_code == 200
        slow[0].sendall(b"}")
        assert b" 200 OK" in slow[0].recv(65536)
    assert places_of(server).taken == 0


def test_beyond_the_places_the_answer_is_429_whatever_the_body(make_index: MakeIndex) -> None:
    with running({"pots": make_index(DOCUMENTS)}, LIMITS) as server:
        places = places_of(server)
        places.taken = PLACES
        for path in (SEARCH, "/v1/sessions", "/pi/search"):
            refused = server.client.post(path, content=b"{not even JSON")
            assert "all 1 threads work" in is_problem(refused, 429, "busy")["detail"]
            assert int(refused.headers["retry-after"]) >= 1
        for path in ("/health", "/ready", "/version", "/v1/indexes", "/"):
            assert server.get(path).status_code == 200
        assert 'sira_rejected_total{queue="search"} 3' in server.get("/metrics").text
        places.taken = 0
        assert server.client.post(SEARCH, content=b"{not even JSON").status_code == 415
        assert server.post(SEARCH, {"query": "kiln"}).status_code == 200
        assert places.taken == 0


def test_of_a_crowd_each_gets_its_answer_or_429(make_index: MakeIndex) -> None:
    async def crowd(url: str) -> Counter[int]:
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(base_url=url, timeout=60, trust_env=False, limits=limits) as client:
            asked = [client.post(SEARCH, json={"query": f"kiln {number}"}) for number in range(200)]
            return Counter(answer.status_code for answer in await asyncio.gather(*asked))

    with running({"pots": make_index(DOCUMENTS)}, LIMITS) as server:
        found = asyncio.run(crowd(server.url))
        assert found.keys() <= {200, 429}
        assert found.total() == 200
        assert found[200] >= LIMITS.threads + LIMITS.queue
        assert places_of(server).taken == 0
        assert server.post(SEARCH, {"query": "kiln"}).status_code == 200
