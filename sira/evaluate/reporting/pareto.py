"""Quality against cost: systems as points, with the line of those that no other beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sira.evaluate.reporting.drawing import (
    LETTER,
    RIGHT,
    WIDTH,
    Series,
    brief,
    figure,
    legend,
    line,
    linear,
    log_ticks,
    logarithmic,
    mark,
    polyline,
    shortened,
    svg,
    text,
    ticks,
    ticks_between,
)

_LEFT, _TOP, _BASE, _LABEL_LETTERS = 38.0, 24.0, 200.0, 26
_NOTE = "Dashed: no other system costs as little and is better. The vertical axis need not begin at 0."


class Point(NamedTuple):
    """One system: cost >= 0, quality >= 0, and how it is drawn."""

    name: str
    cost: float
    quality: float
    style: Series


def frontier(points: Sequence[Point]) -> list[Point]:
    """Those for which no other costs as little or less and is better, by cost; of equals the first."""
    found: list[Point] = []
    for point in sorted(points, key=lambda point: (point.cost, -point.quality)):
        if not found or point.quality > found[-1].quality:
            found.append(point)
    return found


def pareto(
    points: Sequence[Point], cost: str, quality: str, *, log: bool = False, note: str = "", key: bool = True
) -> str:
    """The figure; `cost` and `quality` name the axes, `log` is for costs > 0; with a legend if `key`."""
    title = f"{quality} against {cost}"
    best = frontier(points)
    most = max(point.cost for point in points)
    axis = log_ticks(min(point.cost for point in points), most) if log else ticks(most)
    x = (logarithmic if log else linear)(axis[0], axis[-1], _LEFT + 10, RIGHT - 10)
    upright = ticks_between(min(point.quality for point in points), max(point.quality for point in points))
    y = linear(upright[0], upright[-1], _BASE, _TOP)
    parts = [line(_LEFT, y(value), RIGHT, y(value), "grid") for value in upright]
    parts += [text(_LEFT - 5, y(value) + 4, f"{value:g}", "end") for value in upright]
    parts += [line(x(value), _BASE, x(value), _BASE + 4, "axis") for value in axis]
    every = -(-len(axis) // 8)
    parts += [text(x(value), _BASE + 16, f"{value:g}", "middle") for value in axis[::every]]
    parts.append(text((_LEFT + WIDTH) / 2, _BASE + 31, cost, "middle"))
    steps: list[tuple[float, float]] = []
    for point in best:
        if steps:
            steps.append((x(point.cost), steps[-1][1]))
        steps.append((x(point.cost), y(point.quality)))
    parts.append(polyline([*steps, (RIGHT, steps[-1][1])], "frontier"))
    parts += [
        mark(
            point.style, x(point.cost), y(point.quality), f"{point.name}: {point.quality:.4f}, {point.cost:.4g} {cost}"
        )
        for point in points
    ]
    parts += _labels([(point.name, x(point.cost), y(point.quality)) for point in best])
    names = [(point.name, point.style) for point in points]
    return figure(title, svg(parts, title, _BASE + 38), legend(names) if key else "", f"{_NOTE} {note}".strip())


def _labels(points: Sequence[tuple[str, float, float]]) -> list[str]:
    """Names above and before the points, where no point can lie; moved up where one would lie on another."""
    placed: list[tuple[float, float, float]] = []
    parts: list[str] = []
    for name, x, y in points:
        shown = shortened(brief(name), _LABEL_LETTERS)
        length = len(shown) * LETTER
        end = max(x + 5, _LEFT + length + 5)
        level = y - 9
        while any(abs(level - other) < 12 and end - length < right and end > left for left, right, other in placed):
            level -= 12
        placed.append((end - length, end, level))
        parts.append(text(end, level, shown, "end", "halo"))
    return parts
