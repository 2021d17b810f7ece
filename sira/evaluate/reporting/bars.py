"""Bars by collection: one panel a collection, one bar a system, the scale the same in all."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from sira import html
from sira.evaluate.config import Experiment
from sira.evaluate.reporting.drawing import (
    LETTER,
    RIGHT,
    figure,
    line,
    linear,
    numbers,
    rect,
    shortened,
    svg,
    text,
    ticks,
)
from sira.evaluate.reporting.tables import first_measure, is_significant, short, value_text
from sira.evaluate.results import CollectionResults

_BOLD = 1.12
_ROW, _BAR, _FOOT, _LABEL_LETTERS, _VALUES = 20, 12, 20, 24, 48


def bars(experiment: Experiment, results: Sequence[CollectionResults]) -> list[str]:
    """A figure a collection, of the first measure, with intervals; the baseline is hatched."""
    most = max(max(row.evaluation.mean[first_measure(item)], row.interval[1]) for item in results for row in item.rows)
    return [_panel(experiment, item, ticks(most, 5)) for item in results]


def _panel(experiment: Experiment, collection: CollectionResults, axis: Sequence[float]) -> str:
    measure = first_measure(collection)
    names = [shortened(row.cell.system, _LABEL_LETTERS) for row in collection.rows]
    left = max(map(len, names)) * LETTER * _BOLD + 8
    scale = linear(0, axis[-1], left, RIGHT - _VALUES)
    height = len(names) * _ROW
    parts = [line(scale(value), 0, scale(value), height, "grid") for value in axis]
    for number, (name, row) in enumerate(zip(names, collection.rows, strict=True)):
        value, (low, high) = row.evaluation.mean[measure], row.interval
        printed = value_text(row, measure)
        middle = (number + 0.5) * _ROW
        is_baseline = row.cell.system == experiment.baseline
        title = f"{row.cell.system}: {printed} [{low:.4f}, {high:.4f}]"
        parts += [
            text(left - 5, middle + 4, name, "end", "strong" if is_baseline else ""),
            rect(
                scale(0),
                middle - _BAR / 2,
                (scale(value) - scale(0), _BAR),
                "hatched" if is_baseline else "bar",
                title,
            ),
            line(scale(low), middle, scale(high), middle, "whisker"),
            *(line(scale(end), middle - 3, scale(end), middle + 3, "whisker") for end in (low, high)),
            text(RIGHT - _VALUES + 8, middle + 4, printed + ("*" if is_significant(collection, row, measure) else "")),
        ]
    widest = max(len(f"{value:g}") for value in axis) * LETTER + 6
    every = ceil(widest / (scale(axis[1]) - scale(0)))
    parts += [text(scale(value), height + 14, f"{value:g}", "middle") for value in axis[::every]]
    rows = [
        [row.cell.system, value_text(row, measure), f"{row.interval[0]:.4f}", f"{row.interval[1]:.4f}",
         short(row.cell.fingerprint)]
        for row in collection.rows
    ]  # fmt: skip
    title = f"{collection.name}: {measure}"
    table = html.table(["system", measure, "low", "high", "cell"], rows, (0, 4))
    return figure(title, svg(parts, title, height + _FOOT), numbers(table))
