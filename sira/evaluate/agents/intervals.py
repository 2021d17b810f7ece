"""Intervals of means over questions."""

from __future__ import annotations

from collections.abc import Mapping

from sira.evaluate.strata import stratified_interval

Interval = tuple[float, float]


def interval(values: Mapping[str, float]) -> Interval | None:
    """95 % percentile bootstrap of the mean of values by question; None without any."""
    return stratified_interval([values]) if values else None
