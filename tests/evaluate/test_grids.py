"""Grids of an experiment: their rows, what is refused, and selection on collections of development alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sira.errors import InputError
from sira.evaluate.config import Experiment, read_experiment
from sira.evaluate.reporting.heat import grids
from sira.evaluate.runner import run_experiment
from tests.evaluate.pots import BM25, BOTH, HEAD, RRF, collections, stamps, values

GRID = '\n[[grid]]\nsystem = "both"\nsketch_weight = [0.1, 0.5]\nmax_df_ratio = [0.3, 1.0]\n'
SELECT = GRID + "select = true\n"


def read(folder: Path, systems: str, count: int = 2, development: int = 0) -> Experiment:
    tables = collections(folder, count, development)
    (folder / "e.toml").write_text(HEAD + tables + systems, encoding="utf-8")
    return read_experiment(folder / "e.toml")


def again(folder: Path, old: str, new: str) -> Experiment:
    text = (folder / "e.toml").read_text(encoding="utf-8")
    assert old in text
    (folder / "e.toml").write_text(text.replace(old, new), encoding="utf-8")
    return read_experiment(folder / "e.toml")


def test_rows_stand_behind_their_base_the_last_key_the_fastest(tmp_path: Path) -> None:
    experiment = read(tmp_path, BM25 + BOTH + RRF + GRID + '\n[[grid]]\nsystem = "both"\nngrams = ["off", "atoms"]\n')
    assert [item.name for item in experiment.systems] == [
        "bm25",
        "both",
        "both+sketch_weight=0.1+max_df_ratio=0.3",
        "both+sketch_weight=0.1+max_df_ratio=1.0",
        "both+sketch_weight=0.5+max_df_ratio=0.3",
        "both+sketch_weight=0.5+max_df_ratio=1.0",
        "both+ngrams=off",
        "both+ngrams=atoms",
        "rrf",
    ]
    row = experiment.system("both+sketch_weight=0.1+max_df_ratio=1.0")
    assert (row.sketch_weight, row.max_df_ratio, row.sketches, row.documents) == (0.1, 1.0, "mine", "expanded")
    (grid,) = grids(experiment)  # the other one has a single key
    assert grid.keys == ("sketch_weight", "max_df_ratio")


def test_values_that_name_files_are_found_beside_the_toml_and_make_safe_names(tmp_path: Path) -> None:
    experiment = read(tmp_path, BM25 + BOTH + '\n[[grid]]\nsystem = "both"\npolicy = ["my own/a.toml", "default"]\n')
    names = [item.name for item in experiment.systems][2:]
    assert names == ["both+policy=my-own-a.toml", "both+policy=default"]
    assert experiment.systems[2].policy == str(tmp_path / "my own" / "a.toml")


@pytest.mark.parametrize(
    ("grid", "named"),
    [
        (GRID.replace('"both"', '"best"'), "`system` = 'best' is none of the [[systems]]: bm25, both"),
        (GRID.replace("sketch_weight", "lambda"), "'lambda' is no key of a system"),
        (GRID.replace("sketch_weight = [0.1, 0.5]", 'name = ["a", "b"]'), "'name' cannot vary in a grid"),
        (GRID.replace("[0.1, 0.5]", "0.1"), "'sketch_weight' = 0.1: give a list of numbers or texts"),
        (GRID.replace("[0.1, 0.5]", "[]"), "give a list"),
        (GRID.replace("[0.1, 0.5]", "[[0.1], [0.5]]"), "give a list"),
        (GRID.replace("[0.1, 0.5]", "[0.1, 0.1]"), "two rows would have the name"),
        (GRID.replace("[0.1, 0.5]", "[0.1, -1.0]"), "system 'both+sketch_weight=-1.0+max_df_ratio=0.3'"),
        (GRID.replace("[0.1, 0.5]", '["a"]'), "grid of 'both': sketch_weight = 'a': Input should be a valid number"),
        (GRID.replace("[0.1, 0.5]", str([n / 10_000 for n in range(9_000)])), "makes 18000 rows, 10000 at most"),
        (GRID + GRID, "stands there already"),
        ('\n[[grid]]\nsystem = "both"\n', "names no key to vary"),
        ('\n[[grid]]\nsystem = "bm25"\nsketch_weight = [0.1]\n', '`sketch_weight` has no meaning for kind = "bm25"'),
        (f'\n[[grid]]\nsystem = "both"\npolicy = ["{"x" * 200}"]\n', "more than 150 letters"),
        (SELECT, "select wants a collection with development = true"),
        (GRID + "select = 1\n", "give true, false or the name of a measure"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tmp_path: Path, grid: str, named: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, BM25 + BOTH + grid)
    assert named in str(caught.value)
    assert str(tmp_path / "e.toml") in str(caught.value)


def test_a_measure_to_select_by_is_one_of_the_experiment(tmp_path: Path) -> None:
    experiment = read(tmp_path, BM25 + BOTH + GRID + 'select = "mrr@10"\n', development=1)
    assert experiment.measure_of(experiment.selecting[0]) == "MRR@10"
    with pytest.raises(InputError, match=r"'MAP' is none of the measures: nDCG@10, MRR@10"):
        again(tmp_path, '"mrr@10"', '"MAP"')


@pytest.mark.java
def test_a_grid_without_select_is_a_plain_table_with_a_map(tmp_path: Path) -> None:
    run_experiment(read(tmp_path, BM25 + BOTH + GRID, count=1), tmp_path / "out", progress=False)
    assert len({system for _, system, _ in values(tmp_path / "out")}) == 6
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "both+sketch_weight=0.5+max_df_ratio=0.3: λ 0.5, τ 0.3" in page
    assert not (tmp_path / "out" / "selection.json").exists()
    assert "selected" not in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


@pytest.mark.java
def test_the_best_row_on_development_stands_for_its_base_everywhere(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_experiment(read(tmp_path, BM25 + BOTH + RRF + SELECT, count=3, development=2), out, progress=False)
    found = values(out)
    (choice,) = json.loads((out / "selection.json").read_text(encoding="utf-8"))
    means = {row: (found["c0", row, "nDCG@10"] + found["c1", row, "nDCG@10"]) / 2 for row in choice["figures"]}
    assert choice["means"] == pytest.approx(means)
    best = max(means.values())
    assert choice["row"] == next(row for row, mean in means.items() if mean == best)
    assert len(set(means.values())) > 1
    # Rows by which nothing is to be learned are searched nowhere else; the chosen one is, under the base's name.
    assert {system for collection, system, _ in found if collection == "c2"} == {"bm25", "both", "rrf"}
    assert all(found[c, "both", "nDCG@10"] == found[c, choice["row"], "nDCG@10"] for c in ("c0", "c1"))
    weights = json.loads((out / "runs" / "c2" / "both.programs.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert choice["values"]["sketch_weight"] in {clause["weight"] for clause in weights["clauses"]}
    report = (out / "report.md").read_text(encoding="utf-8")
    assert f"both: selected on c0, c1 by nDCG@10 ({best:.4f})" in report
    assert "## Selection of both" in report
    assert "Selection of both" in (out / "report.html").read_text(encoding="utf-8")
    before = stamps(out)
    run_experiment(read_experiment(tmp_path / "e.toml"), out, progress=False)
    assert stamps(out) == before


@pytest.mark.java
def test_of_equal_rows_the_earlier_is_chosen_and_the_mark_alone_redoes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    read(tmp_path, BM25 + BOTH + GRID, development=1)
    run_experiment(again(tmp_path, "development = true\n", ""), out, progress=False)
    again(tmp_path, '"c0/phrases.jsonl"\n', '"c0/phrases.jsonl"\ndevelopment = true\n')
    before = stamps(out)
    equal = again(tmp_path, "max_df_ratio = [0.3, 1.0]", "max_df_ratio = [1.0, 1]\nselect = true")
    run_experiment(equal, out, progress=False)
    (choice,) = json.loads((out / "selection.json").read_text(encoding="utf-8"))
    assert choice["row"] == "both+sketch_weight=0.5+max_df_ratio=1.0"
    kept = {name for name, stamp in stamps(out).items() if before.get(name) == stamp}
    assert {"c0/bm25.trec", "c1/bm25.trec", "c0/both+sketch_weight=0.5+max_df_ratio=1.0.trec"} <= kept


@pytest.mark.java
def test_a_test_split_cannot_be_marked_as_development(tmp_path: Path) -> None:
    experiment = read(tmp_path, BM25 + BOTH + SELECT, development=1)
    (tmp_path / "c0" / "qrels" / "dev.tsv").rename(tmp_path / "c0" / "qrels" / "test.tsv")
    with pytest.raises(InputError, match=r"collection 'c0': test is a test split"):
        run_experiment(experiment, tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()
