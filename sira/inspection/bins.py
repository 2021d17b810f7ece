"""Distributions cut into the bins of a histogram, for text and for pictures alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sira.inspection.counts import Distribution

MOST_BINS = 20


class Bin(NamedTuple):
    """The items whose value lies from `low` to `high`, both included; `high` is None for an open end."""

    low: int
    high: int | None
    items: int

    @property
    def label(self) -> str:
        if self.high is None:
            return f"{self.low}+"
        return str(self.low) if self.high == self.low else f"{self.low}-{self.high}"


def even_bins(distribution: Distribution) -> list[Bin]:
    """At most 21 bins of one width (1, 2 or 5 times a power of ten); what lies beyond the 99th percentile and fills no
    bin of its own is gathered in an open one, so that a few very long items do not flatten the rest."""
    counts = distribution.counts
    end = distribution.percentile(99)
    if end is None:
        return []
    least, most = min(counts), max(counts)
    width = _width(end - least + 1)
    start = least - least % width
    bins = [Bin(low, low + width - 1, _between(counts, low, low + width)) for low in range(start, end + 1, width)]
    beyond = start + len(bins) * width
    if most >= beyond:
        bins.append(Bin(beyond, None, _between(counts, beyond, most + 1)))
    return bins


def log_bins(distribution: Distribution) -> list[Bin]:
    """0 by itself, then 1-2, 3-9, 10-29, 30-99 and so on, up to the largest value."""
    counts = distribution.counts
    if not counts:
        return []
    bins, low, decade = [Bin(0, 0, counts.get(0, 0))], 1, 1
    while low <= max(counts):
        following = 3 * decade if low == decade else 10 * decade
        bins.append(Bin(low, following - 1, _between(counts, low, following)))
        low, decade = following, decade if low == decade else 10 * decade
    return bins


def _width(span: int) -> int:
    """The least width of which MOST_BINS cover the span, one more for an uneven start."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power * MOST_BINS >= span:
                return digit * power
        power *= 10


def _between(counts: Mapping[int, int], low: int, end: int) -> int:
    return sum(items for value, items in counts.items() if low <= value < end)
