from __future__ import annotations

import json
import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.errors import InputError
from sira.evaluate.significance import compare, compare_family, holm

A = {"q1": 0.3, "q2": 0.5, "q3": 0.5, "q4": 0.9}
B = {"q1": 0.2, "q2": 0.4, "q3": 0.6, "q4": 0.8}


def test_g21_the_paired_t_test_names_itself_n_and_sides() -> None:
    result = compare(A, B, measure="nDCG@10", names=("sira", "bm25"))
    assert result.t_test.statistic == pytest.approx(1.0)
    assert (result.t_test.df, result.t_test.n, result.t_test.sides) == (3, 4, 2)
    assert result.t_test.p == pytest.approx(0.3910, abs=5e-5)
    assert str(result.t_test) == "paired t-test (Student), 2-sided, n = 4, t = 1.000, df = 3, p = 0.3910"
    assert (result.wins, result.ties, result.losses, result.n) == (3, 0, 1, 4)
    assert result.difference == pytest.approx(0.05)


def test_the_randomisation_test_counts_all_sign_flips_where_they_are_few() -> None:
    # Differences .1 .1 -.1 .1: |sum| >= .2 in all but the 6 of 16 flips that balance.
    result = compare(A, B).randomisation
    assert result.p == pytest.approx(10 / 16)
    assert "all 16 sign flips" in str(result)
    everywhere_better = compare({f"q{n}": 0.5 for n in range(8)}, {f"q{n}": 0.4 - n / 100 for n in range(8)})
    assert everywhere_better.randomisation.p == pytest.approx(2 / 256)


def test_g22_both_directions_of_win_tie_loss_in_a_dictionary_that_is_json() -> None:
    forth = compare(A | {"q5": 0.1}, B | {"q5": 0.1}, measure="Recall@100", names=("sira", "bm25"))
    back = forth.reversed()
    assert (forth.wins, forth.ties, forth.losses) == (back.losses, back.ties, back.wins) == (3, 1, 1)
    assert (back.system, back.difference, back.low, back.high) == ("bm25", -forth.difference, -forth.high, -forth.low)
    again = json.loads(json.dumps(forth.to_dict(), allow_nan=False))
    assert (again["measure"], again["wins"], again["t_test"]["name"]) == ("Recall@100", 3, "paired t-test (Student)")


values = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=40)


@given(values)
def test_the_t_test_equals_scipys(pairs: list[tuple[float, float]]) -> None:
    differences = [a - b for a, b in pairs]
    mean, deviation = statistics.fmean(differences), statistics.stdev(differences)
    result = compare(
        {f"{n}": a for n, (a, _) in enumerate(pairs)}, {f"{n}": b for n, (_, b) in enumerate(pairs)}, samples=100
    )
    assert result.t_test.p is not None
    if deviation > 1e-9 * abs(mean) + 1e-12:
        scipy_stats = pytest.importorskip("scipy.stats")
        theirs = scipy_stats.ttest_rel([a for a, _ in pairs], [b for _, b in pairs])
        assert result.t_test.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-9)
        assert result.t_test.statistic == pytest.approx(theirs.statistic, rel=1e-6, abs=1e-9)
    assert 0 <= result.t_test.p <= 1
    assert result.low <= result.high
    assert result.wins + result.ties + result.losses == result.n


def test_a_difference_that_is_the_same_everywhere_is_certain_and_none_at_all_is_not() -> None:
    a, same = {f"q{n}": 0.1 * n for n in range(5)}, {f"q{n}": 0.1 * n - 0.25 for n in range(5)}
    assert compare(a, a).t_test.p == 1.0
    assert compare(a, a).randomisation.p == 1.0
    assert (compare(a, a).low, compare(a, a).high, compare(a, a).ties) == (0.0, 0.0, 5)
    assert compare(a, same).t_test.p == 0.0
    assert compare(a, same).to_dict()["t_test"]["statistic"] is None
    assert compare(a, same).randomisation.p == pytest.approx(2 / 2**5)


