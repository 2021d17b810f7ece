"""Mistakes in an experiment that are told before anything is written: one line with the key and the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from sira.errors import InputError
from sira.evaluate.config import read_experiment
from sira.evaluate.runner import run_experiment
from tests.evaluate.pots import BM25, BOTH, HEAD, collections


def changed(folder: Path, old: str, new: str) -> Path:
    text = HEAD + collections(folder, 1) + BM25 + BOTH
    assert old in text
    (folder / "e.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder / "e.toml"


LIVE = 'mine = "c0/sketches.jsonl"'


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("depth = 20", 'depth = "20"', "depth: Input should be a valid integer"),
        ("depth = 20", "depth = true", "depth: Input should be a valid integer"),
        ("depth = 20", "depth = 5", "depth is 5: raise it, or name other `measures`"),
        (
            "[collections.sk",
            'ignore_self_hits = "yes"\n[collections.sk',
            "ignore_self_hits: Input should be a valid bool",
        ),
        ("[collections.sk", 'analyzer = "klingon"\n[collections.sk', "analyzer 'klingon' is not known: choose one of"),
        ('kind = "sira"', 'kind = "sira"\nsketch_weight = true', "sketch_weight: Input should be a valid number"),
        ('kind = "sira"', 'kind = "sira"\ndrop_guesses = "no"', "drop_guesses: Input should be a valid boolean"),
        (LIVE, "mine = 3", "collections.0.sketches.mine.table: "),
        (LIVE, 'mine = { llm = "local", sample = 2 }', "collections.0.sketches.mine.table.sample: "),
        (LIVE, 'mine = { llm = "local", samples = 0 }', "table.samples: Input should be greater than or equal to 1"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_by_its_key(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = changed(tmp_path, old, new)
    with pytest.raises(InputError) as caught:
        read_experiment(path)
    assert str(path) in str(caught.value)
    assert told in str(caught.value)


def test_whole_numbers_are_numbers_too(tmp_path: Path) -> None:
    experiment = read_experiment(changed(tmp_path, 'kind = "sira"', 'kind = "sira"\nsketch_weight = 1'))
    assert experiment.system("both").sketch_weight == 1.0


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("c0/phrases", "c0/none", r"none\.jsonl: no expansion store"),
        ('kind = "sira"', 'kind = "sira"\npolicy = "none.toml"', r"system 'both': .*none\.toml: there is no such file"),
        ('kind = "sira"', 'kind = "sira"\ncategories = "none"', r"system 'both': .*none: holds no category graph"),
        ('kind = "bm25"', 'kind = "bm25"\nrerank = { llm = "none.toml" }', r"system 'bm25': .*none\.toml: there is no"),
        ('kind = "bm25"', 'kind = "hyde"\nllm = "none.toml"', r"system 'bm25': .*none\.toml: there is no such file"),
        ('kind = "bm25"', 'kind = "ircot"\nllm = "none.toml"', r"system 'bm25': .*none\.toml: there is no such file"),
    ],
)
def test_a_file_that_is_not_there_is_told_before_the_folder_is_made(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    experiment = read_experiment(changed(tmp_path, old, new))
    with pytest.raises(InputError, match=told):
        run_experiment(experiment, tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()
