"""docs/serving.md: its requests are sent to a real server, and each answer stands in the block below.

    python -m tests.serve.http.test_serving_page

writes the answers anew. Times, ids and fingerprints are not compared.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sira.lucene.writer import build_index
from sira.serve.limits import Limits
from tests.agent.calls import stored
from tests.conftest import records
from tests.serve.http.support import Running, running

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "serving.md"
BLOCKS = re.compile(r"```http\n(\w+) (\S+)\n(.*?)```\n\n```json\n(.*?)```\n", re.DOTALL)
VARYING = re.compile(r'("(?:took_ms|request_id|session|search)": )("[^"]*"|[\d.]+)')


def example_index(path: Path) -> Path:
    build_index(records(stored(ROOT / "docs" / "example" / "corpus.jsonl")), path, progress=False)
    return path


def answers(text: str, server: Running) -> Iterator[str]:
    session = server.post("/v1/sessions", {"index": "pots"}).json()["session"]
    for method, path, body, _ in BLOCKS.findall(text):
        sent: dict[str, Any] = {"json": json.loads(body)} if body.strip() else {}
        answer = server.client.request(method, path.replace("{session}", session), **sent)
        yield VARYING.sub(_masked, pretty(answer.json()))


def pretty(answer: dict[str, Any]) -> str:
    """A line for each member, and for each element of a list of objects."""
    lines: list[str] = []
    for name, value in answer.items():
        told = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            told = "[\n" + ",\n".join(f"  {json.dumps(item, ensure_ascii=False)}" for item in value) + "\n ]"
        lines.append(f" {json.dumps(name)}: {told}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _masked(match: re.Match[str]) -> str:
    return f"{match[1]}{json.dumps('…') if match[2].startswith(chr(34)) else '1.0'}"


@pytest.mark.java
def test_the_page_shows_real_answers(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = [answer for _, _, _, answer in BLOCKS.findall(text)]
    assert len(shown) >= 6
    with running({"pots": example_index(tmp_path / "index")}) as server:
        assert list(answers(text, server)) == shown


def test_the_page_names_every_limit_with_its_default() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    told: dict[str, str] = {}
    for row in rows:
        names, values = re.findall(r"`(\w+)`", row[1]), [value.strip() for value in row[2].split(",")]
        if len(names) == len(values):
            told |= dict(zip(names, values, strict=True))
    limits = Limits()
    for item in fields(Limits):
        assert told.get(item.name) == str(getattr(limits, item.name)), item.name


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, running({"pots": example_index(Path(folder) / "index")}) as server:
        found = answers(text, server)
        new = BLOCKS.sub(
            lambda match: f"```http\n{match[1]} {match[2]}\n{match[3]}```\n\n```json\n{next(found)}```\n", text
        )
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
