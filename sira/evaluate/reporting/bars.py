"""Bars by collection: one panel a collection or macro, one bar a system, the scale the same in all."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from sira import html
from sira.evaluate.macros import MacroResults
from sira.evaluate.reporting.contents import Report
from sira.evaluate.reporting.drawing import (
    LETTER,
    RIGHT,
    brief,
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
from sira.evaluate.reporting.over_all import is_significant_over, value_over
from sira.evaluate.reporting.tables import first_measure, is_significant, short, value_text
from sira.evaluate.results import CollectionResults

_BOLD = 1.12
_ROW, _BAR, _FOOT, _LABEL_LETTERS, _VALUES = 20, 12, 20, 24, 48


class Bar(NamedTuple):
    """One system: its mean with its interval, both as numbers and the mean as it is printed; `mark` is a star where it
    differs from the baseline; `cell` is the beginning of its fingerprint."""

    system: str
    value: float
    interval: tuple[float, float]
    printed: str
    mark: str
    cell: str


def bars(report: Report) -> tuple[list[str], list[str]]:
    """A figure a macro and a figure a collection with tables of its own, of the first measure, with intervals; the
    baseline is hatched, the scale the same in all."""
    macros = [_of_macro(item) for item in report.macros]
    collections = [_of_collection(item) for item in report.shown]
    if not macros and not collections:
        return [], []
    axis = ticks(max(max(bar.value, bar.interval[1]) for found in (*macros, *collections) for bar in found), 5)
    baseline = report.experiment.baseline
    return (
        [
            _panel(f"{item.name}: {item.measures[0]}", found, baseline, axis)
            for item, found in zip(report.macros, macros, strict=True)
        ],
        [
            _panel(f"{item.name}: {first_measure(item)}", found, baseline, axis)
            for item, found in zip(report.shown, collections, strict=True)
        ],
    )


def _of_macro(macro: MacroResults) -> list[Bar]:
    measure = macro.measures[0]
    return [
        Bar(
            row.system,
            row.mean[measure],
            row.interval,
            value_over(macro, row.system, measure),
            "*" if is_significant_over(macro, row.system, measure) else "",
            short(row.cell),
        )
        for row in macro.rows
    ]


def _of_collection(collection: CollectionResults) -> list[Bar]:
    measure = first_measure(collection)
    return [
        Bar(
            row.cell.system,
            row.evaluation.mean[measure],
            row.interval,
            value_text(row, measure),
            "*" if is_significant(collection, row, measure) else "",
            short(row.cell.fingerprint),
        )
        for row in collection.rows
    ]


def _panel(title: str, found: Sequence[Bar], baseline: str, axis: Sequence[float]) -> str:
    names = [shortened(brief(bar.system), _LABEL_LETTERS) for bar in found]
    left = max(map(len, names)) * LETTER * _BOLD + 8
    scale = linear(0, axis[-1], left, RIGHT - _VALUES)
    height = len(names) * _ROW
    parts = [line(scale(value), 0, scale(value), height, "grid") for value in axis]
    for number, (name, bar) in enumerate(zip(names, found, strict=True)):
        low, high = bar.interval
        middle = (number + 0.5) * _ROW
        is_baseline = bar.system == baseline
        parts += [
            text(left - 5, middle + 4, name, "end", "strong" if is_baseline else ""),
            rect(
                scale(0),
                middle - _BAR / 2,
                (scale(bar.value) - scale(0), _BAR),
                "hatched" if is_baseline else "bar",
                f"{bar.system}: {bar.printed} [{low:.4f}, {high:.4f}]",
            ),
            line(scale(low), middle, scale(high), middle, "whisker"),
            *(line(scale(end), middle - 3, scale(end), middle + 3, "whisker") for end in (low, high)),
            text(RIGHT - _VALUES + 8, middle + 4, bar.printed + bar.mark),
        ]
    widest = max(len(f"{value:g}") for value in axis) * LETTER + 6
    every = ceil(widest / (scale(axis[1]) - scale(0)))
    parts += [text(scale(value), height + 14, f"{value:g}", "middle") for value in axis[::every]]
    rows = [[bar.system, bar.printed, f"{bar.interval[0]:.4f}", f"{bar.interval[1]:.4f}", bar.cell] for bar in found]
    table = html.table(["system", title.rpartition(": ")[2], "low", "high", "cell"], rows, (0, 4))
    return figure(title, svg(parts, title, height + _FOOT), numbers(table))
