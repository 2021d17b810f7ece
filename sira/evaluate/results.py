"""From finished cells to the results: effectiveness, cost, significance. Everything is recomputed from stored runs."""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sira.corpora.files import replacing
from sira.evaluate.cells import Cell, stored_run
from sira.evaluate.config import Experiment
from sira.evaluate.inputs import Inputs
from sira.evaluate.metrics import Evaluation, evaluate
from sira.evaluate.significance import Comparison, compare_family


@dataclass(frozen=True, slots=True)
class Row:
    """One system on one collection."""

    cell: Cell
    evaluation: Evaluation
    costs: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CollectionResults:
    """The rows of one collection in the order of the systems; comparisons with the baseline by system, measure."""

    name: str
    self_hits_ignored: bool
    rows: tuple[Row, ...]
    comparisons: Mapping[tuple[str, str], Comparison]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def costs(cell: Cell) -> dict[str, float]:
    """What a topic costs. Milliseconds are of compiling and searching to full depth, without the LLM."""
    total = [a + b for a, b in zip(cell.compile_ms, cell.search_ms, strict=True)]
    return {
        "zero_result_rate": cell.zero_results / cell.topics,
        "ms_per_query_p50": statistics.median(total) if total else 0.0,
        "ms_per_query_p95": percentile(total, 0.95),
        "llm_calls_per_query": cell.llm_calls / cell.topics,
        "index_growth": cell.index_bytes / cell.plain_bytes - 1,
    }


def collection_results(experiment: Experiment, inputs: Inputs, cells: Iterable[Cell], out: Path) -> CollectionResults:
    """Evaluate the stored runs of one collection and compare each system with the baseline (Holm over the systems)."""
    rows: list[Row] = []
    for cell in cells:
        evaluation = evaluate(
            inputs.qrels,
            stored_run(out, cell, inputs),
            experiment.measures,
            ties=experiment.ties,
            ignore_self_hits=inputs.ignore_self_hits,
        )
        rows.append(Row(cell, evaluation, costs(cell)))
    by_name = {row.cell.system: row.evaluation for row in rows}
    comparisons: dict[tuple[str, str], Comparison] = {}
    for measure in by_name[experiment.baseline].per_topic:
        others = {name: item.per_topic[measure] for name, item in by_name.items() if name != experiment.baseline}
        if others:
            baseline = by_name[experiment.baseline].per_topic[measure]
            family = compare_family(others, baseline, measure=measure, baseline_name=experiment.baseline)
            comparisons |= {(item.system, measure): item for item in family}
    return CollectionResults(inputs.config.name, inputs.ignore_self_hits, tuple(rows), comparisons)


def write_results(results: Sequence[CollectionResults], out: Path) -> None:
    """results.json (a list of {collection, system, metric, value, topics}), per_query.csv and significance.json."""
    entries: list[dict[str, Any]] = []
    for collection in results:
        for row in collection.rows:
            for metric, value in {**row.evaluation.mean, **row.costs}.items():
                entries.append(
                    {
                        "collection": collection.name,
                        "system": row.cell.system,
                        "metric": metric,
                        "value": value,
                        "topics": row.evaluation.topics,
                    }
                )
    with replacing(out / "results.json") as stream:
        json.dump(entries, stream, indent=1)
    with replacing(out / "significance.json") as stream:
        json.dump(
            [
                {"collection": collection.name, **comparison.to_dict()}
                for collection in results
                for comparison in collection.comparisons.values()
            ],
            stream,
            indent=1,
        )
    with replacing(out / "per_query.csv") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["collection", "system", "measure", "qid", "value"])
        for collection in results:
            for row in collection.rows:
                for measure, values in row.evaluation.per_topic.items():
                    writer.writerows(
                        (collection.name, row.cell.system, measure, qid, repr(value)) for qid, value in values.items()
                    )
