"""`sira tune` on a real index: the files, resuming, and the splits and systems that are refused."""

from __future__ import annotations

import fcntl
import json
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Sira

pytestmark = pytest.mark.java

CONFIG = """
name = "pots"
baseline = "bm25"
depth = 10
measures = ["nDCG@10"]

[[collections]]
name = "pots"
source = "beir:."
SPLIT
expansions = "phrases.jsonl"
[collections.sketches]
mine = "sketches.jsonl"

[[systems]]
name = "bm25"
kind = "bm25"

[[systems]]
name = "both"
kind = "sira"
documents = "expanded"
sketches = "mine"
"""


@pytest.fixture
def dev(pottery: Path) -> Path:
    """The corpus with a split dev in place of its split test."""
    (pottery / "qrels" / "test.tsv").rename(pottery / "qrels" / "dev.tsv")
    return config(pottery, 'split = "dev"')


def config(folder: Path, split: str) -> Path:
    (folder / "pots.toml").write_text(CONFIG.replace("SPLIT", split), encoding="utf-8")
    return folder


def tune(sira: Sira, folder: Path, *more: str, out: str = "out") -> Answer:
    arguments = ["--collection", "pots", "--folds", "2", "--rounds", "1", "--quiet", "--out", folder / out]
    return sira("tune", folder / "pots.toml", *arguments, *more)


def test_a_tuning_writes_its_choice_resumes_after_a_kill_and_is_the_same_each_time(sira: Sira, dev: Path) -> None:
    asked = ("--system", "both", "--parameters", "lambda", "w_e", "b=0.4,0.8")
    done = tune(sira, dev, *asked)
    assert done.status == 0, done.err
    assert "held out against the default" in done.out
    told = json.loads((dev / "out" / "tuning.json").read_text())
    assert (told["split"], told["topics"], told["measure"]) == ("dev", 2, "nDCG@10")
    assert told["default"] == {"lambda": 0.5, "w_e": 1.0, "b": 0.4}
    snippet = tomllib.loads((dev / "out" / "tuned.toml").read_text())
    assert set(snippet) == {"sketch_weight", "expansion_weight", "b"}
    points = (dev / "out" / "points.jsonl").read_text()
    assert len(points.splitlines()) == told["points"] >= 3 * 3 * 2

    kept = points.splitlines(keepends=True)[:5]
    (dev / "out" / "points.jsonl").write_text("".join(kept) + '{"point": [0.5,')  # torn by a kill
    again = tune(sira, dev, *asked)
    assert again.out == done.out
    assert (dev / "out" / "points.jsonl").read_text() == points

    other = tune(sira, dev, "--system", "both", "--parameters", "lambda")
    assert other.status == 2
    assert "other inputs (parameters differ)" in other.err


def test_one_process_tunes_a_folder_at_a_time(sira: Sira, dev: Path) -> None:
    (dev / "out").mkdir()
    with (dev / "out" / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = tune(sira, dev, "--system", "bm25", "--parameters", "k1=0.9,1.5")
    assert done.status == 2
    assert "another process works in this folder" in done.err


def test_damaged_points_are_refused_by_name(sira: Sira, dev: Path) -> None:
    (dev / "out").mkdir()
    (dev / "out" / "points.jsonl").write_text("no JSON\n")
    done = tune(sira, dev, "--system", "bm25", "--parameters", "k1=0.9,1.5")
    assert done.status == 2
    assert "points.jsonl: damaged" in done.err


def test_a_split_named_test_is_refused_whatever_is_declared(sira: Sira, pottery: Path) -> None:
    for split in ("", 'split = "test"'):
        done = tune(sira, config(pottery, split), "--system", "bm25", "--parameters", "k1", "--development")
        assert done.status == 2
        assert "test split ('test')" in done.err
        assert not (pottery / "out").exists()
    shutil.copy(pottery / "qrels" / "test.tsv", pottery / "qrels" / "test-judgments.tsv")
    done = tune(
        sira,
        config(pottery, 'qrels = "qrels/test-judgments.tsv"'),
        "--system",
        "bm25",
        "--parameters",
        "k1",
        "--development",
    )
    assert "test split ('test')" in done.err


def test_a_copy_of_the_test_split_under_another_name_is_refused(sira: Sira, pottery: Path) -> None:
    shutil.copy(pottery / "qrels" / "test.tsv", pottery / "qrels" / "dev.tsv")
    done = tune(sira, config(pottery, 'split = "dev"'), "--system", "bm25", "--parameters", "k1")
    assert done.status == 2
    assert "judged in the split test" in done.err


def test_judgments_of_unknown_purpose_must_be_declared(sira: Sira, dev: Path) -> None:
    (dev / "qrels" / "dev.tsv").rename(dev / "qrels" / "mine.tsv")
    config(dev, 'split = "mine"')
    refused = tune(sira, dev, "--system", "bm25", "--parameters", "k1=0.9,1.5")
    assert refused.status == 2
    assert "--development" in refused.err
    assert tune(sira, dev, "--system", "bm25", "--parameters", "k1=0.9,1.5", "--development").status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--parameters", "k1"], "one of: bm25, both"),
        (["--system", "none", "--parameters", "k1"], "system 'none': the experiment has bm25, both"),
        (["--system", "bm25", "--parameters", "lambda"], "lambda has no influence on kind = 'bm25'"),
        (["--system", "bm25", "--parameters", "w_e"], "without a second field"),
        (["--system", "bm25", "--parameters", "b=0.5,2"], "between 0 and 1"),
        (["--system", "bm25", "--parameters", "k1", "--folds", "3"], "2 topics for 3 folds"),
    ],
)
def test_what_cannot_be_tuned_is_one_clear_line(sira: Sira, dev: Path, arguments: list[str], words: str) -> None:
    done = tune(sira, dev, *arguments)
    assert done.status == 2
    assert words in done.err.splitlines()[-1]
