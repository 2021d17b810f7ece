"""Is one system better than another on the same topics? Paired tests, with an interval for the size of the difference.

Every result names its test, n and sides, because defaults differ between tools and versions. Sources: Smucker, Allan
and Carterette, CIKM 2007 (randomisation and t-test for retrieval); Holm, Scand. J. Statistics 1979 (several
comparisons); Efron and Tibshirani 1993 (bootstrap, percentile interval).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from itertools import product
from math import isfinite, sqrt
from statistics import quantiles
from typing import TYPE_CHECKING, Any

import numpy as np

from sira.errors import EnvironmentFault, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 20240229
SAMPLES = 10_000
EPSILON = 1e-9
CORRECTION = "Holm"

_AT_ONCE = 1 << 22  # random numbers held at a time


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test. `p` is None where the test says nothing (fewer than two topics); `p_corrected` is set by
    `compare_family`, within `family` comparisons of the same test."""

    __test__ = False  # for pytest, which would collect the name

    name: str
    n: int
    sides: int
    p: float | None
    statistic: float | None = None
    df: int | None = None
    p_corrected: float | None = None
    correction: str | None = None
    family: int = 1

    def __str__(self) -> str:
        if self.p is None:
            return f"{self.name}: too few topics (n = {self.n})"
        text = f"{self.name}, {self.sides}-sided, n = {self.n}"
        if self.statistic is not None:
            text += f", t = {self.statistic:.3f}, df = {self.df}"
        text += f", p = {self.p:.4f}"
        if self.p_corrected is not None:
            text += f", p = {self.p_corrected:.4f} after {self.correction} over {self.family} comparisons"
        return text


