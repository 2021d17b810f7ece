"""What the figures of a report share: scales, axes, marks and legends, as SVG with the colours of the page's style.

Series differ in colour, shape and dash, so that none is told by its colour alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from sira.html import safe

WIDTH = 360
"""Units of a drawing; at the width of a phone about one pixel each."""
LETTER = 6.2
"""About the width of a letter of the 11 units that the style sets."""
RIGHT = WIDTH - 8

_COLOURS, _SHAPES, _DASHES = 6, 5, ("", "6 3", "2 3", "8 3 2 3")
Scale = Callable[[float], float]


class Series(NamedTuple):
    """How one system is drawn: the class of its colour, its shape (0: circle), the dashes of its line."""

    colour: str
    shape: int
    dash: str


def series(number: int) -> Series:
    """The n-th of 30 that differ; 0, in the colour of the text, is for the baseline."""
    if number == 0:
        return Series("c0", 0, "")
    return Series(f"c{(number - 1) % _COLOURS + 1}", number % _SHAPES, _DASHES[number % len(_DASHES)])


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """From values to units of the drawing; a span of nothing lies in the middle."""
    span = high - low
    return lambda value: start + (end - start) * ((value - low) / span if span else 0.5)


def logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    """As `linear`, for values > 0."""
    inner = linear(log10(low), log10(high), start, end)
    return lambda value: inner(log10(value))


def ticks(most: float, count: int = 4) -> list[float]:
    """From 0 to at least `most` in about `count` steps of 1, 2 or 5 times a power of ten."""
    most = most if most > 0 else 1.0
    power = 10.0 ** floor(log10(most / count))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power * count >= most * (1 - 1e-9))
    return [number * step for number in range(ceil(most / step - 1e-9) + 1)]


def ticks_between(low: float, high: float, count: int = 5) -> list[float]:
    """As `ticks`, but from below `low`: for points, whose distance from 0 says nothing."""
    span = high - low if high > low else high or 1.0
    steps = ticks(span, count)
    step = steps[1]
    first = max(0, floor(low / step + 1e-9) - (low > 0 and low % step < 0.1 * step))
    last = max(ceil(high / step - 1e-9), first + 1)
    return [number * step for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten around the values, both ends included."""
    steps = [
        digit * 10.0**power for power in range(floor(log10(low)) - 1, ceil(log10(high)) + 1) for digit in (1, 2, 5)
    ]
    start = max((step for step in steps if step <= low * (1 + 1e-9)), default=steps[0])
    end = min((step for step in steps if step >= high * (1 - 1e-9)), default=steps[-1])
    if start == end:
        end = steps[min(steps.index(end) + 1, len(steps) - 1)]
    return [step for step in steps if start <= step <= end]


def text(x: float, y: float, words: str, anchor: str = "start", classes: str = "") -> str:
    given = f' class="{classes}"' if classes else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{given}>{safe(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, classes: str) -> str:
    return f'<line class="{classes}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def rect(x: float, y: float, size: tuple[float, float], classes: str, title: str = "") -> str:
    """`size` is width and height; `title` is shown under the pointer."""
    inner = f"<title>{safe(title)}</title>" if title else ""
    return (
        f'<rect class="{classes}" x="{x:.1f}" y="{y:.1f}" width="{max(size[0], 0):.1f}" '
        f'height="{max(size[1], 0):.1f}">{inner}</rect>'
    )


def polyline(points: Iterable[tuple[float, float]], classes: str, dash: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline class="{classes}" points="{path}"{dashes}/>'


def mark(style: Series, x: float, y: float, title: str = "", radius: float = 4.5) -> str:
    """A circle, square, triangle, diamond or cross around a point."""
    inner = f"<title>{safe(title)}</title>" if title else ""
    r = radius
    match style.shape:
        case 0:
            return f'<circle class="mark {style.colour}" cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}">{inner}</circle>'
        case 1:
            path = f"M{x - r:.1f} {y - r:.1f}h{2 * r:.1f}v{2 * r:.1f}h{-2 * r:.1f}z"
        case 2:
            path = f"M{x:.1f} {y - 1.2 * r:.1f}l{1.2 * r:.1f} {2.1 * r:.1f}h{-2.4 * r:.1f}z"
        case 3:
            d = 1.3 * r
            path = f"M{x:.1f} {y - d:.1f}l{d:.1f} {d:.1f}l{-d:.1f} {d:.1f}l{-d:.1f} {-d:.1f}z"
        case _:
            t = 0.45 * r
            arm = 1.2 * r - t
            path = (
                f"M{x - t:.1f} {y - t - arm:.1f}h{2 * t:.1f}v{arm:.1f}h{arm:.1f}v{2 * t:.1f}h{-arm:.1f}v{arm:.1f}"
                f"h{-2 * t:.1f}v{-arm:.1f}h{-arm:.1f}v{-2 * t:.1f}h{arm:.1f}z"
            )
    return f'<path class="mark {style.colour}" d="{path}">{inner}</path>'


def svg(parts: Iterable[str], title: str, height: float) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{safe(title)}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>\n'
    )


def legend(names: Sequence[tuple[str, Series]], *, lines: bool = False) -> str:
    """Beside each name its mark, on a piece of its line if the figure has `lines`."""
    items: list[tuple[str, str]] = []
    for name, style in names:
        piece = polyline([(0, 6), (26, 6)], f"curve {style.colour}", style.dash) if lines else ""
        items.append((name, piece + mark(style, 13, 6, radius=4)))
    return _legend(items)


def patch_legend(names: Sequence[tuple[str, str]]) -> str:
    """Beside each name a patch of its classes."""
    return _legend([(name, rect(5, 0.5, (16, 11), classes)) for name, classes in names])


def _legend(items: Iterable[tuple[str, str]]) -> str:
    swatch = '<svg class="swatch" viewBox="0 0 26 12" aria-hidden="true">'
    lines = "".join(f"<li>{swatch}{drawing}</svg><span>{safe(name)}</span></li>" for name, drawing in items)
    return f'<ul class="legend">{lines}</ul>\n'


def shortened(name: str, letters: int) -> str:
    """The name without its middle: what tells systems apart stands mostly at an end."""
    if len(name) <= letters:
        return name
    head = letters // 2
    return f"{name[:head]}…{name[len(name) - (letters - head - 1) :]}"


def brief(name: str) -> str:
    """The name of a grid's row without its keys: `both+sketch_weight=0.25` as `both+0.25`."""
    return re.sub(r"\+[A-Za-z0-9_]+=", "+", name)


def figure(title: str, drawing: str, below: str = "", note: str = "") -> str:
    soft = f'<p class="soft">{safe(note)}</p>\n' if note else ""
    return f"<figure>\n<figcaption>{safe(title)}</figcaption>\n{drawing}{below}{soft}</figure>\n"


def numbers(table: str) -> str:
    """The figures of a drawing as a table, folded away."""
    return f"<details><summary>Values</summary>{table}</details>\n"
