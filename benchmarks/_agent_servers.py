"""OpenAI-compatible servers for agents: one that plays a researcher by a fixed rule, one that never comes to an end."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Manner = Literal["hang", "drip"]

_DOCID = re.compile(r"docid=(\S+)")
_WORD = re.compile(r"[A-Za-z]{4,}")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that has gone


class _Endpoint:
    """Lists one model, and leaves the answers to `post`."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16

            def do_GET(self) -> None:
                self.answer({"data": [{"id": "played"}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.post(self, body)

            def answer(self, body: object) -> None:
                data = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def post(self, handler: Any, body: dict[str, Any]) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        self._stopped.set()
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class SlowServer(_Endpoint):
    """`hang`: not even the headers of a response come; `drip`: a response without end, a blank every 50 ms."""

    def __init__(self, manner: Manner) -> None:
        self._manner = manner
        super().__init__()

    def post(self, handler: Any, body: dict[str, Any]) -> None:  # noqa: ARG002
        handler.close_connection = True
        if self._manner == "hang":
            self._stopped.wait(120)
            return
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while not self._stopped.wait(0.05):
            handler.wfile.write(b"1\r\n \r\n")
            handler.wfile.flush()


class PlayedServer(_Endpoint):
    """Searches, pages, reads, and answers with citations, as the question's hash and the turn decide.

    The same conversation has the same reply. `delay_s` goes by before each; `asked` counts them.
    """

    def __init__(self, delay_s: float = 0.0) -> None:
        self._delay_s, self.asked = delay_s, 0
        super().__init__()

    def post(self, handler: Any, body: dict[str, Any]) -> None:
        self.asked += 1
        time.sleep(self._delay_s)
        handler.answer(played(body["messages"]))


def played(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The chat completion that follows a conversation."""
    question = next(turn["content"] for turn in messages if turn["role"] == "user")
    outputs = [turn["content"] for turn in messages if turn["role"] == "tool"]
    dice = hashlib.sha256(question.encode()).digest()
    words = _WORD.findall(question) or ["nothing"]
    docids = [docid for output in outputs for docid in _DOCID.findall(output)]
    docid = docids[dice[1] % len(docids)] if docids else "absent"
    text, calls = "", list[tuple[str, dict[str, Any]]]()
    match len(outputs):
        case 0:
            calls = [("search", {"reason": "begin", "query": " ".join(words[:3])})]
        case 1 if dice[0] % 3 == 0:
            text = "Further down."
            calls = [("read_search_results", {"reason": "more", "search_id": "s1"})]
        case 1 | 2 if dice[0] % 4 == 0:
            other = {"reason": "other words", "query": words[-1]}
            calls = [("read_document", {"reason": "open", "docid": docid, "limit": 20}), ("search", other)]
        case 1 | 2:
            calls = [("read_document", {"reason": "open", "docid": docid, "limit": 20})]
        case _:
            text = f"Explanation: it says so [{docid}].\nExact Answer: {words[-1]}\nConfidence: {dice[2] % 101}%"
    tokens = sum(len(str(turn)) for turn in messages) // 4
    listed = [
        {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": listed} if listed else {})}
    return {
        "model": "played",
        "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 20},
    }
