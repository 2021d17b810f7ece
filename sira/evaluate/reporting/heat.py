"""Quality by lambda (the weight of a sketch's words) and tau (the gate's share of documents), where systems differ in
these alone."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sira.compile import CompileSettings
from sira.evaluate.config import Experiment
from sira.evaluate.reporting.drawing import RIGHT, WIDTH, figure, rect, svg, text
from sira.evaluate.reporting.tables import first_measure
from sira.evaluate.results import CollectionResults

_LEFT, _TOP, _ROW, _WIDEST = 46.0, 18.0, 30.0, 76.0
_FAINTEST, _FULLEST = 0.06, 0.5


class Grid(NamedTuple):
    """Systems by (lambda, tau): at least two values of each; a place of the grid may be empty."""

    systems: Mapping[tuple[float, float], str]

    @property
    def lambdas(self) -> list[float]:
        return sorted({place[0] for place in self.systems})

    @property
    def taus(self) -> list[float]:
        return sorted({place[1] for place in self.systems})


def grids(experiment: Experiment) -> Iterator[Grid]:
    """The groups of systems that are equal but for their name, lambda and tau, and span a grid."""
    groups: dict[str, dict[tuple[float, float], str]] = defaultdict(dict)
    for system in experiment.systems:
        rest = system.model_dump(mode="json", exclude={"name", "sketch_weight", "max_df_ratio"})
        places = groups[json.dumps(rest, sort_keys=True)]
        places.setdefault((system.sketch_weight, system.max_df_ratio), system.name)
    for places in groups.values():
        grid = Grid(places)
        if len(grid.lambdas) > 1 and len(grid.taus) > 1:
            yield grid


def heat_map(collection: CollectionResults, grid: Grid) -> str:
    """Fuller is better; the best has a frame and a star, the defaults a dashed frame."""
    measure = first_measure(collection)
    means = {row.cell.system: row.evaluation.mean[measure] for row in collection.rows}
    values = {place: means[name] for place, name in grid.systems.items()}
    low, high = min(values.values()), max(values.values())
    best = next(place for place, value in values.items() if value == high)
    default = (CompileSettings().sketch_weight, CompileSettings().max_df_ratio)
    lambdas, taus = grid.lambdas[::-1], grid.taus
    step = min((RIGHT - _LEFT) / len(taus), _WIDEST)
    parts = [text(4, 11, "λ"), text(_LEFT, 11, measure)]
    for at, weight in enumerate(lambdas):
        y = _TOP + at * _ROW
        parts.append(text(_LEFT - 6, y + _ROW / 2 + 4, f"{weight:g}", "end"))
        for number, tau in enumerate(taus):
            if (weight, tau) not in values:
                continue
            value, x = values[weight, tau], _LEFT + number * step
            opacity = _FAINTEST + (_FULLEST - _FAINTEST) * ((value - low) / (high - low) if high > low else 0)
            title = f"{grid.systems[weight, tau]}: λ {weight:g}, τ {tau:g}: {value:.4f}"
            parts.append(
                f'<g fill-opacity="{opacity:.2f}">{rect(x + 1, y + 1, (step - 2, _ROW - 2), "heat", title)}</g>'
            )
            if (weight, tau) == default:
                parts.append(rect(x + 2.5, y + 2.5, (step - 5, _ROW - 5), "frame dashed"))
            if (weight, tau) == best:
                parts.append(rect(x + 1, y + 1, (step - 2, _ROW - 2), "frame"))
            shown = f"{value:.3f}" if step > 42 else f"{value:.2f}"
            words, classes = (f"{shown}*", "strong") if (weight, tau) == best else (shown, "")
            parts.append(text(x + step / 2, y + _ROW / 2 + 4, words, "middle", classes))
    base = _TOP + len(lambdas) * _ROW
    parts += [text(_LEFT + (at + 0.5) * step, base + 14, f"{tau:g}", "middle") for at, tau in enumerate(taus)]
    parts.append(text(min(_LEFT + len(taus) * step / 2, WIDTH - 20), base + 29, "τ", "middle"))
    title = f"{measure} by λ and τ"
    note = (
        f"λ: weight of the sketch's words (sketch_weight); τ: share of documents above which a window is dropped "
        f"(max_df_ratio). * the best of this grid, dashed the defaults. {low:.4f} to {high:.4f}. "
        "Values are chosen on a development split alone."
    )
    return figure(title, svg(parts, title, base + 36), "", note)
