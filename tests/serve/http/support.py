"""A real server for tests: uvicorn in a thread on a free port, over a real index."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI

from sira.records import Document
from sira.serve.front import Front
from sira.serve.http.app import create_app
from sira.serve.http.listening import bound
from sira.serve.http.running import config_of
from sira.serve.limits import Limits
from sira.serve.service import Service
from sira.serve.settings import HttpSettings, ServeSettings

LONG = "".join(f"Line {number} tells of clay, größer als zuvor, 釉薬 und Brand.\n" for number in range(1, 3001))
DOCUMENTS = (
    Document("kiln-wash", "A coating for kiln shelves. Mix equal parts of alumina and kaolin.", "Kiln wash"),
    Document(
        "raku", "The ware is taken from the kiln while it glows.\nThe glaze crackles in sawdust.\n", "Raku firing"
    ),
    Document("celadon", "A pale green glaze coloured by a little iron.", "Celadon", facets=("category:glazes",)),
    Document("../../etc/passwd", "A glaze with the docid of a path.", "Path"),
    Document("a b/c?d=e&f#g%20ü", "A glaze with an odd docid.", "Odd"),
    Document("long", LONG, "Long"),
)
NO_LOG = Path("/dev/null")


class Running:
    """A server, and a client of it."""

    def __init__(self, url: str, app: FastAPI, server: uvicorn.Server, client: httpx2.Client) -> None:
        self.url, self.app, self.server, self.client = url, app, server, client
        self.port = int(url.rpartition(":")[2])

    @property
    def front(self) -> Front:
        return self.app.state.front

    def post(self, path: str, body: Any, **more: Any) -> httpx2.Response:
        return self.client.post(path, json=body, **more)

    def get(self, path: str, **more: Any) -> httpx2.Response:
        return self.client.get(path, **more)

    def stop(self) -> None:
        self.server.should_exit = True


@contextlib.contextmanager
def running(
    indexes: Mapping[str, Path],
    limits: Limits | None = None,
    http: HttpSettings | None = None,
    *,
    front: Front | None = None,
    **serving: Any,
) -> Generator[Running]:
    limits = limits or Limits(threads=2)
    front = front or Front(Service(ServeSettings(indexes, limits=limits, **serving)))
    app = create_app(front, http or HttpSettings(log=NO_LOG))
    server = uvicorn.Server(config_of(app, HttpSettings(), front.service.settings))
    with closing(bound(HttpSettings(port=0))) as listening:
        listening.listen()
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        assert soon(lambda: server.started)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with httpx2.Client(base_url=url, timeout=30, trust_env=False) as client:
            yield Running(url, app, server, client)
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def soon(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether it becomes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return False


def is_problem(answer: httpx2.Response, status: int, kind: str | None = None) -> dict[str, Any]:
    """The problem that an answer is; asserts that it is a whole one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert {"type", "title", "status", "detail", "request_id"} <= problem.keys()
    assert problem["status"] == status
    assert problem["request_id"] == answer.headers["x-request-id"]
    if kind is not None:
        assert problem["type"] == f"urn:sira:problem:{kind}"
    return problem


def raw(port: int, data: bytes, *, seconds: float = 10.0) -> bytes:
    """What the server answers to these bytes, until it closes or is silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(data)
        parts: list[bytes] = []
        with contextlib.suppress(TimeoutError):
            while part := connection.recv(65536):
                parts.append(part)
        return b"".join(parts)
