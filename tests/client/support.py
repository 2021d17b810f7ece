"""What the tests of the client share: a real `sira serve` as a process, and a server that answers as it is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sira.records import Document

DOCUMENTS = [
    Document("wash", "A coating for kiln shelves.\nIt keeps glaze from sticking to them.", "Kiln wash"),
    Document("raku", "Low fired ware, taken from the kiln while hot.", "Raku"),
    Document(
        "odd/id ü?#%", "Celadon is a pale green glaze\tof iron, and this text has no title. " + "It goes on. " * 30
    ),
    Document("slip", "Liquid clay for casting.", "Slip", ("category:clay_work",)),
    Document("celadon", "A pale green glaze, fired without enough air.", "Celadon"),
    Document("sherds", "\n \nBare sherds of celadon in sawdust."),
]


@dataclass(frozen=True)
class Served:
    """A running server; `process` is the one that was started."""

    url: str
    process: subprocess.Popen[str]
    stderr: Path


@contextmanager
def serving(folder: Path, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> Generator[Served]:
    """`sira serve` on a free port, until the block ends. Its stderr lies in the folder, and its log, unless a file says
    where."""
    stderr = folder / f"serve-{time.monotonic_ns()}.err"
    own = () if "--config" in arguments else ("--port", "0", "--log", str(folder / "access.log"))
    command = [sys.executable, "-m", "sira", "serve", *map(str, arguments), *own]
    with stderr.open("w") as err:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=err, text=True, env={**os.environ, **(environment or {})}
        )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), stderr.read_text()
        wait_until_ready(url)
        yield Served(url, process, stderr)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def wait_until_ready(url: str, seconds: float = 60) -> None:
    from sira.client import Problem, SiraClient

    end = time.monotonic() + seconds
    with SiraClient(url) as client:
        while True:
            try:
                client.ready()
                return
            except Problem:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)


@dataclass(frozen=True)
class Scripted:
    """One answer. `hang_s` passes before it; `cut`: the connection ends in the middle of the body."""

    status: int = 200
    body: Any = field(default_factory=dict[str, Any])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    kind: str = "application/json"
    hang_s: float = 0.0
    cut: bool = False


@dataclass
class Asked:
    """A request as it came; `port` is that of its connection on the side of the client."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    port: int


class ScriptedServer:
    """Gives its answers in turn, the last one again and again."""

    def __init__(self, answers: Sequence[Scripted], port: int = 0) -> None:
        self.asked: list[Asked] = []
        self._answers, self._lock, self._stopped = list(answers), threading.Lock(), threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except ConnectionError:
                    self.close_connection = True

            def do_GET(self) -> None:
                outer._answer(self)

            do_POST = do_DELETE = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        self.port: int = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length)
        with self._lock:
            headers = {name.lower(): value for name, value in handler.headers.items()}
            given, port = json.loads(body) if body else None, handler.client_address[1]
            self.asked.append(Asked(handler.command, handler.path, headers, given, port))
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self._stopped.wait(answer.hang_s)
        data = answer.body.encode() if isinstance(answer.body, str) else json.dumps(answer.body).encode()
        handler.send_response(answer.status)
        handler.send_header("Content-Type", answer.kind)
        handler.send_header("Content-Length", str(len(data)))
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        if answer.cut:
            data, handler.close_connection = data[: len(data) // 2], True
        handler.wfile.write(data)

    def close(self) -> None:
        self._stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextmanager
def scripted(*answers: Scripted, port: int = 0) -> Generator[ScriptedServer]:
    server = ScriptedServer(answers, port)
    try:
        yield server
    finally:
        server.close()


def problem(status: int, kind: str = "busy", **headers: str) -> Scripted:
    body = {
        "type": f"urn:sira:problem:{kind}",
        "title": "A title",
        "status": status,
        "detail": f"field: {kind}: mend it",
    }
    body |= {"item": "field", "remedy": "mend it", "request_id": "r1"}
    return Scripted(
        status, body, {name.replace("_", "-"): value for name, value in headers.items()}, "application/problem+json"
    )


def in_thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Work in a thread; the list gets its result or its error."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found
