"""Lines and messages on stdin, and pages of lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

import mcp_types as types
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage

from sira.serve.mcp.paging import line_page
from sira.serve.mcp.stdio import LineReader, parsed, written

ROOT = Path(__file__).resolve().parents[3]


@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_do_not_depend_on_how_the_bytes_come(lines: list[bytes], data: st.DataObject) -> None:
    stream, most = b"\n".join(lines), 8
    reader, found, place = LineReader(most), list[bytes | None](), 0
    while place < len(stream):
        step = data.draw(st.integers(1, 5))
        found += reader.feed(stream[place : place + step])
        place += step
    found += reader.end()
    expected = [None if len(line) > most else line.strip() for line in lines]
    assert found == [line for line in expected if line is None or line]


def test_an_endless_line_costs_no_memory() -> None:
    reader = LineReader(100)
    for _ in range(1_000):
        assert list(reader.feed(b"x" * 100)) == []
        assert sum(map(len, reader._parts)) <= 100  # pyright: ignore[reportPrivateUsage]
    assert list(reader.feed(b"\nnext\n")) == [None, b"next"]


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        (None, types.PARSE_ERROR, None),
        (b"{", types.PARSE_ERROR, None),
        (b"\xff", types.PARSE_ERROR, None),
        (b"[" * 100_000, types.PARSE_ERROR, None),
        (b"[]", types.INVALID_REQUEST, None),
        (b'{"id": 5}', types.INVALID_REQUEST, 5),
        (b'{"id": true}', types.INVALID_REQUEST, None),
        (b'{"jsonrpc": "1.0", "id": "a", "method": "ping"}', types.INVALID_REQUEST, "a"),
    ],
)
def test_what_is_no_message_is_answered_as_such(line: bytes | None, code: int, number: int | str | None) -> None:
    answer = parsed(line)
    assert isinstance(answer, types.JSONRPCError)
    assert (answer.error.code, answer.id) == (code, number)
    assert json.loads(answer.model_dump_json(by_alias=True, exclude_unset=True))["id"] == number


def test_a_message_is_one() -> None:
    assert isinstance(parsed(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'), SessionMessage)


def test_an_answer_that_is_no_text_is_a_fault_in_its_place() -> None:
    good = types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": "ä"})
    assert json.loads(written(SessionMessage(good)))["result"] == {"text": "ä"}
    half = types.JSONRPCResponse(jsonrpc="2.0", id=2, result={"text": "\ud800"})
    answer = json.loads(written(SessionMessage(half)))
    assert (answer["id"], answer["error"]["code"]) == (2, types.INTERNAL_ERROR)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=30), st.integers(1, 10), st.integers(1, 60))
def test_pages_of_lines_join(lines: list[str], limit: int, most: int) -> None:
    offset: int | None = 1
    parts: list[str] = []
    while offset is not None:
        page = line_page(lines, offset, limit, most)
        assert page.first == offset
        assert page.last - page.first < limit
        assert page.total == len(lines)
        assert page.last == page.first or len(page.text.encode()) <= most
        parts.append(page.text)
        offset = page.next_offset
    assert "\n".join(parts) == "\n".join(lines)
    assert line_page(lines, len(lines) + 1, limit, most) == ("", 0, 0, len(lines), None)


_CLAIMS = """
import os, sys
from sira.serve.mcp.wire import claim
wire = claim()
os.write(1, b"astray")
print("astray")
assert os.read(0, 10) == b""
os.write(wire.sink, b"protocol:" + os.read(wire.source, 10))
"""


@pytest.mark.parametrize("closed", ["", "2>&-"])
def test_what_is_written_to_descriptor_1_never_comes_to_the_client(closed: str) -> None:
    shell = f'exec "$0" -c "$1" {closed}'
    done = subprocess.run(
        ["sh", "-c", shell, sys.executable, _CLAIMS], cwd=ROOT, input=b"input", capture_output=True, check=True
    )
    assert done.stdout == b"protocol:input"
    assert done.stderr == (b"" if closed else b"astrayastray\n")
