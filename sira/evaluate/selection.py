"""The choice of a grid's row on collections of development, and what the systems of each collection are then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sira.evaluate.cells import Cell, stored_run
from sira.evaluate.config import Experiment
from sira.evaluate.grids import GridConfig, Scalar
from sira.evaluate.inputs import Inputs
from sira.evaluate.metrics import evaluate
from sira.evaluate.system_config import SystemConfig


@dataclass(frozen=True, slots=True)
class Choice:
    """One grid's choice: the row with the highest mean over the development `collections` of their means of `measure`;
    of equal ones the earlier. `figures` has the means of all rows by collection, in the order of the grid."""

    system: str
    row: str
    values: Mapping[str, Scalar]
    measure: str
    collections: tuple[str, ...]
    figures: Mapping[str, Mapping[str, float]]

    def mean(self, row: str) -> float:
        return sum(self.figures[row].values()) / len(self.collections)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"means": {row: self.mean(row) for row in self.figures}}


def choose(
    experiment: Experiment, finished: Sequence[tuple[Inputs, Mapping[str, Cell]]], out: Path
) -> dict[str, Choice]:
    """The choices by the name of the base, of those grids whose rows are all finished.

    `finished` has the cells of every collection of development; nothing is chosen while one is not there.
    """
    if {inputs.config.name for inputs, _ in finished} != {c.name for c in experiment.collections if c.development}:
        return {}
    return {
        grid.system: _choice(experiment, grid, finished, out)
        for grid in experiment.selecting
        if all(row in cells for row in grid.rows() for _, cells in finished)
    }


def _choice(
    experiment: Experiment, grid: GridConfig, finished: Sequence[tuple[Inputs, Mapping[str, Cell]]], out: Path
) -> Choice:
    measure, rows = experiment.measure_of(grid), grid.rows()
    figures = {
        row: {
            inputs.config.name: evaluate(
                inputs.qrels,
                stored_run(out, cells[row], inputs),
                [measure],
                ties=experiment.ties,
                ignore_self_hits=inputs.ignore_self_hits,
            ).mean[measure]
            for inputs, cells in finished
        }
        for row in rows
    }
    best, highest = next(iter(rows)), -1.0
    for row, means in figures.items():
        mean = sum(means.values()) / len(means)
        if mean > highest + 1e-12:  # sums in another order differ by rounding
            best, highest = row, mean
    names = tuple(inputs.config.name for inputs, _ in finished)
    return Choice(grid.system, best, rows[best], measure, names, figures)


def on_collection(experiment: Experiment, name: str, choices: Mapping[str, Choice]) -> Experiment:
    """The experiment as one collection has it: rows by which a grid selects on those of development alone, and the
    chosen row under the name of its base.

    Where nothing is chosen yet, the base is left out, with what is fused of it.
    """
    development = experiment.collection(name).development
    bases = {grid.system for grid in experiment.selecting}
    rows = {row for grid in experiment.selecting for row in grid.rows()}
    systems: list[SystemConfig] = []
    absent: set[str] = set()
    for system in experiment.systems:
        if system.name in bases and system.name in choices:
            chosen = experiment.system(choices[system.name].row)
            system = chosen.model_copy(update={"name": system.name})
        elif system.name in bases or (system.name in rows and not development) or absent & set(system.of):
            absent.add(system.name)
            continue
        systems.append(system)
    return experiment.model_copy(update={"systems": tuple(systems)})
