"""What the query-side gate keeps and drops, by document frequency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sira import html
from sira.evaluate.reporting.drawing import (
    LETTER,
    RIGHT,
    WIDTH,
    figure,
    line,
    linear,
    numbers,
    patch_legend,
    rect,
    svg,
    text,
    ticks,
)
from sira.evaluate.results import Row
from sira.evaluate.windows import Windows
from sira.inspection.bins import Bin, log_bins
from sira.inspection.counts import Distribution
from sira.records import Outcome

_LEFT, _TOP, _HEIGHT, _WIDEST = 46.0, 8.0, 150.0, 44.0


def gate_figure(row: Row) -> str:
    """Columns by df: kept windows upwards, dropped ones downwards and hatched."""
    windows = row.windows
    every = Counter(windows.kept) + Counter(windows.dropped)
    title = f"{row.cell.system}: proposed windows by df"
    rows = [[outcome, f"{count:,}"] for outcome, count in windows.outcomes.items()]
    outcomes = html.table(["verdict", "windows"], rows)
    if not every:
        return figure(title, "", numbers(outcomes), "No df was looked up.")
    columns = [
        (item.label, _within(windows.kept, item), _within(windows.dropped, item))
        for item in log_bins(Distribution.of(every))
    ]
    up = ticks(max(kept for _, kept, _ in columns), 3)[-1]
    down = ticks(max(dropped for _, _, dropped in columns), 3)[-1]
    y = linear(-down, up, _TOP + _HEIGHT, _TOP)
    step = min((RIGHT - _LEFT) / len(columns), _WIDEST)
    shown = list(dict.fromkeys((-down, 0.0, up)))
    parts = [line(_LEFT, y(value), RIGHT, y(value), "grid" if value else "axis") for value in shown]
    parts += [
        text(_LEFT - 5, y(value) + 4, f"{abs(value):g}", "end")
        for value in shown
        if not value or abs(y(value) - y(0)) > 12
    ]
    labels = -(-int(max(len(column[0]) for column in columns) * LETTER + 6) // int(step))
    for number, (label, kept, dropped) in enumerate(columns):
        x = _LEFT + number * step
        parts += [
            rect(x + 1, y(kept), (step - 2, y(0) - y(kept)), "bar", f"df {label}: {kept:,} kept"),
            rect(x + 1, y(0), (step - 2, y(-dropped) - y(0)), "hatched bad", f"df {label}: {dropped:,} dropped"),
        ]
        if number % labels == 0:
            parts.append(text(x + step / 2, _TOP + _HEIGHT + 15, label, "middle"))
    base = _TOP + _HEIGHT
    parts.append(text((_LEFT + WIDTH) / 2, base + 31, "df (documents)", "middle"))
    table = html.table(["df", "kept", "dropped"], [[label, f"{k:,}", f"{d:,}"] for label, k, d in columns])
    key = patch_legend([("kept, upwards", "bar"), ("dropped, downwards", "hatched bad")])
    return figure(title, svg(parts, title, base + 38), key + numbers(table + outcomes), _told(windows))


def _told(windows: Windows) -> str:
    kept = windows.outcomes.get(Outcome.KEPT, 0)
    reasons = ", ".join(f"{name} {count:,}" for name, count in windows.outcomes.items() if name != Outcome.KEPT)
    told = f"{kept:,} of {sum(windows.outcomes.values()):,} kept; dropped: {reasons or 'none'}."
    return told + (f" {windows.unlooked:,} fell before their df was looked up." if windows.unlooked else "")


def _within(counts: Mapping[int, int], item: Bin) -> int:
    return sum(windows for df, windows in counts.items() if item.low <= df and (item.high is None or df <= item.high))
