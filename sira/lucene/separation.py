"""How far terms separate the first hits of a program from those after them: read from the index, without a model."""

from __future__ import annotations

FIRST, NEXT = 10, 1000
"""The hits that are taken for good, and those behind them that are the background."""


def separation(held: bytes, hits: int) -> list[float]:
    """For each term max(0, share of the first hits that hold it - share of the next), over the largest of them.

    `held` has for each term one byte for each of the `hits`, best first: 1 where it holds the term. There must be hits
    behind the first. All 1 where no term separates them.
    """
    margins: list[float] = []
    for start in range(0, len(held), hits):
        good, background = held.count(1, start, start + FIRST), held.count(1, start + FIRST, start + hits)
        margins.append(max(0.0, good / FIRST - background / (hits - FIRST)))
    most = max(margins, default=0.0)
    return [margin / most for margin in margins] if most > 0 else [1.0] * len(margins)
