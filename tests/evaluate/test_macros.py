"""Means over collections: their figures, tests and intervals, and where they stand."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import numpy as np
import pytest

from sira.errors import InputError
from sira.evaluate.config import read_experiment
from sira.evaluate.runner import run_experiment
from sira.evaluate.significance import compare
from sira.evaluate.strata import compare_strata, stratified_interval
from tests.evaluate.pots import BM25, BOTH, HEAD, collections, stamps, values

MACRO = '\n[[macros]]\nname = "all"\nof = ["c0", "c1"]\n'


def drawn(seed: int, sizes: tuple[int, ...], shift: float) -> list[dict[str, float]]:
    generator = random.Random(seed)
    return [{f"q{i}": generator.random() + shift for i in range(size)} for size in sizes]


def test_one_collection_is_compared_as_without_strata() -> None:
    (system,), (baseline,) = drawn(1, (40,), 0.05), drawn(2, (40,), 0.0)
    (found,) = compare_strata({"a": [system]}, [baseline], measure="nDCG@10", baseline_name="b")
    plain = compare(system, baseline)
    assert found.difference == pytest.approx(plain.difference)
    assert found.randomisation.p == pytest.approx(plain.randomisation.p)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


def test_each_collection_counts_alike_whatever_its_size() -> None:
    system = [{"q0": 1.0, "q1": 0.0}, {f"q{i}": 0.5 for i in range(8)}]
    baseline = [{"q0": 0.0, "q1": 0.0}, {f"q{i}": 0.5 for i in range(8)}]
    (found,) = compare_strata({"a": system}, baseline, measure="nDCG@10", baseline_name="b")
    assert found.difference == pytest.approx((0.5 + 0) / 2)
    assert (found.wins, found.ties, found.losses, found.n) == (1, 1, 0, 10)
    assert found.t_test.p is None
    # Of the signs only that of one topic matters: every exchange is as far from 0.
    assert found.randomisation.p == 1.0


def test_the_interval_resamples_within_each_collection() -> None:
    strata = drawn(3, (30, 300), 0.0)
    low, high = stratified_interval(strata)
    errors = [np.std(list(values.values())) / len(values) ** 0.5 for values in strata]
    width = 2 * 1.96 * (errors[0] ** 2 + errors[1] ** 2) ** 0.5 / 2
    assert high - low == pytest.approx(width, rel=0.05)
    assert low < sum(sum(values.values()) / len(values) for values in strata) / 2 < high
    constant = [{"q0": 0.25, "q1": 0.25}, {"q0": 0.75}]
    assert stratified_interval(constant) == (0.5, 0.5)  # topics never change their collection


def test_p_is_holms_and_that_of_the_exchanges_of_topics() -> None:
    baseline = drawn(4, (3, 2), 0.0)
    better = [{qid: value + 0.1 for qid, value in values.items()} for values in baseline]
    found = compare_strata({"a": better, "b": baseline}, baseline, measure="MAP", baseline_name="c")
    assert found[0].randomisation.p == 2 / 2**5  # all signs one way or the other
    assert found[0].randomisation.p_corrected == 2 * 2 / 2**5
    assert found[1].randomisation.p == 1.0
    with pytest.raises(InputError, match="other topics"):
        compare_strata({"a": [*better[:1], {"q9": 1.0}]}, baseline, measure="MAP", baseline_name="c")


@pytest.mark.java
def test_a_macro_stands_in_every_table_and_hides_its_collections_if_asked(tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = HEAD + collections(tmp_path) + BM25 + BOTH
    (tmp_path / "e.toml").write_text(text, encoding="utf-8")
    run_experiment(read_experiment(tmp_path / "e.toml"), out, progress=False)
    before = stamps(out)
    (tmp_path / "e.toml").write_text(text + MACRO, encoding="utf-8")
    run_experiment(read_experiment(tmp_path / "e.toml"), out, progress=False)
    assert stamps(out) == before  # a macro redoes nothing
    found = values(out)
    for system in ("bm25", "both"):
        expected = (found["c0", system, "nDCG@10"] + found["c1", system, "nDCG@10"]) / 2
        assert found["all", system, "nDCG@10"] == pytest.approx(expected)
    printed = f"{found['all', 'both', 'nDCG@10']:.4f}"
    with (out / "tables" / "main.csv").open(encoding="utf-8", newline="") as stream:
        rows = {(row["collection"], row["system"]): row for row in csv.DictReader(stream)}
    assert float(rows["all", "both"]["nDCG@10"]) == found["all", "both", "nDCG@10"]
    assert (rows["all", "both"]["topics"], rows["all", "both"]["run"]) == ("11", "runs/{c0,c1}/both.trec")
    told = [item for item in json.loads((out / "significance.json").read_text("utf-8")) if item["collection"] == "all"]
    assert {item["system"] for item in told} == {"both"}
    assert "within 2 collections" in told[0]["interval"]
    shown = {name: (out / name).read_text(encoding="utf-8") for name in ("report.md", "report.html", "tables/main.tex")}
    assert all(printed in page and "runs/c0/both.trec" in page for page in shown.values())
    (tmp_path / "e.toml").write_text(text + MACRO + "details = false\n", encoding="utf-8")
    run_experiment(read_experiment(tmp_path / "e.toml"), out, progress=False)
    assert stamps(out) == before
    for name in shown:
        page = (out / name).read_text(encoding="utf-8")
        assert printed in page
        assert "runs/c0/both.trec" not in page
    assert "- c0: documents 8, topics 5" in (out / "report.md").read_text(encoding="utf-8")  # its audit is not lost
    assert values(out) == found


@pytest.mark.parametrize(
    ("macro", "named"),
    [
        (MACRO.replace('"c1"', '"c9"'), "macro 'all': 'c9' is no collection: c0, c1"),
        (MACRO.replace('"c1"', '"c0"'), "names a collection twice"),
        (MACRO.replace('"all"', '"c0"'), "collection 'c0' stands twice"),
        (MACRO.replace('["c0", "c1"]', "[]"), "macros.0.of"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tmp_path: Path, macro: str, named: str) -> None:
    (tmp_path / "e.toml").write_text(HEAD + collections(tmp_path) + BM25 + macro, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_experiment(tmp_path / "e.toml")
    assert named in str(caught.value)
