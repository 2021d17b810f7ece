"""Two small charts as SVG for a page: no library, no script, colours by CSS classes, and the figures as text."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from sira.html import safe

WIDTH = 360
"""Units of the drawing; at the width of a phone about one pixel each, so that letters of 11 units can be read."""
_ROW, _LABELS, _VALUES = 24, 112, 62
_LEFT, _TOP, _PLOT_HEIGHT, _FOOT = 38, 8, 130, 34
_WIDEST_COLUMN, _LETTER = 48, 6.5
_LABEL_LETTERS = 18


class Bar(NamedTuple):
    """One bar: its name, its length (>= 0), the text of its length, and the CSS class of its colour."""

    label: str
    value: float
    text: str
    colour: str = "plain"


def bar_chart(bars: Sequence[Bar], title: str) -> str:
    """Bars from left to right, one a line, with label and figure: for names and for few bins."""
    most = max((bar.value for bar in bars), default=0) or 1
    room = WIDTH - _LABELS - _VALUES
    parts: list[str] = []
    for number, bar in enumerate(bars):
        top = number * _ROW
        length = room * bar.value / most
        label = bar.label if len(bar.label) <= _LABEL_LETTERS else bar.label[: _LABEL_LETTERS - 1] + "…"
        parts.append(
            f"<g><title>{safe(bar.label)}: {safe(bar.text)}</title>"
            f'<text x="{_LABELS - 6}" y="{top + 16}" text-anchor="end">{safe(label)}</text>'
            f'<rect class="{bar.colour}" x="{_LABELS}" y="{top + 4}" width="{length:.1f}" height="{_ROW - 8}"/>'
            f'<text x="{_LABELS + length + 5:.1f}" y="{top + 16}">{safe(bar.text)}</text></g>'
        )
    return _svg(parts, title, len(bars) * _ROW)


def column_chart(bars: Sequence[Bar], title: str, axis: str) -> str:
    """Columns side by side over an axis: for the bins of a histogram. Values are shares, from 0 to 1."""
    most = max((bar.value for bar in bars), default=0) or 1
    step = min((WIDTH - _LEFT) / max(len(bars), 1), _WIDEST_COLUMN)
    base = _TOP + _PLOT_HEIGHT
    parts: list[str] = []
    for part in (0.0, 0.5, 1.0):
        y = base - part * _PLOT_HEIGHT
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">{_percent(part * most)}</text>'
        )
    longest = max((len(bar.label) for bar in bars), default=0)
    every = ceil((longest + 2) * _LETTER / step)  # so many columns to a label that none touches the next
    for number, bar in enumerate(bars):
        x, height = _LEFT + number * step, _PLOT_HEIGHT * bar.value / most
        parts.append(
            f'<rect class="{bar.colour}" x="{x + 1:.1f}" y="{base - height:.1f}" width="{max(step - 2, 1):.1f}" '
            f'height="{height:.1f}"><title>{safe(bar.label)}: {safe(bar.text)}</title></rect>'
        )
        if number % every == 0:
            parts.append(f'<text x="{x + step / 2:.1f}" y="{base + 14}" text-anchor="middle">{safe(bar.label)}</text>')
    parts.append(f'<text x="{(_LEFT + WIDTH) / 2:.0f}" y="{base + 30}" text-anchor="middle">{safe(axis)}</text>')
    return _svg(parts, title, base + _FOOT)


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%" if value >= 0.1 or value == 0 else f"{100 * value:.1f}%"


def _svg(parts: Sequence[str], title: str, height: int) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{safe(title)}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )
