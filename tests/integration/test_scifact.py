"""The whole path on SciFact: published BM25 figures, what the method reaches at its defaults, and two controls."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sira.evaluate.config import read_experiment
from sira.evaluate.runner import run_experiment
from sira.expand.config import read_expand_config
from sira.expand.job import run_shard

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("SIRA_TEST_DATA", "")) / "scifact"

pytestmark = [
    pytest.mark.java,
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(
        not (DATA / "corpus.jsonl").is_file(), reason="SIRA_TEST_DATA does not name a folder that holds scifact"
    ),
]


def values(config: str, out: Path) -> dict[tuple[str, str], float]:
    experiment = read_experiment(ROOT / "eval_configs" / config, {"scifact": f"beir:{DATA}"})
    run_experiment(experiment, out, progress=False)
    entries = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert {entry["topics"] for entry in entries} == {300}
    return {(entry["system"], entry["metric"]): entry["value"] for entry in entries}


@pytest.fixture(scope="module")
def scifact(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], float]:
    return values("scifact.toml", tmp_path_factory.mktemp("scifact"))


def test_plain_bm25_is_the_published_one(scifact: dict[tuple[str, str], float]) -> None:
    """Pyserini's regression for BEIR SciFact, flat index: nDCG@10 .6789, R@100 .9253."""
    assert scifact["bm25", "nDCG@10"] == pytest.approx(0.6789, abs=0.0005)
    assert scifact["bm25", "Recall@100"] == pytest.approx(0.9253, abs=0.0005)


def test_recorded_phrases_and_sketches_at_the_defaults(scifact: dict[tuple[str, str], float]) -> None:
    assert scifact["both", "nDCG@10"] >= 0.80
    assert scifact["both", "Recall@10"] >= 0.925
    assert scifact["both", "Recall@100"] >= 0.98
    assert scifact["bm25", "nDCG@10"] < scifact["documents", "nDCG@10"] < scifact["both", "nDCG@10"]
    assert scifact["bm25", "nDCG@10"] < scifact["query", "nDCG@10"] < scifact["both", "nDCG@10"]


def test_the_recorded_replies_through_the_job_give_the_same_figures(
    scifact: dict[tuple[str, str], float], tmp_path: Path
) -> None:
    """Expand, index, search: from the raw store, every value of the systems with expansions."""
    store = tmp_path / "phrases"
    config = read_expand_config(ROOT / "eval_configs" / "expand" / "scifact.toml", f"beir:{DATA}")
    assert run_shard(config, store, progress=False).tally.statuses == {"ok": 5183}
    text = (ROOT / "eval_configs" / "scifact.toml").read_text(encoding="utf-8")
    assert 'expansions = "recorded/scifact/document-phrases.jsonl.gz"' in text
    experiment = read_experiment(
        ROOT / "eval_configs" / "scifact.toml", {"scifact": f"beir:{DATA}"}, {"scifact": str(store)}
    )
    kept = tuple(system for system in experiment.systems if system.name in ("bm25", "documents", "both"))
    run_experiment(experiment.model_copy(update={"systems": kept}), tmp_path / "run", progress=False)
    entries = json.loads((tmp_path / "run" / "results.json").read_text(encoding="utf-8"))
    found = {
        (entry["system"], entry["metric"]): entry["value"]
        for entry in entries
        if entry["metric"] in ("nDCG@10", "Recall@10", "Recall@100", "Recall@1000")
    }
    assert len(found) == 12
    assert found == {key: scifact[key] for key in found}


@pytest.mark.parametrize("control", ["control-documents-shuffled", "control-sketches-shuffled"])
@pytest.mark.parametrize("metric", ["nDCG@10", "Recall@10", "Recall@100"])
def test_shuffled_replies_do_not_beat_bm25(scifact: dict[tuple[str, str], float], control: str, metric: str) -> None:
    assert scifact[control, metric] <= scifact["bm25", metric]


def test_keywords_of_another_model(tmp_path: Path) -> None:
    found = values("scifact-keywords.toml", tmp_path)
    assert found["both-gpt-4.1", "nDCG@10"] >= 0.75
    assert found["both-gpt-4.1", "Recall@10"] >= 0.88
    assert found["bm25", "nDCG@10"] < found["both-qwen-7b", "nDCG@10"] < found["both-gpt-4.1", "nDCG@10"]
