"""The figures of a report as CSV, unrounded: one row a system and collection, and one a topic."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from sira.evaluate.config import Experiment
from sira.evaluate.results import CollectionResults, Row

COSTS = (
    "llm_calls_per_query", "ms_per_query_p50", "ms_per_query_p95", "zero_result_rate", "index_growth",
    "prompt_tokens_per_query", "completion_tokens_per_query", "cached_tokens_per_query", "searches_per_query",
)  # fmt: skip
DIFFERENCES = (
    "baseline", "measure", "difference", "low", "high", "wins", "ties", "losses", "p randomisation", "p t-test",
)  # fmt: skip


def csv_files(experiment: Experiment, results: Sequence[CollectionResults]) -> dict[str, str]:
    """The files by name. Each row names its run and the whole fingerprint of its cell; what is not known is empty."""
    measures = list(results[0].rows[0].evaluation.mean)
    every = [(collection, row) for collection in results for row in collection.rows]
    main = (
        [
            *_place(row),
            row.evaluation.topics,
            row.answered,
            *(repr(row.evaluation.mean[name]) for name in measures),
            *map(repr, row.interval),
            *_source(row),
        ]
        for _, row in every
    )
    differences = (
        [
            *_place(row),
            experiment.baseline,
            item.measure,
            *map(repr, (item.difference, item.low, item.high)),
            item.wins,
            item.ties,
            item.losses,
            *(_known(test.p_corrected) for test in (item.randomisation, item.t_test)),
            *_source(row),
        ]
        for collection, row in every
        for name in measures
        if (item := collection.comparisons.get((row.cell.system, name)))
    )
    costs = ([*_place(row), *(_known(row.costs.get(name)) for name in COSTS), *_source(row)] for _, row in every)
    topics = (
        [
            *_place(row),
            qid,
            collection.texts.get(qid, ""),
            *(repr(row.evaluation.per_topic[name][qid]) for name in measures),
            *_source(row),
        ]
        for collection, row in every
        for qid in row.evaluation.per_topic[measures[0]]
    )
    place, source = ["collection", "system"], ["run", "cell"]
    ends = [f"{measures[0]} low", f"{measures[0]} high"]
    return {
        "main.csv": _text([*place, "topics", "with hits", *measures, *ends, *source], main),
        "differences.csv": _text([*place, *DIFFERENCES, *source], differences),
        "costs.csv": _text([*place, *COSTS, *source], costs),
        "topics.csv": _text([*place, "qid", "text", *measures, *source], topics),
    }


def _place(row: Row) -> list[object]:
    return [row.cell.collection, row.cell.system]


def _source(row: Row) -> list[object]:
    return [row.run, row.cell.fingerprint]


def _known(value: float | None) -> str:
    return "" if value is None else repr(value)


def _text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return stream.getvalue()
