"""A real server on loopback that speaks Pi-Serini's http-json contract, or breaks it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, bytes]


class JsonServer:
    """`answers` maps a path to what is answered to the decoded body of a request; `asked` holds all bodies."""

    def __init__(self, answers: dict[str, Callable[[Any], Answer]]) -> None:
        asked: list[tuple[str, Any]] = []
        self.asked = asked

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked.append((self.path, body))
                status, data = answers[self.path](body)
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # the client went away

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def told(data: Any, status: int = 200) -> Callable[[Any], Answer]:
    """The same JSON to every request."""
    return lambda _: (status, json.dumps(data).encode())


@contextmanager
def serving(answers: dict[str, Callable[[Any], Answer]]) -> Generator[JsonServer]:
    server = JsonServer(answers)
    server.start()
    try:
        yield server
    finally:
        server.stop()
