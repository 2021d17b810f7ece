"""docs/mcp.md: its settings can be read, its tools are those there are, its example runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

from sira.agent.settings import SIRA
from sira.serve.limits import Limits
from sira.serve.mcp.base import McpSettings
from sira.serve.mcp.desks import described
from sira.serve.mcp.outputs import OUTPUTS
from sira.serve.mcp.resources import MOST_BYTES
from sira.serve.mcp.stdio import MOST_LINE_BYTES
from tests.agent.test_agent_tools_page import example_index
from tests.serve.mcp.support import ROOT

PAGE = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def entries(data: Any) -> list[dict[str, Any]]:
    (servers,) = data.values()
    return [servers["sira"]]


def test_the_settings_of_clients_can_be_read() -> None:
    found = [entry for block in blocks("json") for entry in entries(json.loads(block))]
    found += [entry for block in blocks("toml") for entry in entries(tomllib.loads(block))]
    assert len(found) == 6
    for entry in found:
        assert entry.get("url", "http://127.0.0.1:8321/mcp") == "http://127.0.0.1:8321/mcp"
        assert entry.get("args", ["mcp"])[0] == "mcp"


def test_the_table_names_every_tool_in_order() -> None:
    names = [tool.name for tool in described(SIRA, Limits())]
    table = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert table == names
    assert set(OUTPUTS) == set(names)


def test_the_limits_are_those_of_the_code() -> None:
    limits = Limits()
    for figure in (
        f"{MOST_LINE_BYTES >> 20} MiB on stdin, {limits.body_bytes >> 20} MiB over HTTP",
        f"{McpSettings().call_s:g} s (`--call-seconds`)",
        f"{limits.queue} more wait",
        f"{limits.phrases:,} phrases",
        f"{limits.clauses:,} clauses",
        f"to rank {limits.explain_k}, and {limits.docids} documents",
        f"after {limits.session_s / 60:g} minutes",
        f"at most {limits.sessions};",
        f"more than {MOST_BYTES:,} bytes",
        f"at most {SIRA.max_bytes >> 10} KB",
    ):
        assert figure in PAGE, figure


@pytest.mark.java
def test_the_python_example_runs(tmp_path: Path) -> None:
    path = example_index(tmp_path / "example")
    (code,) = blocks("python")
    command = f'command={sys.executable!r}, args=["-m", "sira", "mcp", {str(path)!r}], cwd={str(ROOT)!r}'
    code, count = re.subn(r'command="sira", args=\["mcp", "runs/pots"\]', lambda _: command, code)
    assert count == 1
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "1. docid=kiln-wash" in done.stdout
    assert "['kiln-wash', 'raku', 'celadon', 'crawling', 'bisque'] None" in done.stdout
