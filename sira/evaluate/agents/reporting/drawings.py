"""The figures of a report on agent runs: stacked bars, boxes, empirical distributions. All take numbers, not runs.

They share scales, marks and colours with the reports of experiments (`sira.evaluate.reporting.drawing`); parts of a
bar differ in pattern and are named or numbered, so that none is told by its colour alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from math import log1p

from sira import html
from sira.evaluate.agents.spending import Spread
from sira.evaluate.reporting.drawing import (
    LETTER,
    RIGHT,
    WIDTH,
    Scale,
    figure,
    legend,
    line,
    linear,
    mark,
    numbers,
    patch_legend,
    polyline,
    rect,
    series,
    shortened,
    svg,
    text,
    ticks,
)

STYLE = """
svg .part0 { fill: var(--good); } svg .part1 { fill: var(--good); fill-opacity: .55; }
svg .part2 { fill: url(#lines); stroke: var(--good); stroke-width: .7; }
svg .part3 { fill: url(#dots); stroke: var(--bad); stroke-width: .7; } svg .part4 { fill: var(--bad); }
svg .box { fill: var(--good); fill-opacity: .45; stroke: var(--good); }
svg .middle { stroke: var(--ink); stroke-width: 2.4; }
svg .hollow { fill: var(--card); stroke: var(--ink); stroke-width: 1.3; }
svg .on-bar { fill: var(--paper); font-weight: 600; }
"""
PATTERNS = (
    '<svg class="patterns" aria-hidden="true" xmlns="http://www.w3.org/2000/svg"><defs>'
    '<pattern id="lines" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<rect width="5" height="5" style="fill:var(--card)"/>'
    '<line x1="0" y1="2" x2="5" y2="2" style="stroke:var(--good);stroke-width:2"/></pattern>'
    '<pattern id="dots" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<rect width="6" height="6" style="fill:var(--card)"/>'
    '<circle cx="3" cy="3" r="1.5" style="fill:var(--bad)"/></pattern></defs></svg>\n'
)
PARTS = 5
"""Classes of the parts of a bar, the best first."""

_ROW, _BAR, _LABELS = 26, 15, 18
_LEFT, _TOP, _BASE = 38.0, 10.0, 180.0


def stacked(title: str, bars: Mapping[str, Mapping[str, int]], note: str = "") -> str:
    """A bar of the length 1 a name; its parts (at most PARTS, the best first) are counts of the same kinds in all."""
    kinds = list(next(iter(bars.values())))
    left = max(len(shortened(name, _LABELS)) for name in bars) * LETTER + 8
    x = linear(0, 1, left, RIGHT)
    parts: list[str] = []
    for number, (name, counts) in enumerate(bars.items()):
        middle, total = (number + 0.5) * _ROW, sum(counts.values())
        parts.append(text(left - 5, middle + 4, shortened(name, _LABELS), "end"))
        at = 0.0
        for place, (kind, count) in enumerate(counts.items()):
            share = count / total if total else 0.0
            told = f"{name}, {kind}: {count} of {total} ({100 * share:.1f}%)"
            parts.append(rect(x(at), middle - _BAR / 2, (x(at + share) - x(at), _BAR), f"part{place}", told))
            at += share
    height = len(bars) * _ROW
    parts += [line(x(value), height, x(value), height + 4, "axis") for value in (0.0, 0.25, 0.5, 0.75, 1.0)]
    parts += [text(x(value), height + 15, f"{100 * value:.0f}%", "middle") for value in (0.0, 0.5, 1.0)]
    rows = [
        [name, *(f"{count} ({100 * count / total:.1f}%)" if (total := sum(counts.values())) else "0"
                 for count in counts.values())]
        for name, counts in bars.items()
    ]  # fmt: skip
    key = patch_legend([(kind, f"part{place}") for place, kind in enumerate(kinds)])
    table = html.table(["", *kinds], rows)
    return figure(title, svg(parts, title, height + 20), key + numbers(table), note)


def boxes(title: str, rows: Mapping[str, Spread], note: str = "") -> str:
    """A row a name on one axis from 0: whiskers from the least to the most, a box between the quartiles, a line at the
    median, a hollow mark at the mean. The axis grows by log(1 + value) where the values differ much."""
    most = max(item.most for item in rows.values())
    left = max(len(shortened(name, _LABELS)) for name in rows) * LETTER + 8
    x, axis = _axis(most, left)
    height = len(rows) * _ROW
    parts = [line(x(value), 0, x(value), height, "grid") for value in axis]
    for number, (name, item) in enumerate(rows.items()):
        middle = (number + 0.5) * _ROW
        told = ", ".join(f"{key} {value:g}" for key, value in item.row().items())
        parts += [
            text(left - 5, middle + 4, shortened(name, _LABELS), "end"),
            line(x(item.least), middle, x(item.most), middle, "whisker"),
            *(line(x(end), middle - 4, x(end), middle + 4, "whisker") for end in (item.least, item.most)),
            rect(x(item.p25), middle - _BAR / 2, (x(item.p75) - x(item.p25), _BAR), "box", f"{name}: {told}"),
            line(x(item.median), middle - _BAR / 2, x(item.median), middle + _BAR / 2, "middle"),
            f'<circle class="hollow" cx="{x(item.mean):.1f}" cy="{middle:.1f}" r="3.4"/>',
        ]
    parts += [text(x(value), height + 14, f"{value:g}", "middle") for value in axis]
    said = "Box: quartiles; line: median; ring: mean; whiskers: least and most."
    return figure(title, svg(parts, title, height + 20), "", f"{said} {note}".strip())


def ecdf(title: str, axis: str, curves: Mapping[str, Sequence[float]], note: str = "") -> str:
    """Empirical distributions: at each value the share of questions that take no more. Values are >= 0."""
    return _steps(title, axis, {name: (sorted(values), len(values)) for name, values in curves.items()}, note)


def found_by_depth(title: str, curves: Mapping[str, Sequence[int | None]], note: str = "") -> str:
    """The share of labels that stand among the first ranks, over ranks; None is a label that is nowhere."""
    known = {
        name: (sorted(float(rank) for rank in ranks if rank is not None), len(ranks)) for name, ranks in curves.items()
    }
    return _steps(title, "rank in the surfaced order", known, note)


def _steps(title: str, axis: str, curves: Mapping[str, tuple[Sequence[float], int]], note: str) -> str:
    """A curve of steps a name: the share of a number of things whose value, of those known, is at most x."""
    most = max((values[-1] for values, _ in curves.values() if values), default=1.0)
    x, upright = _axis(most, _LEFT + 4)
    y = linear(0, 1, _BASE, _TOP)
    parts = [line(_LEFT, y(value), RIGHT, y(value), "grid") for value in (0.0, 0.25, 0.5, 0.75, 1.0)]
    parts += [text(_LEFT - 5, y(value) + 4, f"{100 * value:.0f}%", "end") for value in (0.0, 0.5, 1.0)]
    parts += [line(x(value), _BASE, x(value), _BASE + 4, "axis") for value in upright]
    parts += [text(x(value), _BASE + 16, f"{value:g}", "middle") for value in upright]
    parts.append(text((_LEFT + WIDTH) / 2, _BASE + 31, axis, "middle"))
    styles = [series(number) for number in range(len(curves))]
    for (name, (values, total)), style in reversed(list(zip(curves.items(), styles, strict=True))):
        points: list[tuple[float, float]] = [(x(0), y(0))]
        for value in dict.fromkeys(values):
            points += [(x(value), points[-1][1]), (x(value), y(bisect_right(values, value) / total))]
        points.append((RIGHT - 8, points[-1][1]))
        parts.append(polyline(points, f"curve {style.colour}", style.dash))
        for share in (0.25, 0.5, 0.75) if values else ():  # marks, so that a curve is known by its shape too
            value = values[min(len(values) - 1, int(share * len(values)))]
            reached = bisect_right(values, value) / total
            told = f"{name}: {100 * reached:.0f}% at most {value:g}"
            parts.append(mark(style, x(value), y(reached), told, 3.4))
    key = legend([(name, style) for name, style in zip(curves, styles, strict=True)], lines=True)
    return figure(title, svg(parts, title, _BASE + 38), key, note)


def _axis(most: float, left: float) -> tuple[Scale, list[float]]:
    """From 0 to at least `most`, with its ticks; by log(1 + value) beyond 100, with powers of ten as ticks."""
    if most <= 100:
        steps = ticks(most, 5)
        return linear(0, steps[-1], left, RIGHT - 8), steps
    inner = linear(0, log1p(most), left, RIGHT - 8)
    steps = [0.0, 1.0]
    while steps[-1] * 10 <= most:
        steps.append(steps[-1] * 10)
    return (lambda value: inner(log1p(value))), steps
