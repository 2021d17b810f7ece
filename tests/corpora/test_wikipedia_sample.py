"""BrowseComp-Wikipedia's experiment end to end on the sample of real pages, with invented questions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sira.corpora.wikipedia.prepare import prepare
from sira.evaluate.config import read_experiment
from sira.evaluate.runner import run_experiment

DATA = os.environ.get("SIRA_TEST_DATA")
CONFIG = Path(__file__).parents[2] / "eval_configs" / "browsecomp-wikipedia.toml"

pytestmark = [
    pytest.mark.data,
    pytest.mark.java,
    pytest.mark.skipif(
        not (DATA and (Path(DATA) / "wikipedia-sample").is_dir()),
        reason="SIRA_TEST_DATA names no folder with wikipedia-sample",
    ),
]

SITE = "https://en.wikipedia.org/wiki/"
QUESTIONS = [
    ("1", "A hero of the war at Troy, and the philosopher who taught a king.", ["Achilles", "Aristotle"]),
    (
        "2",
        "Time kept by many clocks, and a tone poem on a walk abroad.",
        ["International_Atomic_Time", "An_American_in_Paris"],
    ),
]
SKETCHES = [
    {
        "qid": "1",
        "phrases": ["Greek mythology", "Iliad"],
        "facets": ["category:Characters_in_the_Iliad"],
        "searches": [{"phrases": ["logic", "metaphysics"], "facets": ["category:Aristotle"]}],
    },
    {
        "qid": "2",
        "phrases": ["atomic clocks"],
        "facets": ["category:Time_scales"],
        "searches": [{"phrases": ["orchestra"], "facets": ["category:Compositions_by_George_Gershwin"]}],
    },
]


def lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_the_experiment_runs_on_real_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIRA_TEST_DATA", str(tmp_path))
    folder = tmp_path / "browsecomp-wikipedia"
    folder.mkdir()
    [dump] = (Path(DATA or "") / "wikipedia-sample").glob("*.bz2")
    prepare([dump], folder / "wiki")
    lines(folder / "sketches.jsonl", [dict(row) for row in SKETCHES])
    lines(
        folder / "questions.jsonl",
        [
            {
                "query_id": qid,
                "problem": problem,
                "answer": "",
                "wiki_gold_titles": {str(n): name.replace("_", " ") for n, name in enumerate(gold, start=1)},
                "wiki_gold_urls": {str(n): SITE + name for n, name in enumerate(gold, start=1)},
                "wiki_gold_categories": {},
            }
            for qid, problem, gold in QUESTIONS
        ],
    )
    [results] = run_experiment(read_experiment(CONFIG), tmp_path / "out", progress=False)
    rows = {row.cell.system: row for row in results.rows}
    assert list(rows) == ["bm25", "sira", "sira-words", "sira-several", "sira-several-2"]
    # One search is of one half of each question; the second brings the other.
    assert rows["sira-several"].evaluation.mean["Recall@10"] == 1
    assert rows["sira"].evaluation.mean["Recall@1"] == 0.5
    pages = rows["sira-several"].cell.how["pages"]
    assert pages["topics"] == 2
    assert 0 < pages["delivered"] <= min(200, pages["found"])
