"""Lambda, gate and weights chosen by cross-validation on the development collections, then shown on held-out topics.

    python -m benchmarks.learned [--json]

A point of the grid is chosen by its nDCG@10, averaged over the collections. `folds`: chosen on four fifths of the
topics of each collection, counted on the rest. `other collections`: chosen on all collections but the one that counts.
`all development`: chosen on all of them, counted on SciFact, which decides nothing. The choice is made twice, in the
whole grid and among its uniform weights alone, so that what the weights add is apart from what lambda and the gate add.
The demonstration's collection is always there, the others where SIRA_TEST_DATA names their folder. These are the
figures of docs/decisions/0013.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from benchmarks._held_out import held_out
from benchmarks._measure import Report, Row, say
from benchmarks.document_gate import Development, collections
from benchmarks.weights import MEASURE, WEIGHTS, Values, compiled, expanded, interval, measured, together
from sira.compile import CompileSettings
from sira.compile.settings import Gate, Weights
from sira.lucene.reader import Index
from sira.program import Program

LAMBDAS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Beyond 1, since weights other than uniform only lower what a window weighs."""
GATES: tuple[tuple[Gate, float], ...] = (("window", 1.0), ("soft", 1.0), ("soft", 3.0), ("off", 1.0))
"""Gate, and the power of a soft one."""
FOLDS, SEED = 5, 13


@dataclass(frozen=True, slots=True)
class Point:
    """One choice of parameters."""

    sketch_weight: float
    gate: Gate
    power: float
    weights: Weights

    def __str__(self) -> str:
        power = f" {self.power:g}" if self.gate == "soft" else ""
        return f"lambda {self.sketch_weight:g}, {self.gate}{power}, {self.weights}"


GRID = [Point(share, gate, power, weights) for (gate, power), weights, share in product(GATES, WEIGHTS, LAMBDAS)]
UNIFORM = [point for point in GRID if point.weights == "uniform"]

Table = Mapping[Point, Values]
"""The values of one collection, topic by topic, at each point."""
Topics = Mapping[str, Iterable[str]]
"""Collection -> the qids that count."""


def weighted(program: Program, factor: float) -> Program:
    """The program with everything that a sketch added at `factor` times its weight."""
    clauses = (c if c.source is None else replace(c, weight=c.weight * factor) for c in program.clauses)
    return replace(program, clauses=tuple(clauses))


def table(collection: Development, index: Index, points: Iterable[Point]) -> dict[Point, Values]:
    """Compiled once for each gate and weights, since lambda is a factor."""
    found: dict[Point, Values] = {}
    programs: dict[tuple[Gate, float, Weights], list[Program]] = {}
    for point in points:
        key = (point.gate, point.power, point.weights)
        if key not in programs:
            settings = CompileSettings(1.0, point.gate, point.power, weights=point.weights)
            programs[key] = compiled(collection, index, settings)
        searched = [weighted(program, point.sketch_weight) for program in programs[key]]
        found[point] = measured(collection, index, searched)
    return found


def default(collection: Development, index: Index) -> Values:
    return measured(collection, index, compiled(collection, index, CompileSettings()))


def best(tables: Mapping[str, Table], topics: Topics, points: Iterable[Point]) -> Point:
    """The point with the highest mean of the collections' means; the earlier one of equals."""

    def mean(point: Point) -> float:
        means = [_mean(tables[name][point], qids) for name, qids in topics.items()]
        return sum(means) / len(means)

    return max(points, key=mean)


def _mean(values: Values, qids: Iterable[str]) -> float:
    chosen = [values[qid] for qid in qids]
    return sum(chosen) / len(chosen)


def folds(tables: Mapping[str, Table]) -> Iterator[dict[str, set[str]]]:
    """The topics that each fold leaves out, in every collection a fifth."""
    order = {name: sorted(next(iter(found.values()))) for name, found in tables.items()}
    for qids in order.values():
        random.Random(SEED).shuffle(qids)
    for number in range(FOLDS):
        yield {name: set(qids[number::FOLDS]) for name, qids in order.items()}


def by_folds(tables: Mapping[str, Table], points: list[Point]) -> tuple[dict[str, Values], list[Point]]:
    """Values at topics that took no part in the choice, and what each fold chose."""
    values: dict[str, dict[str, float]] = {name: {} for name in tables}
    chosen: list[Point] = []
    for left_out in folds(tables):
        others = {name: next(iter(found.values())).keys() - left_out[name] for name, found in tables.items()}
        point = best(tables, others, points)
        chosen.append(point)
        for name, qids in left_out.items():
            values[name] |= {qid: tables[name][point][qid] for qid in qids}
    return dict(values), chosen


def everything(tables: Mapping[str, Table]) -> dict[str, Iterable[str]]:
    return {name: next(iter(found.values())).keys() for name, found in tables.items()}


def row(how: str, counted: str, learned: Values, uniform: Values, base: Values) -> Row:
    return {
        "chosen by": how,
        "counted on": counted,
        "default": f"{sum(base.values()) / len(base):.4f}",
        "learned against it": interval(learned, base),
        "learned, uniform weights": interval(uniform, base),
        "weights against uniform": interval(learned, uniform),
    }


def development_rows(tables: Mapping[str, Table], bases: Mapping[str, Values], notes: list[str]) -> Iterator[Row]:
    """Also puts into `notes` what was chosen."""
    learned, chosen = by_folds(tables, GRID)
    uniform, plain = by_folds(tables, UNIFORM)
    for name in tables:
        yield row("folds", name, learned[name], uniform[name], bases[name])
    yield row("folds", "together", together(learned), together(uniform), together(bases))
    notes += [f"folds: {_listed(chosen)}", f"folds, uniform weights: {_listed(plain)}"]
    for name in tables if len(tables) > 1 else ():
        others = everything({other: found for other, found in tables.items() if other != name})
        best_of, best_plain = best(tables, others, GRID), best(tables, others, UNIFORM)
        found = tables[name]
        yield row("other collections", name, found[best_of], found[best_plain], bases[name])
        notes.append(f"for {name}: {best_of}; with uniform weights: {best_plain}")


def _listed(points: Iterable[Point]) -> str:
    return "; ".join(map(str, points))


def opened(found: Iterable[Development], work: Path, use: Callable[[Development, Index], None]) -> None:
    for collection in found:
        say(collection.name)
        with Index(expanded(collection, work)) as index:
            use(collection, index)


def main() -> None:
    parser = argparse.ArgumentParser(description="lambda, gate and weights chosen on development collections")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    report = Report("learned", {"measure": MEASURE, "points": len(GRID), "folds": FOLDS, "interval": "95 %"})
    tables: dict[str, Table] = {}
    bases: dict[str, Values] = {}

    def fill(collection: Development, index: Index) -> None:
        tables[collection.name] = table(collection, index, GRID)
        bases[collection.name] = default(collection, index)

    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        opened(collections(work), work, fill)
        report.rows += development_rows(tables, bases, report.notes)
        point, plain = (best(tables, everything(tables), points) for points in (GRID, UNIFORM))

        def show(collection: Development, index: Index) -> None:
            values = table(collection, index, (point, plain))
            base = default(collection, index)
            name = f"{collection.name} (held out)"
            report.rows.append(row("all development", name, values[point], values[plain], base))

        opened(held_out(work), work, show)
    report.notes.append(f"chosen on all development topics: {point}; with uniform weights: {plain}")
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
