"""Recall by depth: how much of what is relevant stands in the first ranks."""

from __future__ import annotations

from collections.abc import Sequence

from sira import html
from sira.evaluate.reporting.drawing import (
    LETTER,
    RIGHT,
    WIDTH,
    Scale,
    Series,
    figure,
    legend,
    line,
    linear,
    logarithmic,
    mark,
    numbers,
    polyline,
    svg,
    text,
    ticks,
)
from sira.evaluate.results import CollectionResults

_LEFT, _TOP, _BASE = 38.0, 10.0, 200.0
_FEW = 4


def depth_figure(collection: CollectionResults, styles: Sequence[Series], *, key: bool = True) -> str:
    """A curve a system; the ranks on a logarithmic axis; with a legend if `key`."""
    depths = list(collection.rows[0].recall)
    upright = ticks(max(max(row.recall.values()) for row in collection.rows), 5)
    x = logarithmic(1, depths[-1], _LEFT + 6, RIGHT - 6)
    y = linear(0, upright[-1], _BASE, _TOP)
    parts = [line(_LEFT, y(value), RIGHT, y(value), "grid") for value in upright]
    parts += [text(_LEFT - 5, y(value) + 4, f"{value:g}", "end") for value in upright]
    named = [depth for depth in depths if str(depth).strip("0") in ("1", "5") or depth == depths[-1]]
    parts += [line(x(depth), _BASE, x(depth), _BASE + 4, "axis") for depth in depths]
    parts += [text(x(depth), _BASE + 16, str(depth), "middle") for depth in _apart(named, x)]
    parts.append(text((_LEFT + WIDTH) / 2, _BASE + 31, "depth (ranks)", "middle"))
    # Of many curves each has its marks at ranks of its own, so that they do not hide each other.
    every = 1 if len(collection.rows) <= _FEW else 3
    for number, (row, style) in reversed(list(enumerate(zip(collection.rows, styles, strict=True)))):
        parts.append(
            polyline([(x(depth), y(row.recall[depth])) for depth in depths], f"curve {style.colour}", style.dash)
        )
        parts += [
            mark(style, x(depth), y(row.recall[depth]), f"{row.cell.system}: {row.recall[depth]:.4f} at {depth}", 3.4)
            for at, depth in enumerate(depths)
            if (at + number) % every == 0
        ]
    title = "Recall by depth"
    rows = [[row.cell.system, *(f"{value:.4f}" for value in row.recall.values())] for row in collection.rows]
    table = html.table(["system", *map(str, depths)], rows)
    names = [(row.cell.system, style) for row, style in zip(collection.rows, styles, strict=True)]
    return figure(title, svg(parts, title, _BASE + 38), (legend(names, lines=True) if key else "") + numbers(table))


def _apart(depths: Sequence[int], x: Scale) -> list[int]:
    """Those whose figures do not touch, the last one among them."""
    found = [depths[-1]]
    for depth in reversed(depths[:-1]):
        if x(found[-1]) - x(depth) > (len(str(depth)) + len(str(found[-1]))) / 2 * LETTER + 4:
            found.append(depth)
    return found
