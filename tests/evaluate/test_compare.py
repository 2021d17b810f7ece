"""Runs side by side: coverage, overlap, gains and losses, and what is refused."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from sira.errors import InputError
from sira.evaluate.compare import CompareSettings, compare_runs
from sira.evaluate.compare_report import comparison_report
from sira.evaluate.overlap import jaccard, judged_share, rank_biased_overlap
from sira.records import Ranking, Run

QRELS = {"t1": {"a": 1, "b": 0}, "t2": {"c": 1}, "t3": {"d": 2}}


def run(name: str, rankings: Mapping[str, str]) -> Run:
    """Each ranking as the letters of its documents, best first."""
    found = {
        qid: Ranking(tuple(docids), tuple(float(-at) for at in range(len(docids)))) for qid, docids in rankings.items()
    }
    return Run(name, found)


BASE = run("base", {"t1": "xa", "t2": "c", "t3": ""})
OTHER = run("other", {"t1": "ax", "t3": "d", "t9": "q"})


def test_coverage_stands_beside_every_mean() -> None:
    base, other = compare_runs(QRELS, [BASE, OTHER], CompareSettings(("MRR", "Recall@1"))).runs
    assert base.evaluation.mean == pytest.approx({"MRR": (0.5 + 1) / 3, "Recall@1": 1 / 3})
    assert (base.evaluation.topics, base.topics_with_hits, base.without_hits) == (3, 2, ("t3",))
    assert (other.topics_with_hits, other.without_hits) == (2, ())
    assert (other.evaluation.missing, other.evaluation.extra) == (("t2",), ("t9",))


def test_the_first_run_is_the_baseline_of_paired_comparisons_with_holm_over_the_others() -> None:
    found = compare_runs(QRELS, [BASE, OTHER, run("third", {"t1": "a"})], CompareSettings(("MRR",)))
    item = found.comparisons["other", "MRR"]
    assert (item.system, item.baseline, item.n) == ("other", "base", 3)
    assert item.difference == pytest.approx((0.5 - 1 + 1) / 3)
    assert (item.wins, item.ties, item.losses) == (2, 0, 1)
    assert item.randomisation.family == 2
    assert item.randomisation.p_corrected is not None
    assert item.randomisation.p is not None
    assert item.randomisation.p_corrected >= item.randomisation.p


def test_gains_and_losses_go_by_the_first_measure_the_largest_first() -> None:
    found = compare_runs(QRELS, [BASE, OTHER], CompareSettings(("MRR",)))
    assert [(item.qid, item.difference) for item in found.gains["other"]] == [("t3", 1.0), ("t1", 0.5)]
    assert [(item.qid, item.difference) for item in found.losses["other"]] == [("t2", -1.0)]
    assert [
        item.qid for item in compare_runs(QRELS, [BASE, OTHER], CompareSettings(("MRR",), extremes=1)).gains["other"]
    ] == ["t3"]


def test_a_self_hit_counts_neither_as_hit_nor_as_overlap() -> None:
    qrels = {"a": {"b": 1}}
    settings = CompareSettings(("MRR",), ignore_self_hits=True)
    found = compare_runs(qrels, [run("one", {"a": "ab"}), run("two", {"a": "a"})], settings)
    assert found.runs[0].evaluation.mean["MRR"] == 1.0
    assert found.runs[1].without_hits == ("a",)
    assert found.overlaps["two"].jaccard == 0.0


def test_rank_biased_overlap_equals_ir_measures_on_random_rankings() -> None:
    oracle = pytest.importorskip("ir_measures.providers.compat_provider").rbo
    rng = random.Random(5)
    for _ in range(300):
        first, second = (rng.sample("abcdefghijkl", rng.randint(0, 12)) for _ in range(2))
        if not first and not second:
            continue
        p = rng.choice([0.5, 0.9, 0.98])
        expected = oracle(first, second, p, max(len(first), len(second)))
        assert rank_biased_overlap(first, second, p) == pytest.approx(expected, abs=1e-12)


def test_overlap_of_equal_disjoint_and_empty_rankings() -> None:
    assert rank_biased_overlap("abc", "abc") == pytest.approx(1.0)
    assert rank_biased_overlap("ab", "cd") == 0.0
    assert rank_biased_overlap("", "") is None
    assert (jaccard("abc", "bxa", 2), jaccard("abc", "bxa", 3)) == (pytest.approx(1 / 3), 0.5)
    assert jaccard("", "", 3) is None


def test_judged_at_k_counts_judgments_of_any_grade_over_the_documents_there_are() -> None:
    assert judged_share("axb", {"a": 1, "b": 0}, 2) == 0.5
    assert judged_share("ab", {"a": 1, "b": 0}, 10) == 1.0
    assert judged_share("", {"a": 1}, 10) is None
    assert compare_runs(QRELS, [BASE, OTHER], CompareSettings(("MRR",))).runs[0].judged == pytest.approx((0.5 + 1) / 2)


def test_the_report_says_which_topics_are_missing_and_which_are_not_judged() -> None:
    text = comparison_report(
        compare_runs(QRELS, [BASE, OTHER], CompareSettings(("MRR",))), {"t3": "a | query"}, "markdown"
    )
    assert "other: 1 judged topic(s) missing from the run" in text
    assert "other: 1 topic(s) of the run without judgments, left out: t9" in text
    assert "a \\| query" in text


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ([BASE], "two or more"),
        ([BASE, BASE], "name 'base'"),
        ([BASE, run("far", {"x1": "a"})], r"'far': none of its 1 topics is judged \(such as 'x1'"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(runs: list[Run], words: str) -> None:
    with pytest.raises(InputError, match=words):
        compare_runs(QRELS, runs)


def test_a_run_without_any_hit_is_compared_and_counts_as_zero() -> None:
    found = compare_runs(QRELS, [BASE, Run("nothing", {})], CompareSettings(("MRR",)))
    assert found.runs[1].evaluation.mean["MRR"] == 0.0
    assert found.comparisons["nothing", "MRR"].losses == 2
