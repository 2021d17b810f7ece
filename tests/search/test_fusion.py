"""Fusion: reciprocal ranks in plain Python, and ranx against definitions, in the order of a Ranking."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, get_args

import pytest

from sira.errors import InputError
from sira.records import Ranking, Run
from sira.search.fusion import Method, Norm, fuse_runs, ranx_fusion, reciprocal_rank_fusion

FIRST = Ranking(("d1", "d2", "d3", "d9"), (8.0, 6.0, 6.0, 2.0))
SECOND = Ranking(("d3", "d4", "é 🦀"), (0.9, 0.4, 0.1))
RUNS = (Run("sparse", {"q1": FIRST, "q2": Ranking(("x",), (1.0,))}), Run("dense", {"q1": SECOND, "q3": SECOND}))

Scores = dict[str, float]


def by_rank(ranking: Ranking, score: Any) -> Scores:
    return {hit.docid: score(hit.rank) for hit in ranking}


def min_max(ranking: Ranking) -> Scores:
    least, most = min(ranking.scores), max(ranking.scores)
    return {hit.docid: (hit.score - least) / (most - least) for hit in ranking}


def borda(ranking: Ranking) -> Scores:
    candidates = {*FIRST.docids, *SECOND.docids}
    absent = (len(candidates) - len(ranking) + 1) / 2
    return dict.fromkeys(candidates, absent) | by_rank(ranking, lambda rank: len(candidates) - rank + 1)


def collected(parts: list[Scores], combine: Any) -> Ranking:
    docids = {docid for part in parts for docid in part}
    return Ranking.from_scores({d: combine([part[d] for part in parts if d in part]) for d in docids})


MIN_MAX = [min_max(FIRST), min_max(SECOND)]
EXPECTED: Mapping[Method, Ranking] = {
    "rrf": reciprocal_rank_fusion([FIRST, SECOND]),
    "isr": collected(
        [by_rank(r, lambda rank: 1 / rank**2) for r in (FIRST, SECOND)], lambda scores: sum(scores) * len(scores)
    ),
    "rbc": collected([by_rank(r, lambda rank: 0.2 * 0.8 ** (rank - 1)) for r in (FIRST, SECOND)], sum),
    "bordafuse": collected([borda(FIRST), borda(SECOND)], sum),
    "wsum": collected([{d: 0.5 * s for d, s in part.items()} for part in MIN_MAX], sum),
    "sum": collected(MIN_MAX, sum),
    "mnz": collected(MIN_MAX, lambda scores: sum(scores) * len(scores)),
    "max": collected(MIN_MAX, max),
    "min": collected(MIN_MAX, min),
}
"""Of topic q1, with the default parameters."""


def assert_equal(found: Ranking, expected: Ranking) -> None:
    assert found.docids == expected.docids
    assert found.scores == pytest.approx(expected.scores, rel=1e-12)


def test_reciprocal_rank_fusion_by_hand() -> None:
    found = reciprocal_rank_fusion([FIRST, SECOND])
    assert found.docids == ("d3", "d1", "d2", "d4", "é 🦀", "d9")
    assert found.scores == (1 / 63 + 1 / 61, 1 / 61, 1 / 62, 1 / 62, 1 / 63, 1 / 64)
    assert reciprocal_rank_fusion([FIRST, SECOND], k=0).scores[0] == 1 / 3 + 1
    assert reciprocal_rank_fusion([]) == reciprocal_rank_fusion([Ranking()]) == Ranking()
    with pytest.raises(InputError, match="k = -1"):
        reciprocal_rank_fusion([FIRST], k=-1)


def test_rrf_of_ranx_is_ours_bit_for_bit() -> None:
    chance = random.Random(20261201)
    rankings = [
        Ranking.from_scores({f"d{chance.randrange(300)}": float(chance.randrange(20)) for _ in range(200)})
        for _ in range(12)
    ]
    tables = [{f"q{n}": rankings[3 * n + run] for n in range(4)} for run in range(3)]
    for k in (60, 1):
        found = ranx_fusion(tables, "rrf", "none", {"k": k})
        assert found == {qid: reciprocal_rank_fusion([table[qid] for table in tables], k) for qid in tables[0]}


def test_topics_of_one_run_are_fused_from_it_and_counted() -> None:
    fused = fuse_runs(RUNS)
    assert fused.run.name == "rrf(sparse,dense)"
    assert fused.run.rankings == {
        "q1": reciprocal_rank_fusion([FIRST, SECOND]),
        "q2": Ranking(("x",), (1 / 61,)),
        "q3": reciprocal_rank_fusion([SECOND]),
    }
    assert list(fused.run.rankings) == ["q1", "q2", "q3"]
    assert fused.missing == (1, 1)
    ten = fuse_runs(RUNS, "rrf", {"k": 10}, k=2, name="mine").run
    assert (ten.name, ten.rankings["q1"]) == ("mine", reciprocal_rank_fusion([FIRST, SECOND], 10).top(2))


def test_every_method_has_an_expectation() -> None:
    assert tuple(EXPECTED) == get_args(Method)


@pytest.mark.slow  # numba compiles each method where its cache has none
@pytest.mark.parametrize("method", get_args(Method))
def test_each_method_is_what_its_definition_says(method: Method) -> None:
    fused = fuse_runs(RUNS, method)
    assert_equal(fused.run.rankings["q1"], EXPECTED[method])
    assert fused.run.rankings["q2"].docids == ("x",)
    assert fused.missing == (1, 1)


@pytest.mark.slow
def test_weights_and_the_persistence_are_handed_on() -> None:
    found = fuse_runs(RUNS, "wsum", {"weights": [3, 0.5]}).run.rankings["q1"]
    assert_equal(
        found, collected([{d: w * s for d, s in part.items()} for w, part in zip((3, 0.5), MIN_MAX, strict=True)], sum)
    )
    found = fuse_runs(RUNS, "rbc", {"phi": 0.5}).run.rankings["q1"]
    assert_equal(found, collected([by_rank(r, lambda rank: 0.5**rank) for r in (FIRST, SECOND)], sum))


def normalised(norm: Norm, ranking: Ranking) -> Scores:
    scores = ranking.scores
    mean = sum(scores) / len(scores)
    deviation = math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))
    total = sum(score - min(scores) for score in scores)
    return {
        hit.docid: {
            "none": hit.score,
            "min-max": (hit.score - min(scores)) / (max(scores) - min(scores)),
            "max": hit.score / max(scores),
            "sum": (hit.score - min(scores)) / total,
            "zmuv": (hit.score - mean) / deviation,
            "rank": 1 - (hit.rank - 1) / len(scores),
        }[norm]
        for hit in ranking
    }


@pytest.mark.slow
@pytest.mark.parametrize("norm", get_args(Norm))
def test_each_normalisation_is_what_its_definition_says(norm: Norm) -> None:
    found = fuse_runs(RUNS, "sum", norm=norm).run.rankings["q1"]
    expected = collected([normalised(norm, FIRST), normalised(norm, SECOND)], sum)
    assert {hit.docid: hit.score for hit in found} == pytest.approx({hit.docid: hit.score for hit in expected})


def test_runs_without_a_document_fuse_to_topics_without_one() -> None:
    for method in ("rrf", "sum"):
        fused = fuse_runs([Run("a", {"q": Ranking()}), Run("b", {})], method)
        assert (fused.run.rankings, fused.missing) == ({"q": Ranking()}, (1, 1))


@pytest.mark.parametrize(
    ("runs", "method", "params", "norm", "fault"),
    [
        (RUNS[:1], "rrf", {}, None, r"fusion of 1 run\(s\): give two or more"),
        (RUNS, "bayesfuse", {}, None, "method 'bayesfuse' is not known: choose rrf, isr, rbc"),
        (RUNS, "sum", {}, "median", "normalisation 'median' is not known: choose none, min-max"),
        (RUNS, "isr", {}, "max", "fusion by isr reads ranks, which normalisation 'max' does not change"),
        (RUNS, "rrf", {"phi": 1}, None, "there is no parameter 'phi': its parameter is k"),
        (RUNS, "max", {"k": 1}, None, "there is no parameter 'k': it has none"),
        (RUNS, "rrf", {"k": 1.5}, None, "k = 1.5: give an integer >= 0"),
        (RUNS, "rbc", {"phi": 1}, None, "phi = 1: give a number between 0 and 1, both excluded"),
        (RUNS, "wsum", {"weights": [1]}, None, "give 2 finite numbers, one a run"),
        (RUNS, "wsum", {"weights": [1, math.nan]}, None, "give 2 finite numbers, one a run"),
    ],
)
def test_faults_are_named(runs: Any, method: Any, params: Any, norm: Any, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        fuse_runs(runs, method, params, norm=norm)


def test_neither_ranx_nor_numba_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, sira.search.fusion as f; from sira.records import Ranking, Run\n"
        "f.fuse_runs([Run('a', {'q': Ranking(('d',), (1.0,))}), Run('b', {})])\n"
        "assert 'ranx' not in sys.modules and 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
