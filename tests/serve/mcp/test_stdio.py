"""`sira mcp` as a child: the official client, garbage on stdin, noise on stdout, its end."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

from mcp import Client

from sira.agent.controller import Controller
from sira.lucene.reader import Index
from tests.conftest import MakeIndex
from tests.serve.mcp.support import ARGUMENTS, DOCUMENTS, ROOT, Child, command, parameters, reasoned, record, said, soon

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def path(make_index: MakeIndex) -> Path:
    return make_index(DOCUMENTS)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_runs_every_tool_and_gets_the_librarys_answers(path: Path, mode: str) -> None:
    async def run() -> tuple[set[str], dict[str, Any]]:
        async with Client(parameters(f"pots={path}"), mode=mode) as client:
            listed = await client.list_tools()
            answers: dict[str, Any] = {}
            for name, fields in ARGUMENTS.items():
                answers[name] = await client.call_tool(name, reasoned(**fields))
                if name == "search":
                    await client.call_tool("search", reasoned(query="sawdust"))
            manifest = await client.read_resource("sira://pots/manifest")
            answers["manifest"] = manifest.contents[0]
            odd = await client.read_resource("sira://pots/documents/odd%2Fid%20%C3%BC%3F%23%25")
            answers["odd"] = odd.contents[0]
            return {tool.name for tool in listed.tools}, answers

    names, answers = asyncio.run(run())
    assert names == set(ARGUMENTS)
    with Index(path) as index, Controller(index) as controller:
        for name, fields in ARGUMENTS.items():
            result = answers[name]
            assert not result.is_error, result
            if name in ("compile_sketch", "explain"):
                continue
            expected = controller.call(name, json.dumps(reasoned(**fields)))
            assert said(result) == expected.text
            assert record(result).get("text", expected.text) == expected.text
            if name == "search":
                controller.call("search", json.dumps(reasoned(query="sawdust")))
    assert "kiln shelf" in said(answers["compile_sketch"])
    assert record(answers["explain"])["missed"][-1] == {
        "docid": "nowhere",
        "found": False,
        "rank": None,
        "score": 0.0,
    }
    assert json.loads(answers["manifest"].text)["documents"] == len(DOCUMENTS)
    assert answers["odd"].text == "Glaze of an odd name."


def test_initialize_is_answered_without_java(path: Path, tmp_path: Path) -> None:
    with Child(command(str(path)), tmp_path) as child:
        child.greet()
        child.send({"id": 1, "method": "tools/list"})
        assert len(child.answer(1)["result"]["tools"]) == len(ARGUMENTS)
        assert "libjvm" not in Path(f"/proc/{child.process.pid}/maps").read_text()
        child.call(2, "search", query="glaze")
        assert not child.answer(2)["result"]["isError"]
        assert "libjvm" in Path(f"/proc/{child.process.pid}/maps").read_text()
        assert child.leave() == 0
        assert not child.faults


_GARBAGE = [
    b"",
    b"   ",
    b"{",
    b"not json",
    b"[]",
    b"[1, 2]",
    b"null",
    b'"text"',
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "1.0", "id": 77, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
    b'{"jsonrpc": "2.0", "method": 5}',
    b"\xff\xfe\x00\x01",
    b'{"a":' * 5_000,
    b"[" * 200_000,
    b"x" * 9_000_000,
    b'{"jsonrpc": "2.0", "id": 78, "method": "tools/call", "params": {"name": "search", "arguments": [1]}}',
    b'{"jsonrpc": "2.0", "id": 79, "method": "no/such/method", "params": {}}',
    b'{"jsonrpc": "2.0", "id": 80, "method": "tools/call", "params": "x"}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}}',
    b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}',
    b'{"jsonrpc": "2.0", "method": "notifications/nothing"}',
    b'{"jsonrpc": "2.0", "id": 99, "result": {}}',
]


def test_garbage_neither_ends_nor_poisons_the_server(path: Path, tmp_path: Path) -> None:
    with Child(command(str(path)), tmp_path) as child:
        child.send({"method": "notifications/initialized"}, {"method": "notifications/cancelled"})
        child.send(*_GARBAGE)
        child.greet()
        child.send(*_GARBAGE)
        child.call(1, "search", query="glaze")
        assert "Showing ranks" in child.answer(1)["result"]["content"][0]["text"]
        child.send({"id": 2, "method": "tools/call", "params": {"name": "nothing", "arguments": {}}})
        assert child.answer(2)["error"]["code"] == -32602
        assert child.answer(79)["error"]["code"] == -32601
        assert child.answer(78)["error"]["code"] == -32602
        assert child.answer(77)["error"]["code"] == -32600
        codes = [item["error"]["code"] for item in child.messages if item.get("id", 0) is None]
        assert codes.count(-32700) >= 8
        assert "bytes" in "".join(item["error"]["message"] for item in child.messages if item.get("id", 0) is None)
        child.call(3, "search", query="   ")
        failed = child.answer(3)["result"]
        assert failed["isError"]
        assert "non-empty" in failed["content"][0]["text"]
        assert "structuredContent" not in failed
        assert failed["_meta"]["sira/failure"]["fieldPath"] == "query"
        assert child.leave() == 0
        assert not child.faults


_NOISY = """
import ctypes, logging, os, subprocess, sys
from sira.serve.mcp import desks
libc = ctypes.CDLL(None)
calm = desks.ServiceBox.call
def noisy(self, name, arguments, tell):
    from jnius import autoclass
    print("noise: print")
    print("noise: half a line", end="")
    sys.__stdout__.write("noise: stdout\\n")
    os.write(1, b"noise: descriptor\\n")
    libc.printf(b"noise: printf\\n")
    libc.puts(b"noise: puts")
    libc.fflush(None)
    libc.printf(b"noise: never flushed")
    autoclass("java.lang.System").out.println("noise: java")
    subprocess.run(["echo", "noise: child"], check=True)
    assert subprocess.run(["cat"], capture_output=True, check=True).stdout == b""
    assert sys.stdin.read() == ""
    logging.getLogger("sira").debug("noise: log")
    from tqdm import tqdm
    list(tqdm(range(3), desc="noise: bar"))
    return calm(self, name, arguments, tell)
