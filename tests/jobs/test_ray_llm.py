"""ray.data.llm for real: vLLM's engine on the CPU in Ray's own stage, over a tiny model of random weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "ray.data.llm", reason="ray[data] is not installed: scripts/set-up-llm makes an environment with it"
)
pytest.importorskip("vllm", reason="vLLM is not installed: scripts/set-up-llm makes an environment with it")

from tests.vllm.tiny_model import make_tiny_qwen3

from .recorded_job import ROOT

DOCUMENTS = 40
CONTEXT = 2048


@pytest.mark.slow
def test_rows_are_valid_and_tell_the_truth_of_documents_without_text_too_long_ones_and_records_that_are_none(
    tmp_path: Path,
) -> None:
    make_tiny_qwen3(tmp_path / "model", context=CONTEXT)
    texts = {f"d{number}": f"document {number} of the collection" for number in range(DOCUMENTS)}
    texts |= {"d3": "", "d4": "unusually long, " * 2000}
    lines = [json.dumps({"docid": docid, "text": text}) for docid, text in texts.items()]
    lines.append('{"docid": "no-document", "text": 5}')
    (tmp_path / "corpus.jsonl").write_text("".join(line + "\n" for line in lines))
    (tmp_path / "job.toml").write_text(
        'name = "tiny"\n[corpus]\nsource = "corpus.jsonl"\n'
        "[prompt]\nmax_phrases = 2\nmax_words = 10\nmax_characters = 20\n"
        'document_characters = 40000\n[model]\nbackend = "vllm"\nmodel = "model"\ntemperature = 1.0\n'
        "[model.engine]\nenforce_eager = true\nmax_num_seqs = 16\n[limits]\ncanary = 2\n"
    )
    command = [sys.executable, str(ROOT / "jobs" / "ray_expand.py"), "job.toml", "--out", "store", "--quiet"]
    command += ["--worker-gpus=0", "--stall=150"]
    environment = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"} | {
        "PYTHONPATH": str(ROOT), "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    }  # fmt: skip
    done = subprocess.run(
        command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 3, done.stderr[-3000:]  # the record that is no document
    rows = rows_of(tmp_path / "store")
    assert [row["docid"] for row in rows] == [*texts, "no-document"]
    found = {row["docid"]: row for row in rows}
    assert found["no-document"]["status"] == "error"
    assert found["d3"]["status"] == "empty"
    assert found["d4"]["cut"] is True  # to the context, in tokens
    asked = [row for docid, row in found.items() if docid not in {"d3", "no-document"}]
    statuses = Counter(row["status"] for row in asked)
    assert set(statuses) <= {"ok", "empty", "runaway"}, statuses  # bounded by the schema: none truncated or unparsable
    assert statuses["ok"] >= 1, statuses
    assert all(len(row["phrases"]) <= 2 for row in asked)
    assert all(0 < len(phrase) <= 20 for row in asked for phrase in row["phrases"])
    assert all(row["usage"]["completion_tokens"] > 0 for row in asked)
    limit = json.loads((tmp_path / "store" / "job.json").read_text())["identity"]["limits"]["max_tokens"]
    assert found["d4"]["usage"]["prompt_tokens"] in range(CONTEXT - limit - 10, CONTEXT - limit + 1)
    # The same prompts, seeds and sampling as in process: the same replies.
    command = [sys.executable, "-m", "sira", "expand", "job.toml", "--out", "plain", "--quiet"]
    done = subprocess.run(
        command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 3, done.stderr[-3000:]
    assert [without_cached(row) for row in rows] == [without_cached(row) for row in rows_of(tmp_path / "plain")]


def rows_of(store: Path) -> list[dict[str, Any]]:
    (file,) = store.glob("*.jsonl")
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def without_cached(row: dict[str, Any]) -> dict[str, Any]:
    """The stage does not tell how many tokens of a prompt were cached."""
    usage = {name: count for name, count in row.get("usage", {}).items() if name != "cached_tokens"}
    return row | {"usage": usage}
