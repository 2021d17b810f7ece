"""Calibration error: how far stated confidence is from accuracy, in the two published definitions, which disagree.

Both sort the judged answers by confidence into bins of 100 answers and take 100 times the root of the mean, over
answers, of the squared difference between a bin's mean confidence and its accuracy. They differ in two points:

`pi-serini`: the confidence is that of the response's own line (100 where it has none), and the last bin, of what is
left, counts like the others.
`hle` (Humanity's Last Exam, BrowseComp-Plus): the confidence is what the judge read in the response (100 where it read
none), what is left joins the last full bin, and that last bin, of the most confident answers, is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Literal, NamedTuple, get_args

from sira.errors import InputError

Definition = Literal["pi-serini", "hle"]
DEFINITIONS: tuple[Definition, ...] = get_args(Definition)

BIN = 100
"""Answers in a bin; of fewer in all neither definition says anything."""
UNSTATED = 100.0
"""The confidence, in per cent, of an answer that states none: in both definitions."""


class Stated(NamedTuple):
    """One judged answer: its confidence from 0 to 100, and whether it is correct."""

    confidence: float
    correct: bool


def calibration_error(answers: Sequence[Stated], definition: Definition) -> float | None:
    """From 0 to 100; None for fewer than 100 answers. Answers of equal confidence stay in the order given."""
    if definition not in DEFINITIONS:
        raise InputError(f"calibration error {definition!r}: choose {' or '.join(DEFINITIONS)}")
    if len(answers) < BIN:
        return None
    ordered = sorted(answers, key=lambda item: item.confidence)
    starts = list(range(0, len(ordered), BIN))
    if definition == "hle":
        starts = starts[: len(ordered) // BIN]
    bins = [ordered[start:end] for start, end in zip(starts, [*starts[1:], len(ordered)], strict=True)]
    counted = bins[:-1] if definition == "hle" else bins
    return 100 * sqrt(sum(len(items) / len(ordered) * _gap(items) ** 2 for items in counted))


def _gap(items: Sequence[Stated]) -> float:
    stated = sum(item.confidence for item in items) / len(items) / 100
    return stated - sum(item.correct for item in items) / len(items)
