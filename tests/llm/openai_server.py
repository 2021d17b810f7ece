"""A small OpenAI-compatible server that answers as it is told, for tests with the real client over real sockets."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One HTTP response; `hangs`: none before the server stops, `drops`: the connection is closed instead."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    drops: bool = False


HANG, DROP = Answer(None, hangs=True), Answer(None, drops=True)


def completion(text: str | None, finish: str = "stop", usage: Any = None, **message: Any) -> dict[str, Any]:
    """The body of a chat completion with one choice."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "served-model",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": usage,
    }


def refusal(status: int, message: str, **fields: Any) -> Answer:
    """An error as OpenAI's service words it."""
    return Answer({"error": {"message": message, **fields}}, status)


class OpenAIServer:
    """Answers each call by the text of its last message: the listed answers in turn, the last of them ever after.

    A text that is not listed is answered by itself. `calls` are the bodies in the order in which they came.
    """

    def __init__(self) -> None:
        self.models: Answer = Answer({"object": "list", "data": [{"id": "served-model", "max_model_len": 4096}]})
        self.answers: dict[str, list[Answer]] = {}
        self.calls: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.together: threading.Barrier | None = None
        self.most_open = 0
        self._open = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            server_version, sys_version = "test-server", ""
            wbufsize = 1 << 16  # one packet a response: none waits for an acknowledgement

            def do_GET(self) -> None:
                found = self.path == "/v1/models"
                outer._send(self, outer.models if found else Answer({"error": {"message": "Not Found"}}, 404))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer._send(self, outer._answer(body, self.headers["Authorization"]))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 256  # a busy machine accepts late, and a connection that is dropped is a failed call

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that has gone

        self._http = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def stop(self) -> None:
        """Refuse connections from now on. Twice does no harm."""
        if not self._stopped.is_set():
            self._stopped.set()
            self._http.shutdown()
            self._thread.join()
            self._http.server_close()

    def _answer(self, body: dict[str, Any], key: str) -> Answer:
        text = body["messages"][-1]["content"]
        with self._lock:
            self.calls.append(body)
            self.keys.add(key)
            self._open += 1
            self.most_open = max(self.most_open, self._open)
            listed = self.answers.get(text, [Answer(completion(text))])
            answer = listed.pop(0) if len(listed) > 1 else listed[0]
        if self.together is not None:
            self.together.wait(10)
        with self._lock:
            self._open -= 1
        return answer

    def _send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        if answer.hangs:
            self._stopped.wait(60)
        if answer.drops or answer.hangs or self._stopped.is_set():
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return
        data = answer.body.encode() if isinstance(answer.body, str) else json.dumps(answer.body).encode()
        handler.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
