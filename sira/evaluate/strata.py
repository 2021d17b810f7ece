"""Systems compared by the mean of their means over several collections, each collection a stratum of its own.

The interval resamples topics within each collection, and the randomisation exchanges the systems topic by topic; both
look at the difference of the unweighted means over collections, so that a large collection counts as much as a small
one. Sources as in sira.evaluate.significance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import quantiles
from typing import TYPE_CHECKING

import numpy as np

from sira.errors import InputError
from sira.evaluate.significance import (
    EPSILON,
    SAMPLES,
    SEED,
    Comparison,
    TestResult,
    chunks,
    corrected,
    randomisation_test,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

Strata = Sequence[Mapping[str, float]]
"""The values of one system by qid, one mapping a collection."""


def stratified_interval(strata: Strata, samples: int = SAMPLES, seed: int = SEED) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the mean over collections."""
    return _interval([np.array([values[qid] for qid in sorted(values)]) for values in strata], samples, seed)


def compare_strata(
    systems: Mapping[str, Strata],
    baseline: Strata,
    *,
    measure: str,
    baseline_name: str,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> tuple[Comparison, ...]:
    """Compare systems with one baseline over the same collections in the same order (Holm over the systems).

    Wins, ties and losses count collections, `n` topics; there is no t-test. Raises InputError unless each collection
    has the same topics, at least one, in both.
    """
    plain = [
        _compare(name, strata, baseline, measure, (baseline_name, samples, seed)) for name, strata in systems.items()
    ]
    tests = corrected([comparison.randomisation for comparison in plain])
    return tuple(replace(comparison, randomisation=test) for comparison, test in zip(plain, tests, strict=True))


def _compare(name: str, strata: Strata, baseline: Strata, measure: str, against: tuple[str, int, int]) -> Comparison:
    baseline_name, samples, seed = against
    differences: list[NDArray[np.float64]] = []
    for system, other in zip(strata, baseline, strict=True):
        if set(system) != set(other) or not system:
            raise InputError(
                f"comparison of {name} and {baseline_name}: a collection has other topics in one than in both"
            )
        qids = sorted(system)
        differences.append(np.array([system[qid] - other[qid] for qid in qids], dtype=np.float64))
    means = np.array([found.mean() for found in differences])
    # The sum of these is the difference of the means over collections, whatever the signs of single topics.
    weighted = np.array([value / (len(found) * len(differences)) for found in differences for value in found.tolist()])
    low, high = _interval(differences, samples, seed)
    return Comparison(
        measure=measure,
        system=name,
        baseline=baseline_name,
        n=len(weighted),
        difference=float(means.mean()),
        low=low,
        high=high,
        wins=int((means > EPSILON).sum()),
        ties=int((np.abs(means) <= EPSILON).sum()),
        losses=int((means < -EPSILON).sum()),
        epsilon=EPSILON,
        interval=f"95 % percentile bootstrap over topics within {len(differences)} collections, {samples} samples, "
        f"seed {seed}",
        t_test=TestResult("no t-test over collections", len(weighted), 2, None),
        randomisation=randomisation_test(weighted, samples, seed),
    )


def _interval(strata: Sequence[NDArray[np.float64]], samples: int, seed: int) -> tuple[float, float]:
    generator = np.random.default_rng(seed)
    total = np.zeros(samples)
    for values in strata:
        n, at = len(values), 0
        for rows in chunks(samples, n):
            total[at : at + rows] += values[generator.integers(0, n, size=(rows, n))].mean(axis=1)
            at += rows
    in_fortieths = quantiles((total / len(strata)).tolist(), n=40, method="inclusive")
    return in_fortieths[0], in_fortieths[-1]
