"""Parts of a large table in one results folder: what is run, what is kept, what the report shows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sira.errors import InputError
from sira.evaluate.config import Experiment, read_experiment
from sira.evaluate.filters import wanted
from sira.evaluate.runner import run_experiment
from tests.evaluate.pots import BM25, BOTH, HEAD, RRF, collections, stamps, values
from tests.evaluate.test_grids import SELECT

MACRO = '\n[[macros]]\nname = "all"\nof = ["c0", "c1"]\n'


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    (tmp_path / "e.toml").write_text(HEAD + collections(tmp_path) + BM25 + BOTH + RRF + MACRO, encoding="utf-8")
    return read_experiment(tmp_path / "e.toml")


def test_the_baseline_and_the_parts_of_a_fusion_are_wanted_too(experiment: Experiment) -> None:
    todo = wanted(experiment, ["rrf"], ["c1"])
    assert todo.systems == {"c1": {"bm25", "both", "rrf"}}
    assert todo.also == ("bm25: the baseline, is run too", "both: parts of fused systems, are run too")
    assert wanted(experiment, ["both"]).systems == {"c0": {"bm25", "both"}, "c1": {"bm25", "both"}}
    assert wanted(experiment).also == ()


@pytest.mark.parametrize(
    ("systems", "collections", "named"),
    [
        (["best"], None, "--systems 'best': the experiment has the systems bm25, both, rrf"),
        (None, ["c9"], "--collections 'c9': the experiment has the collections c0, c1"),
        ([], None, "--systems: name one or more of bm25, both, rrf"),
    ],
)
def test_unknown_names_are_refused_with_those_that_are_known(
    experiment: Experiment, systems: list[str] | None, collections: list[str] | None, named: str
) -> None:
    with pytest.raises(InputError) as caught:
        wanted(experiment, systems, collections)
    assert named in str(caught.value)


def test_rows_by_which_a_grid_selects_are_wanted_on_development_alone(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(HEAD + collections(tmp_path, 3, 1) + BM25 + BOTH + RRF + SELECT, encoding="utf-8")
    experiment = read_experiment(tmp_path / "e.toml")
    rows = frozenset(experiment.selecting[0].rows())
    todo = wanted(experiment, ["rrf"], ["c1"])
    assert todo.systems == {"c0": rows, "c1": {"bm25", "both", "rrf"}}
    assert todo.first == {"c0": rows}
    assert todo.also[-1] == "c0: the rows by which a grid selects are searched there"
    assert wanted(experiment, ["bm25"], ["c1"]).systems == {"c1": {"bm25"}}
    assert not wanted(experiment, ["bm25"]).first


@pytest.mark.java
def test_parts_of_a_table_join_in_one_folder_and_a_whole_run_reuses_them(
    experiment: Experiment, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run_experiment(experiment, out, systems=["both"], collections=["c0"], progress=False)
    assert set(stamps(out)) == {"c0/bm25.trec", "c0/both.trec"}
    report = (out / "report.md").read_text(encoding="utf-8")
    assert "- c0: not run: rrf" in report
    assert "- c1: nothing of it is run" in report
    assert "- all: not all of its collections are run" in report
    before = stamps(out)
    run_experiment(experiment, out, systems=["bm25"], collections=["c1"], progress=False)
    assert {name: stamps(out)[name] for name in before} == before
    assert {(c, s) for c, s, _ in values(out)} >= {("c0", "both"), ("c1", "bm25"), ("all", "bm25")}
    assert ("all", "both", "nDCG@10") not in values(out)  # finished on one of them alone
    before = stamps(out)
    run_experiment(experiment, out, progress=False)
    assert {name: stamps(out)[name] for name in before} == before
    assert len(stamps(out)) == 6
    found = values(out)
    assert found["c0", "rrf", "index_growth"] == found["c0", "both", "index_growth"] > 0
    assert "Not in this report" not in (out / "report.md").read_text(encoding="utf-8")


@pytest.mark.java
def test_a_collection_that_is_gone_costs_its_rows_of_the_report_not_its_cells(
    experiment: Experiment, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "out"
    run_experiment(experiment, out, systems=["bm25"], progress=False)
    before = stamps(out)
    shutil.move(tmp_path / "c0", tmp_path / "away")
    run_experiment(experiment, out, systems=["bm25"], collections=["c1"], progress=False)
    assert "c0: its cells are left out of the report" in caplog.text
    assert {collection for collection, _, _ in values(out)} == {"c1"}
    shutil.move(tmp_path / "away", tmp_path / "c0")
    run_experiment(experiment, out, systems=["bm25"], progress=False)
    assert stamps(out) == before
    assert {collection for collection, _, _ in values(out)} == {"c0", "c1", "all"}


@pytest.mark.java
def test_a_cell_that_is_out_of_date_is_not_shown(experiment: Experiment, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_experiment(experiment, out, progress=False)
    text = (tmp_path / "e.toml").read_text(encoding="utf-8")
    (tmp_path / "e.toml").write_text(text.replace(BOTH, BOTH + "sketch_weight = 0.1\n"), encoding="utf-8")
    run_experiment(read_experiment(tmp_path / "e.toml"), out, systems=["bm25"], progress=False)
    assert {system for _, system, _ in values(out)} == {"bm25"}
    assert "- c0: not run: both, rrf" in (out / "report.md").read_text(encoding="utf-8")
    assert (out / "runs" / "c0" / "both.trec").exists()


@pytest.mark.java
def test_a_file_that_a_cell_was_made_with_and_that_is_gone_stops_no_other_cell(
    experiment: Experiment, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out, text = tmp_path / "out", (tmp_path / "e.toml").read_text(encoding="utf-8")
    dense = '\n[[systems]]\nname = "dense"\nkind = "run"\nrun = "{collection}.trec"\n'
    (tmp_path / "e.toml").write_text(text + dense, encoding="utf-8")
    for name in ("c0", "c1"):
        (tmp_path / f"{name}.trec").write_text("t1 Q0 d1 1 1 dense\n", encoding="utf-8")
    experiment = read_experiment(tmp_path / "e.toml")
    run_experiment(experiment, out, systems=["dense"], progress=False)
    before = stamps(out)
    (tmp_path / "c1.trec").unlink()
    run_experiment(experiment, out, systems=["both"], progress=False)
    assert "c1 dense: is left out: " in caplog.text
    assert {(c, s) for c, s, _ in values(out)} >= {("c0", "dense"), ("c1", "both")}
    assert ("c1", "dense", "nDCG@10") not in values(out)
    (tmp_path / "c1.trec").write_text("t1 Q0 d1 1 1 dense\n", encoding="utf-8")
    run_experiment(experiment, out, systems=["dense"], progress=False)
    assert {name: stamps(out)[name] for name in before} == before


@pytest.mark.java
def test_a_filter_is_no_way_to_select_on_a_test_split(tmp_path: Path) -> None:
    plain = SELECT.replace("select = true", "")
    (tmp_path / "e.toml").write_text(HEAD + collections(tmp_path) + BM25 + BOTH + plain, encoding="utf-8")
    run_experiment(read_experiment(tmp_path / "e.toml"), tmp_path / "out", progress=False)
    text = (tmp_path / "e.toml").read_text(encoding="utf-8").replace(plain, SELECT)
    marked = text.replace('"c0/phrases.jsonl"\n', '"c0/phrases.jsonl"\ndevelopment = true\n')
    (tmp_path / "e.toml").write_text(marked, encoding="utf-8")
    for systems in (["bm25"], ["both"]):
        with pytest.raises(InputError, match="collection 'c0': test is a test split"):
            run_experiment(
                read_experiment(tmp_path / "e.toml"),
                tmp_path / "out",
                systems=systems,
                collections=["c1"],
                progress=False,
            )
    assert not (tmp_path / "out" / "selection.json").exists()