@dataclass(frozen=True, slots=True)
class Comparison:
    """A system against a baseline on one measure, topic by topic.

    `difference` is mean(system) - mean(baseline); [`low`, `high`] its 95 % bootstrap interval. A topic is a win of
    the system if its value is larger by more than `epsilon`, a loss if smaller by more, else a tie.
    """

    measure: str
    system: str
    baseline: str
    n: int
    difference: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    epsilon: float
    interval: str
    t_test: TestResult
    randomisation: TestResult

    def reversed(self) -> Comparison:
        """The same comparison with the parts of system and baseline exchanged."""
        statistic = self.t_test.statistic
        return replace(
            self,
            system=self.baseline,
            baseline=self.system,
            difference=-self.difference,
            low=-self.high,
            high=-self.low,
            wins=self.losses,
            losses=self.wins,
            t_test=replace(self.t_test, statistic=None if statistic is None else -statistic),
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON; an infinite t becomes None."""
        result = asdict(self)
        statistic = self.t_test.statistic
        if statistic is not None and not isfinite(statistic):
            result["t_test"]["statistic"] = None
        return result


def compare(
    system: Mapping[str, float],
    baseline: Mapping[str, float],
    *,
    measure: str = "",
    names: tuple[str, str] = ("system", "baseline"),
    samples: int = SAMPLES,
    seed: int = SEED,
    epsilon: float = EPSILON,
) -> Comparison:
    """Compare two systems by their values for each topic (qid -> value), e.g. `Evaluation.per_topic["nDCG@10"]`.

    The result does not depend on the order of the topics, and is the same for the same `seed`.
    Raises InputError unless both hold the same topics, at least one, and finite values.
    """
    qids = _common_topics(system, baseline, names)
    a, b = (np.array([values[qid] for qid in qids], dtype=np.float64) for values in (system, baseline))
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError(f"comparison of {names[0]} and {names[1]}: values must be finite numbers, not NaN")
    differences = a - b
    low, high = _bootstrap_interval(differences, samples, seed)
    return Comparison(
        measure=measure,
        system=names[0],
        baseline=names[1],
        n=len(qids),
        difference=float(differences.mean()),
        low=low,
        high=high,
        wins=int((differences > epsilon).sum()),
        ties=int((np.abs(differences) <= epsilon).sum()),
        losses=int((differences < -epsilon).sum()),
        epsilon=epsilon,
        interval=f"95 % percentile bootstrap over topics, {samples} samples, seed {seed}",
        t_test=_paired_t_test(differences),
        randomisation=randomisation_test(differences, samples, seed),
    )


def compare_family(
    systems: Mapping[str, Mapping[str, float]],
    baseline: Mapping[str, float],
    *,
    measure: str = "",
    baseline_name: str = "baseline",
    samples: int = SAMPLES,
    seed: int = SEED,
    epsilon: float = EPSILON,
) -> tuple[Comparison, ...]:
    """Compare several systems with one baseline; p values are also given after Holm's correction over the family."""
    plain = [
        compare(
            values, baseline, measure=measure, names=(name, baseline_name), samples=samples, seed=seed, epsilon=epsilon
        )
        for name, values in systems.items()
    ]
    t_tests = corrected([comparison.t_test for comparison in plain])
    randomisations = corrected([comparison.randomisation for comparison in plain])
    return tuple(
        replace(comparison, t_test=t_test, randomisation=randomisation)
        for comparison, t_test, randomisation in zip(plain, t_tests, randomisations, strict=True)
    )


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's step-down adjusted p values, in the order given: the i-th smallest of m times (m - i + 1), made
    monotone and at most 1. Raises InputError for a value outside [0, 1]."""
    if not all(0 <= p <= 1 for p in p_values):
        raise InputError(f"p values must lie between 0 and 1: {list(p_values)}")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return tuple(adjusted)


def p_text(value: float | None) -> str:
    """A p value as reports print it; a dash where the test says nothing."""
    return "-" if value is None else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def corrected(results: Sequence[TestResult]) -> list[TestResult]:
    """The results of one family with Holm's correction."""
    known = [result.p for result in results if result.p is not None]
    adjusted = iter(holm(known))
    return [
        result
        if result.p is None
        else replace(result, p_corrected=next(adjusted), correction=CORRECTION, family=len(known))
        for result in results
    ]


def _common_topics(a: Mapping[str, float], b: Mapping[str, float], names: tuple[str, str]) -> list[str]:
    for one, other, lacking in ((a, b, names[1]), (b, a, names[0])):
        alone = [qid for qid in one if qid not in other]
        if alone:
            shown = ", ".join(alone[:5]) + (", ..." if len(alone) > 5 else "")
            raise InputError(
                f"{lacking} lacks {len(alone)} topic(s): {shown}; paired tests need the same topics in both"
            )
    if not a:
        raise InputError(f"comparison of {names[0]} and {names[1]}: no topic; give the values of at least one")
    return sorted(a)


def _paired_t_test(differences: NDArray[np.float64]) -> TestResult:
    """Student's paired t-test, two-sided. Without any difference p is 1; with one and the same at all topics, 0."""
    name, n = "paired t-test (Student)", len(differences)
    if n < 2:
        return TestResult(name, n, 2, None)
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    # Equal differences have a deviation of nothing but rounding, of which a t would say nothing.
    if deviation <= 1e-12 * abs(mean) or deviation == 0:
        if abs(mean) <= EPSILON:
            return TestResult(name, n, 2, 1.0, 0.0, n - 1)
        return TestResult(name, n, 2, 0.0, float("inf") if mean > 0 else float("-inf"), n - 1)
    t = mean / (deviation / sqrt(n))
    try:
        special = import_module("scipy.special")  # not scipy.stats, which takes a second to import
    except ImportError as error:
        raise EnvironmentFault(
            f"scipy cannot be imported ({error}); `sira doctor` names the command that installs it"
        ) from None
    return TestResult(name, n, 2, float(2 * special.stdtr(n - 1, -abs(t))), t, n - 1)


def randomisation_test(differences: NDArray[np.float64], samples: int, seed: int) -> TestResult:
    """How often the mean is as far from 0 when the two systems change places at random, topic by topic.

    All 2^n exchanges are counted where they are no more than `samples`; else as many are drawn, and the observed one
    is counted with them, so that p is never 0.
    """
    n = len(differences)
    bound = abs(float(differences.sum())) * (1 - 1e-12) - 1e-15  # an equal sum in another order differs by rounding
    if n < 31 and 2**n <= samples:
        signs = np.array(list(product((-1.0, 1.0), repeat=n)))
        extreme = int((np.abs(signs @ differences) >= bound).sum())
        return TestResult(f"paired randomisation test (all {2**n} sign flips)", n, 2, extreme / 2**n)
    generator = np.random.default_rng(seed)
    extreme = 1
    for rows in chunks(samples, n):
        signs = generator.integers(0, 2, size=(rows, n), dtype=np.int8) * 2.0 - 1
        extreme += int((np.abs(signs @ differences) >= bound).sum())
    name = f"paired randomisation test ({samples} sign flips, seed {seed})"
    return TestResult(name, n, 2, extreme / (samples + 1))


def _bootstrap_interval(differences: NDArray[np.float64], samples: int, seed: int) -> tuple[float, float]:
    generator = np.random.default_rng(seed)
    n = len(differences)
    means: list[float] = []
    for rows in chunks(samples, n):
        means += differences[generator.integers(0, n, size=(rows, n))].mean(axis=1).tolist()
    in_fortieths = quantiles(means, n=40, method="inclusive")
    return in_fortieths[0], in_fortieths[-1]


def chunks(samples: int, n: int) -> list[int]:
    """Row counts that add up to `samples`, each of at most 4 million numbers."""
    if samples < 100:
        raise InputError(f"samples = {samples}: too few for an interval; draw 100 or more, better {SAMPLES}")
    rows = max(1, _AT_ONCE // n)
    return [min(rows, samples - start) for start in range(0, samples, rows)]
