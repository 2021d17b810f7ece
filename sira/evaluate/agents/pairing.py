"""Two runs on the questions that both have: paired tests on accuracy and recall, Holm over all of them.

McNemar's test is the exact one, on the answers that one judge finds correct in one run only (McNemar, Psychometrika 12,
1947); the others are those of `sira.evaluate.significance`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb

from sira.errors import InputError
from sira.evaluate.agents.evaluation import RunEvaluation
from sira.evaluate.significance import Comparison, compare, corrected

ACCURACY = "accuracy"


@dataclass(frozen=True, slots=True)
class McNemar:
    """`gained`: correct in the run only, `lost`: in the baseline only, of `n` questions."""

    n: int
    gained: int
    lost: int
    p: float


@dataclass(frozen=True, slots=True)
class Pairing:
    """A run against a baseline. `common` questions are compared, the others only named. `judge` is the one judge of
    both runs, None where they have none in common: then accuracy is not compared, and `note` says why."""

    run: str
    baseline: str
    common: int
    only_run: tuple[str, ...]
    only_baseline: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    mcnemar: McNemar | None
    judge: str | None
    note: str


def pair(runs: Sequence[RunEvaluation], baseline: RunEvaluation) -> tuple[Pairing, ...]:
    """Compare runs with a baseline; Holm's correction is over all tests of all of them. Raises InputError where a run
    has no question in common with the baseline."""
    found = [_pair(run, baseline) for run in runs]
    tests = iter(corrected([item.randomisation for one in found for item in one.comparisons]))
    return tuple(
        replace(one, comparisons=tuple(replace(item, randomisation=next(tests)) for item in one.comparisons))
        for one in found
    )


def _pair(run: RunEvaluation, baseline: RunEvaluation) -> Pairing:
    common = [qid for qid in run.episodes if qid in baseline.episodes]
    names = run.run.name, baseline.run.name
    if not common:
        raise InputError(f"{names[0]} and {names[1]} have no question in common; there is nothing to compare")
    judge, ours, theirs = _one_judge(run, baseline)
    compared: list[Comparison] = []
    for measure, a, b in [(ACCURACY, ours, theirs), *_recalls(run, baseline)]:
        both = [qid for qid in common if qid in a and qid in b]
        if both:
            values = ({qid: values[qid] for qid in both} for values in (a, b))
            compared.append(compare(*values, measure=measure, names=names))
    note = ""
    if judge is None:
        note = "accuracy is not compared: " + (
            "no judge judged both runs in the same way" if run.judges else "not judged"
        )
    return Pairing(
        run=names[0],
        baseline=names[1],
        common=len(common),
        only_run=tuple(qid for qid in run.episodes if qid not in baseline.episodes),
        only_baseline=tuple(qid for qid in baseline.episodes if qid not in run.episodes),
        comparisons=tuple(compared),
        mcnemar=None if judge is None else mcnemar(ours, theirs),
        judge=judge,
        note=note,
    )


def mcnemar(run: Mapping[str, float], baseline: Mapping[str, float]) -> McNemar:
    """The exact two-sided test over the questions of both; a value of 1 is a correct answer."""
    both = [qid for qid in run if qid in baseline]
    gained = sum(run[qid] > baseline[qid] for qid in both)
    lost = sum(run[qid] < baseline[qid] for qid in both)
    differing = gained + lost
    tail = sum(comb(differing, count) for count in range(min(gained, lost) + 1))
    return McNemar(len(both), gained, lost, min(1.0, 2 * tail / 2**differing))


def _one_judge(
    run: RunEvaluation, baseline: RunEvaluation
) -> tuple[str | None, Mapping[str, float], Mapping[str, float]]:
    for theirs in baseline.judges:
        for ours in run.judges:
            if ours.fingerprint and ours.fingerprint == theirs.fingerprint:
                return theirs.label, ours.values, theirs.values
    return None, {}, {}


def _recalls(run: RunEvaluation, baseline: RunEvaluation) -> list[tuple[str, Mapping[str, float], Mapping[str, float]]]:
    return [
        (f"{layer} recall, {name}", item.per_question, baseline.labels[name].recall[layer].per_question)
        for name, found in run.labels.items()
        if name in baseline.labels
        for layer, item in found.recall.items()
    ]