desks.ServiceBox.call = noisy
from sira.cli.main import main
sys.exit(main(["--debug", "mcp", sys.argv[1]]))
"""


def test_stdout_carries_the_protocol_alone(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xlog:gc*=info:stdout")
    (tmp_path / "noisy.py").write_text(_NOISY)
    with Child([sys.executable, str(tmp_path / "noisy.py"), str(path)], tmp_path) as child:
        child.greet()
        for number, query in enumerate(["glaze", "kiln", "sawdust"], start=1):
            child.call(number, "search", query=query)
        for number in (1, 2, 3):
            result = child.answer(number)["result"]
            assert not result["isError"], result
        assert child.leave() == 0
        assert not child.faults
        assert all(item["jsonrpc"] == "2.0" for item in child.messages)
    errors = child.errors.read_text()
    for kind in ("print", "stdout", "descriptor", "printf", "puts", "java", "child", "log", "bar"):
        assert f"noise: {kind}" in errors, kind
    assert "[gc,init]" in errors


def _children(number: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{number}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def test_a_long_call_is_cancelled_and_the_next_one_is_answered(path: Path, tmp_path: Path) -> None:
    with Child(command(str(path)), tmp_path) as child:
        child.greet()
        child.call(1, "search", query="glaze")
        child.answer(1)
        child.call(2, "find_in_document", docid="raku", pattern="(([a-z ]+)+)+$~", mode="regex")
        assert soon(lambda: bool(_children(child.process.pid)))
        child.send({"method": "notifications/cancelled", "params": {"requestId": 2, "reason": "it takes too long"}})
        child.call(3, "read_search_results", search_id="s1")
        assert not child.answer(3)["result"]["isError"]
        assert all("result" not in item for item in child.messages if item.get("id") == 2)
        assert child.leave() == 0
        assert not child.faults
    assert "Traceback" not in child.errors.read_text()


@pytest.mark.parametrize("how", ["stdin", "SIGTERM", "SIGINT"])
def test_it_ends_in_the_middle_of_a_call_and_leaves_no_child(path: Path, tmp_path: Path, how: str) -> None:
    with Child(command(str(path)), tmp_path) as child:
        child.greet()
        child.call(1, "search", query="glaze")
        child.answer(1)
        child.call(2, "find_in_document", docid="raku", pattern="(([a-z ]+)+)+$~", mode="regex")
        assert soon(lambda: bool(_children(child.process.pid)))
        (runs,) = _children(child.process.pid)
        start = time.monotonic()
        if how == "stdin":
            assert child.leave() == 0
        else:
            child.process.send_signal(getattr(signal, how))
            assert child.wait() == {"SIGTERM": 0, "SIGINT": 130}[how]
        assert time.monotonic() - start < 8
        assert soon(lambda: not Path(f"/proc/{runs}").exists())
        assert not child.faults


def test_it_ends_where_nobody_reads_any_more(path: Path) -> None:
    started = subprocess.Popen(command(str(path)), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with started as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}\n')
        process.stdin.flush()
        assert b"-32601" in process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 2, "method": "no/such"}\n')
        process.stdin.flush()
        assert process.wait(10) == 0


@pytest.mark.parametrize(("name", "told"), [("nowhere", "there is no such folder"), ("empty", "holds no index")])
def test_a_missing_index_is_one_line_at_the_start(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "empty").mkdir()
    done = subprocess.run(command(str(tmp_path / name)), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert told in line
    assert "sira index" in line


def test_an_index_that_goes_away_is_a_clear_failure_of_the_call(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "segments_1").write_bytes(b"no index")
    with Child(command(str(broken)), tmp_path) as child:
        child.greet()
        child.call(1, "search", query="glaze")
        result = child.answer(1)["result"]
        assert result["isError"]
        assert "search failed: index broken: Lucene cannot open it" in result["content"][0]["text"]
        child.send({"id": 2, "method": "ping"})
        assert child.answer(2)["result"] == {}
        assert child.leave() == 0


def test_text_only_leaves_out_records_and_schemas(path: Path, tmp_path: Path) -> None:
    with Child(command(str(path), "--text-only"), tmp_path) as child:
        child.greet()
        child.send({"id": 1, "method": "tools/list"})
        assert not any("outputSchema" in tool for tool in child.answer(1)["result"]["tools"])
        child.call(2, "search", query="glaze")
        assert "structuredContent" not in child.answer(2)["result"]
        assert child.leave() == 0
