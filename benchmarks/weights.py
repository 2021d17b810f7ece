"""Gates x weights x ways to join the fields, on the development collections: nDCG@10 against the default, both sides.

    python -m benchmarks.weights [--json]

The demonstration's collection is always there; hotpotqa-100 and musique-100 where SIRA_TEST_DATA names their folder.
The same grid on SciFact is eval_configs/scifact-compiler.toml. Agreement is not in the grid: it compares several
samples of a sketch, the recorded ones are one each, and with one sample it is uniform. All weights but uniform lower
what a word weighs, so at one lambda they also weigh the sketch less: benchmarks.learned gives each its own lambda.
These are the figures of docs/decisions/0013.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import get_args

from benchmarks._measure import Report, Row, say
from benchmarks.document_gate import Development, collections
from sira.compile import CompileSettings, compile_sketch
from sira.compile.settings import Gate, Weights
from sira.evaluate.metrics import evaluate
from sira.evaluate.significance import compare, compare_family
from sira.expand.indexing import expand_index
from sira.lucene.reader import Index
from sira.program import Combine, Program, Scoring
from sira.records import Run

MEASURE = "nDCG@10"
WEIGHTS: tuple[Weights, ...] = ("uniform", "rank", "idf", "margin")
COMBINE: tuple[Combine, ...] = ("bm25f", "sum")

Point = tuple[Gate, Weights, Combine]
Values = Mapping[str, float]
"""qid -> value."""

DEFAULT: Point = (CompileSettings().gate, CompileSettings().weights, Scoring().combine)
GRID: tuple[Point, ...] = tuple(product(get_args(Gate), WEIGHTS, COMBINE))


def expanded(collection: Development, work: Path) -> Path:
    path = work / f"{collection.name}-expanded"
    expand_index(collection.base, collection.store, path, progress=False)
    return path


def compiled(collection: Development, index: Index, settings: CompileSettings) -> list[Program]:
    sketches = collection.sketches
    return [compile_sketch(topic, sketches.get(topic.qid), index, settings) for topic in collection.topics]


def measured(collection: Development, index: Index, programs: Sequence[Program]) -> Values:
    run = Run(collection.name, {program.qid: index.search(program, 100) for program in programs})
    judged = {topic.qid: collection.qrels[topic.qid] for topic in collection.topics}
    return evaluate(judged, run, [MEASURE]).per_topic[MEASURE]


def values(collection: Development, path: Path) -> dict[Point, Values]:
    found: dict[Point, Values] = {}
    with Index(path) as index:
        for gate, weights, combine in GRID:
            settings = CompileSettings(gate=gate, weights=weights, scoring=Scoring(combine=combine))
            found[gate, weights, combine] = measured(collection, index, compiled(collection, index, settings))
    return found


def together(by_collection: Mapping[str, Values]) -> Values:
    """All topics as one sample, each with its collection's name."""
    return {f"{name} {qid}": value for name, values in by_collection.items() for qid, value in values.items()}


def interval(system: Values, base: Values) -> str:
    item = compare(system, base)
    return f"{item.difference:+.4f} [{item.low:+.4f}, {item.high:+.4f}]"


def rows(found: Mapping[str, Mapping[Point, Values]]) -> Iterator[Row]:
    pooled = {point: together({name: by_point[point] for name, by_point in found.items()}) for point in GRID}
    others = {" ".join(point): pooled[point] for point in GRID if point != DEFAULT}
    family = {item.system: item for item in compare_family(others, pooled[DEFAULT], measure=MEASURE)}
    for point in GRID:
        row: Row = dict(zip(("gate", "weights", "combine"), point, strict=True))
        for name, by_point in found.items():
            mean = sum(by_point[point].values()) / len(by_point[point])
            row[name] = f"{mean:.4f}" if point == DEFAULT else interval(by_point[point], by_point[DEFAULT])
        if point != DEFAULT:
            item = family[" ".join(point)]
            row["together"] = f"{item.difference:+.4f} [{item.low:+.4f}, {item.high:+.4f}]"
            p = item.randomisation.p_corrected
            row["p, Holm"] = None if p is None else f"{p:.4f}"
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(
        description="gates, weights and ways to join the fields, on development collections"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    settings = {"measure": MEASURE, "interval": "95 %, paired bootstrap", "against": " ".join(DEFAULT)}
    found: dict[str, dict[Point, Values]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for collection in collections(Path(folder)):
            say(collection.name)
            found[collection.name] = values(collection, expanded(collection, Path(folder)))
    note = f"p: two-sided paired randomisation test over all topics together, Holm over {len(GRID) - 1} comparisons"
    Report("weights", settings, list(rows(found)), notes=[note]).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
