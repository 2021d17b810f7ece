"""Quality over two keys that vary: the [[grid]] tables of an experiment, and rows that differ in lambda (the weight of
a sketch's words) and tau (the gate's share of documents) alone."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sira.evaluate.config import Experiment
from sira.evaluate.grids import Scalar
from sira.evaluate.reporting.drawing import LETTER, RIGHT, WIDTH, figure, rect, shortened, svg, text
from sira.evaluate.reporting.tables import first_measure
from sira.evaluate.results import CollectionResults
from sira.evaluate.system_config import SystemConfig

_LEFT, _TOP, _ROW, _WIDEST = 46.0, 18.0, 30.0, 76.0
_FAINTEST, _FULLEST = 0.06, 0.5


_NAMES = {"sketch_weight": "λ", "max_df_ratio": "τ"}
_MEANINGS = {
    "sketch_weight": "λ: weight of the sketch's words (sketch_weight)",
    "max_df_ratio": "τ: share of documents above which a window is dropped (max_df_ratio)",
}


class Grid(NamedTuple):
    """Systems by the values of two keys, that of the rows first: at least two values of each; a place may be empty."""

    keys: tuple[str, str]
    systems: Mapping[tuple[Scalar, Scalar], str]

    def values(self, at: int) -> list[Scalar]:
        """Those of the first or second key: numbers ascending, texts in their order."""
        found = list(dict.fromkeys(place[at] for place in self.systems))
        numbers = all(isinstance(value, int | float) for value in found)
        return sorted(found, key=float) if numbers else found


def grids(experiment: Experiment) -> Iterator[Grid]:
    """Each [[grid]] of two keys with several values; then the groups of other systems that are equal but for their
    name, lambda and tau, and span a grid."""
    made: set[str] = set()
    for grid in experiment.grid:
        rows = grid.rows()
        made |= set(rows)
        if (keys := grid.axes()) is not None:
            yield Grid(keys, {(values[keys[0]], values[keys[1]]): name for name, values in rows.items()})
    yield from _by_hand([system for system in experiment.systems if system.name not in made])


def _by_hand(systems: Sequence[SystemConfig]) -> Iterator[Grid]:
    groups: dict[str, dict[tuple[Scalar, Scalar], str]] = defaultdict(dict)
    for system in systems:
        rest = system.model_dump(mode="json", exclude={"name", "sketch_weight", "max_df_ratio"})
        places = groups[json.dumps(rest, sort_keys=True)]
        places.setdefault((system.sketch_weight, system.max_df_ratio), system.name)
    for places in groups.values():
        grid = Grid(("sketch_weight", "max_df_ratio"), places)
        if len(grid.values(0)) > 1 and len(grid.values(1)) > 1:
            yield grid


def heat_map(collection: CollectionResults, grid: Grid) -> str:
    """Fuller is better; the best has a frame and a star, the defaults a dashed frame. Empty where fewer than two of the
    grid's systems are there."""
    measure = first_measure(collection)
    means = {row.cell.system: row.evaluation.mean[measure] for row in collection.rows}
    values = {place: means[name] for place, name in grid.systems.items() if name in means}
    if len(values) < 2:
        return ""
    low, high = min(values.values()), max(values.values())
    best = next(place for place, value in values.items() if value == high)
    fields = SystemConfig.model_fields
    default = tuple(fields[key].default for key in grid.keys)
    upright, across = grid.values(0)[::-1], grid.values(1)
    names = [_NAMES.get(key, key) for key in grid.keys]
    left = max(_LEFT, max(len(_label(value)) for value in upright) * LETTER + 12)
    step = min((RIGHT - left) / len(across), _WIDEST)
    parts = [text(4, 11, names[0]), text(max(left, len(names[0]) * LETTER + 16), 11, measure)]
    for at, one in enumerate(upright):
        y = _TOP + at * _ROW
        parts.append(text(left - 6, y + _ROW / 2 + 4, _label(one), "end"))
        for number, other in enumerate(across):
            place = (one, other)
            if place not in values:
                continue
            value, x = values[place], left + number * step
            opacity = _FAINTEST + (_FULLEST - _FAINTEST) * ((value - low) / (high - low) if high > low else 0)
            title = f"{grid.systems[place]}: {names[0]} {_label(one)}, {names[1]} {_label(other)}: {value:.4f}"
            parts.append(
                f'<g fill-opacity="{opacity:.2f}">{rect(x + 1, y + 1, (step - 2, _ROW - 2), "heat", title)}</g>'
            )
            if place == default:
                parts.append(rect(x + 2.5, y + 2.5, (step - 5, _ROW - 5), "frame dashed"))
            if place == best:
                parts.append(rect(x + 1, y + 1, (step - 2, _ROW - 2), "frame"))
            shown = f"{value:.3f}" if step > 42 else f"{value:.2f}"
            words, classes = (f"{shown}*", "strong") if place == best else (shown, "")
            parts.append(text(x + step / 2, y + _ROW / 2 + 4, words, "middle", classes))
    base = _TOP + len(upright) * _ROW
    letters = max(2, int(step / LETTER) - 1)
    parts += [
        text(left + (at + 0.5) * step, base + 14, shortened(_label(value), letters), "middle")
        for at, value in enumerate(across)
    ]
    half = len(names[1]) * LETTER / 2
    parts.append(text(min(max(left + len(across) * step / 2, half), WIDTH - 20), base + 29, names[1], "middle"))
    title = f"{measure} by {names[0]} and {names[1]}"
    meanings = "; ".join(_MEANINGS[key] for key in grid.keys if key in _MEANINGS)
    note = (
        f"{meanings}{'. ' if meanings else ''}* the best of this grid, dashed the defaults. {low:.4f} to {high:.4f}. "
        "Values are chosen on a development split alone."
    )
    return figure(title, svg(parts, title, base + 36), "", note)


def _label(value: Scalar) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
