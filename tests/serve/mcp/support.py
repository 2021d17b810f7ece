"""What the tests of the MCP server share: small indexes, desks that wait, a server over HTTP, lines of a child."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import uvicorn
from mcp import StdioServerParameters
from starlette.applications import Starlette

from sira.agent.base import ToolResult
from sira.agent.settings import SIRA
from sira.errors import NotFoundError
from sira.llm.base import Tool
from sira.records import Document
from sira.serve.limits import Limits
from sira.serve.mcp.base import Box, McpSettings, Tell
from sira.serve.mcp.desks import described
from sira.serve.mcp.http import McpApp
from sira.serve.mcp.server import Adapter

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = [
    Document("raku", "The ware is taken from the kiln while it glows.\nIt is laid into sawdust.", "Raku firing"),
    Document("wash", "A coating for kiln shelves, so that dripping glaze does not bond to the shelf.", "Kiln wash"),
    Document("crawling", "The glaze draws back into islands and leaves bare patches.", "Crawling"),
    Document("odd/id ü?#%", "Glaze of an odd name.", "Odd"),
    Document("sherds", "Bare sherds in sawdust."),
]
ARGUMENTS: Mapping[str, dict[str, Any]] = {
    "search": {"query": "glaze kiln"},
    "read_search_results": {"search_id": "s1", "offset": 2, "limit": 2},
    "fuse_searches": {"search_ids": ["s1", "s2"]},
    "read_document": {"docid": "raku", "limit": 1},
    "find_in_document": {"docid": "raku", "pattern": "kiln"},
    "find_in_results": {"search_id": "s1", "terms": ["shelf"]},
    "term_statistics": {"terms": ["glaze", "kiln shelf", "of", "porcelain"]},
    "compile_sketch": {"topic": "raku glaze", "sketch": {"phrases": ["kiln shelf", "porcelain"]}},
    "explain": {"topic": "glaze", "sketch": {"phrases": ["sawdust"]}, "docids": ["raku", "nowhere"], "limit": 2},
}
"""A call of every tool; `s1` and `s2` are the first two searches."""


def reasoned(**fields: Any) -> dict[str, Any]:
    return {"reason": "a test", **fields}


class SlowBox:
    """Answers with its query; `sleep N` in it takes N seconds, `fail` raises."""

    def __init__(self, desk: SlowDesk) -> None:
        self._desk = desk

    def call(self, name: str, arguments: str, tell: Tell) -> ToolResult:
        query = str(json.loads(arguments).get("query"))
        self._desk.began.append(query)
        if query.startswith("sleep "):
            tell("sleeping")
            time.sleep(float(query.split()[1]))
        if query == "fail":
            raise ValueError("a fault of the program at /secret/place")
        self._desk.done.append(query)
        return ToolResult(f"{name}: {query}", {})

    def close(self) -> None:
        self._desk.closed += 1


class SlowDesk:
    """A desk without an index."""

    name = "slow"

    def __init__(self) -> None:
        self.began: list[str] = []
        self.done: list[str] = []
        self.closed = 0

    @property
    def tools(self) -> tuple[Tool, ...]:
        return described(SIRA, Limits())

    def open(self, tell: Tell) -> Box:
        return SlowBox(self)

    def manifest(self) -> Mapping[str, Any]:
        return {}

    def document(self, docid: str) -> Document:
        raise NotFoundError(f"docid {docid!r} is not here")


def slow_app(desk: SlowDesk, limits: Limits) -> McpApp:
    settings = McpSettings(limits=limits, structured=False)
    return McpApp(Adapter({"slow": desk}, settings), settings)


@contextlib.contextmanager
def served(app: McpApp) -> Generator[str]:
    """The address of a real server on loopback, with nothing beside it."""
    ready = threading.Event()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with app.run():
            ready.set()
            yield

    alone = Starlette(routes=app.routes(), lifespan=lifespan)
    config = uvicorn.Config(alone, log_level="critical", lifespan="on")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        assert ready.wait(20)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = server.force_exit = True
            thread.join(20)
            assert not thread.is_alive()


def said(result: Any) -> str:
    """The text of a result."""
    (block,) = result.content
    return block.text


def record(result: Any) -> dict[str, Any]:
    """What stands beside the text: of a document's, in `_meta`."""
    return result.structured_content or result.meta["sira/page"]


def soon(true: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether it becomes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return true()


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "sira", "mcp", *arguments]


def parameters(*arguments: str) -> StdioServerParameters:
    """For the SDK's client, which gives a child few variables of the environment."""
    program, *rest = command(*arguments)
    return StdioServerParameters(command=program, args=rest, cwd=str(ROOT), env=dict(os.environ))


class Child:
    """A server as a child, spoken to in lines."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self.errors = folder / "stderr.txt"
        with self.errors.open("wb") as stream:
            self.process = subprocess.Popen(
                arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stream
            )
        self.messages: list[dict[str, Any]] = []
        """What came on stdout; every line of it must be JSON."""
        self.faults: list[bytes] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            try:
                self.messages.append(json.loads(line))
            except ValueError:
                self.faults.append(line)

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        assert self.process.stdin
        for message in messages:
            data = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def greet(self) -> None:
        """The handshake."""
        client = {"name": "test", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        self.send({"id": "hello", "method": "initialize", "params": hello}, {"method": "notifications/initialized"})
        assert self.answer("hello")["result"]["serverInfo"]["name"] == "sira"

    def call(self, number: int, tool: str, **fields: Any) -> None:
        self.send({"id": number, "method": "tools/call", "params": {"name": tool, "arguments": reasoned(**fields)}})

    def answer(self, number: int | str | None, seconds: float = 30.0) -> dict[str, Any]:
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = [item for item in self.messages if "method" not in item and item.get("id") == number]
            return bool(found)

        assert soon(there, seconds), (number, self.messages, self.errors.read_text(errors="replace")[-2000:])
        return found[0]

    def leave(self, seconds: float = 10.0) -> int:
        """Close stdin; the exit status."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.wait(seconds)

    def wait(self, seconds: float = 10.0) -> int:
        status = self.process.wait(seconds)
        self._thread.join(5)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        return status

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.wait()