def test_one_topic_says_nothing() -> None:
    result = compare({"q": 1.0}, {"q": 0.0})
    assert result.t_test.p is None
    assert "too few topics" in str(result.t_test)
    [in_family] = compare_family({"s": {"q": 1.0}}, {"q": 0.0})
    assert in_family.t_test.p_corrected is None


def test_drawn_sign_flips_and_bootstrap_agree_with_the_normal_theory_and_repeat() -> None:
    noise = random.Random(7)
    a = {f"q{n:03}": noise.gauss(0.55, 0.2) for n in range(200)}
    b = {f"q{n:03}": noise.gauss(0.5, 0.2) for n in range(200)}
    result = compare(a, b)
    assert result.t_test.p is not None
    assert result.randomisation.p == pytest.approx(result.t_test.p, abs=0.02)
    deviation = statistics.stdev(a[qid] - b[qid] for qid in a) / math.sqrt(200)
    assert result.high - result.low == pytest.approx(2 * 1.96 * deviation, rel=0.06)
    shuffled = dict(sorted(a.items(), key=lambda item: item[1]))
    assert compare(shuffled, b) == result
    assert compare(a, b, seed=1).randomisation.p != result.randomisation.p
    assert "seed" in result.interval


def test_a_chance_of_one_in_20_is_one_in_20() -> None:
    noise = random.Random(3)
    rejected = 0
    for _ in range(200):
        pairs = {f"q{n}": (noise.random(), noise.random()) for n in range(20)}
        result = compare({q: a for q, (a, _) in pairs.items()}, {q: b for q, (_, b) in pairs.items()}, samples=400)
        assert result.randomisation.p is not None
        rejected += result.randomisation.p <= 0.05
    assert 2 <= rejected <= 22  # 10 expected; outside about 1 in 10,000


def test_small_differences_are_ties() -> None:
    result = compare({"q1": 0.5, "q2": 0.5}, {"q1": 0.5 + 1e-12, "q2": 0.4})
    assert (result.wins, result.ties, result.losses) == (1, 1, 0)
    assert compare({"q1": 0.5}, {"q1": 0.4}, epsilon=0.2).ties == 1


def test_holm_adjusts_step_by_step() -> None:
    # Worked by hand: .01 * 4, .02 * 3, .03 * 2 lifted to the one before, .5 * 1.
    assert holm([0.02, 0.5, 0.01, 0.03]) == pytest.approx((0.06, 0.5, 0.04, 0.06))
    assert holm([0.9, 0.8]) == pytest.approx((1.0, 1.0))
    assert holm([]) == ()
    with pytest.raises(InputError, match="between 0 and 1"):
        holm([math.nan])


def test_a_family_is_corrected_and_says_so() -> None:
    first, second = compare_family({"sira": A, "rm3": B | {"q1": 0.25}}, B, measure="MAP", baseline_name="bm25")
    assert (first.system, second.system, first.baseline, first.measure) == ("sira", "rm3", "bm25", "MAP")
    p = [first.t_test.p or 0, second.t_test.p or 0]
    assert [first.t_test.p_corrected, second.t_test.p_corrected] == pytest.approx(list(holm(p)))
    assert "after Holm over 2 comparisons" in str(first.t_test)


def test_topics_must_be_the_same_and_values_numbers() -> None:
    with pytest.raises(InputError, match=r"bm25 lacks 1 topic\(s\): q4"):
        compare(A, {qid: B[qid] for qid in ("q1", "q2", "q3")}, names=("sira", "bm25"))
    with pytest.raises(InputError, match=r"sira lacks 1 topic\(s\): q9"):
        compare(A, B | {"q9": 1.0}, names=("sira", "bm25"))
    with pytest.raises(InputError, match="no topic"):
        compare({}, {})
    with pytest.raises(InputError, match="NaN"):
        compare(A | {"q1": math.nan}, B)
    with pytest.raises(InputError, match="too few"):
        compare(A, B, samples=1)
