"""docs/agent-tools.md: its Python blocks run in order, and what each prints stands in the block below it.

    python -m tests.agent.test_agent_tools_page

writes the blocks anew from real calls.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sira.agent.settings import SIRA
from sira.lucene.writer import build_index
from tests.agent.calls import stored
from tests.conftest import records

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "agent-tools.md"
BLOCKS = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```\n", re.DOTALL)


def printed(text: str, path: Path) -> list[str]:
    """What the Python blocks of a page print."""
    names: dict[str, Any] = {"path": path}
    found: list[str] = []
    for code, _ in BLOCKS.findall(text):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(PAGE), "exec"), names)
        found.append(re.sub(r"[ \t]+$", "", out.getvalue(), flags=re.MULTILINE))
    names["index"].close()
    return found


def example_index(path: Path) -> Path:
    build_index(records(stored(ROOT / "docs" / "example" / "corpus.jsonl")), path, progress=False)
    return path


@pytest.mark.java
def test_the_page_shows_what_real_calls_print(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = [output for _, output in BLOCKS.findall(text)]
    assert len(shown) >= 7
    assert printed(text, example_index(tmp_path / "index")) == shown


def test_the_page_names_every_setting() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
    assert {item.name for item in fields(SIRA)} - {"scoring"} <= named


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        outputs = iter(printed(text, example_index(Path(folder) / "index")))
    new = BLOCKS.sub(lambda match: f"```python\n{match[1]}```\n\n```text\n{next(outputs)}```\n", text)
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
