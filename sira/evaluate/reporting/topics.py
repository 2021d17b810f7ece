"""Gains and losses by topic: the topics by their difference from the baseline, best first."""

from __future__ import annotations

from sira import html
from sira.evaluate.reporting.drawing import RIGHT, figure, line, linear, numbers, rect, svg, text
from sira.evaluate.results import CollectionResults
from sira.evaluate.significance import Comparison

_LEFT, _TOP, _HEIGHT, _WIDEST = 38.0, 8.0, 150.0, 26.0
SHOWN, LISTED, TEXT_LETTERS = 100, 5, 160
"""Bars at each end that name their topic under the pointer; topics at each end that are listed; letters of a text."""


def topic_figure(collection: CollectionResults, comparison: Comparison, most: float) -> str:
    """The figure of one system; `most` is the largest difference of all, so that figures share their scale."""
    values = {row.cell.system: row.evaluation.per_topic[comparison.measure] for row in collection.rows}
    system, baseline = values[comparison.system], values[comparison.baseline]
    changes = sorted(
        ((value - baseline[qid], qid) for qid, value in system.items()), key=lambda pair: (-pair[0], pair[1])
    )
    most = most or 1.0
    y = linear(-most, most, _TOP + _HEIGHT, _TOP)
    step = min((RIGHT - _LEFT) / len(changes), _WIDEST)
    parts = [line(_LEFT, y(value), RIGHT, y(value), "grid" if value else "axis") for value in (-most, 0, most)]
    parts += [text(_LEFT - 5, y(value) + 4, f"{value:+.2g}" if value else "0", "end") for value in (-most, 0, most)]
    gains = [(at, *pair) for at, pair in enumerate(changes) if pair[0] > comparison.epsilon]
    losses = [(at, *pair) for at, pair in enumerate(changes) if pair[0] < -comparison.epsilon]
    gap = 0.15 * step if step > 3 else 0.0
    for classes, found in (("bar", gains), ("hatched bad", losses)):
        path = "".join(
            f"M{_LEFT + at * step + gap:.2f} {y(0):.1f}V{y(change):.1f}h{step - 2 * gap:.2f}V{y(0):.1f}z"
            for at, change, _ in found
        )
        if path:
            parts.append(f'<path class="{classes}" d="{path}"/>')
    for at, change, qid in [*gains[:SHOWN], *losses[-SHOWN:]]:
        words = f"{qid} {change:+.4f}: {clipped(collection.texts.get(qid, ''))}"
        parts.append(rect(_LEFT + at * step, _TOP, (step, _HEIGHT), "unseen", words))
    title = f"{comparison.system} against {comparison.baseline}, {comparison.measure} by topic"
    told = f"{comparison.wins} gains, {comparison.ties} ties, {comparison.losses} losses of {comparison.n} topics."
    listed = [*gains[:LISTED], *losses[-LISTED:][::-1]]
    rows = [[qid, f"{change:+.4f}", clipped(collection.texts.get(qid, ""))] for _, change, qid in listed]
    table = html.table(["topic", "difference", f"text, the {LISTED} largest each"], rows, (0, 2)) if rows else ""
    return figure(title, svg(parts, title, _TOP + _HEIGHT + 8), numbers(table) if table else "", told)


def largest(collection: CollectionResults, measure: str, baseline: str) -> float:
    """The largest difference of any topic and system from the baseline."""
    values = {row.cell.system: row.evaluation.per_topic[measure] for row in collection.rows}
    changes = (abs(value - values[baseline][qid]) for found in values.values() for qid, value in found.items())
    return max(changes, default=0.0)


def clipped(words: str) -> str:
    return words if len(words) <= TEXT_LETTERS else words[: TEXT_LETTERS - 1] + "…"
