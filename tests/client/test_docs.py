"""The Python of docs/client.md runs as printed, one block after the other, against a server of docs/example."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sira.cli.main import main
from tests.client.support import serving

pytestmark = pytest.mark.java

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "http://127.0.0.1:8321"


def test_the_python_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 4
    index, example = str(tmp_path / "index"), ROOT / "docs" / "example"
    assert main(["index", str(example), "--index", index, "--expansions", str(example / "phrases.jsonl")]) == 0
    capsys.readouterr()
    printed: list[str] = []
    with serving(tmp_path, f"pottery={index}") as server:
        names: dict[str, Any] = {}
        for block in blocks:
            exec(compile(block.replace(ADDRESS, server.url), "docs/client.md", "exec"), names)
            printed.append(capsys.readouterr().out)
    assert all(printed)
    assert "kiln-wash" in printed[0]
    assert "invalid-program" in printed[-1]
