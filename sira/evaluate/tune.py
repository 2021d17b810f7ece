"""Choosing parameters by a coarse-to-fine grid, and what the choice is worth on topics that took no part in it.

The whole search is repeated within each fold, refinement included: a point that was chosen on some topics is counted on
the others only. Nothing here knows of indexes or files.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from sira.errors import InputError
from sira.evaluate.significance import Comparison, compare
from sira.evaluate.tune_space import Point, Space

Values = Mapping[str, float]
Evaluate = Callable[[Point], Values]
"""The value of a measure for every topic (qid -> value) at one point; asked again for a point it answers alike."""

SEED = 13


@dataclass(frozen=True, slots=True)
class TuneSettings:
    """`rounds` of finer grids after the coarse one; `folds` of the cross-validation, dealt out by `seed`."""

    folds: int = 5
    rounds: int = 2
    seed: int = SEED

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise InputError(f"folds = {self.folds}: a cross-validation needs two or more")
        if self.rounds < 0:
            raise InputError(f"rounds = {self.rounds}: it counts from 0")


@dataclass(frozen=True, slots=True)
class Tuned:
    """`chosen` on all topics, whose mean there (`in_sample`) is too good to be expected again; `by_fold` are the
    choices without each fold. `held_out` compares their values on the topics left out with the default's."""

    space: Space
    chosen: Point
    in_sample: float
    default_mean: float
    held_out_mean: float
    held_out: Comparison
    by_fold: tuple[Point, ...]
    topics: int

    @property
    def better(self) -> bool:
        """Whether the interval of the held-out difference lies above 0."""
        return self.held_out.low > 0


def tune(space: Space, evaluate: Evaluate, settings: TuneSettings | None = None, *, measure: str = "") -> Tuned:
    """Choose a point and measure the choice. Deterministic, as far as `evaluate` is.

    Raises InputError where there are fewer topics than folds.
    """
    settings = settings or TuneSettings()
    default = evaluate(space.default)
    qids = sorted(default)
    if len(qids) < settings.folds:
        raise InputError(f"{len(qids)} topics for {settings.folds} folds: give fewer folds, or more topics")
    chosen = choose(space, evaluate, qids, settings.rounds)
    order = list(qids)
    random.Random(settings.seed).shuffle(order)
    held_out: dict[str, float] = {}
    by_fold: list[Point] = []
    for number in range(settings.folds):
        left_out = order[number :: settings.folds]
        point = choose(space, evaluate, sorted(set(qids) - set(left_out)), settings.rounds)
        values = evaluate(point)
        held_out |= {qid: values[qid] for qid in left_out}
        by_fold.append(point)
    return Tuned(
        space,
        chosen,
        _mean(evaluate(chosen), qids),
        _mean(default, qids),
        _mean(held_out, qids),
        compare(held_out, default, measure=measure, names=("tuned, held out", "default")),
        tuple(by_fold),
        len(qids),
    )


def choose(space: Space, evaluate: Evaluate, qids: Collection[str], rounds: int) -> Point:
    """The point with the highest mean over `qids`: of the coarse grid, then of finer ones around the best so far. Of
    equal points the one that was tried first stays, and the default is the very first."""
    best, highest = space.default, _mean(evaluate(space.default), qids)
    axes: tuple[tuple[float, ...], ...] = space.axes()
    points = list(space.coarse())
    for number in range(rounds + 1):
        for point in points:
            mean = _mean(evaluate(point), qids)
            if mean > highest + 1e-12:  # sums in another order differ by rounding
                best, highest = point, mean
        if number < rounds:
            axes, points = space.finer(axes, best)
    return best


def _mean(values: Values, qids: Collection[str]) -> float:
    return sum(values[qid] for qid in qids) / len(qids)
