"""The figures of a report as CSV, unrounded: one row a system and collection, and one a topic."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from sira.evaluate.reporting.contents import Report
from sira.evaluate.results import CollectionResults, Row
from sira.evaluate.significance import Comparison

COSTS = (
    "llm_calls_per_query", "ms_per_query_p50", "ms_per_query_p95", "zero_result_rate", "index_growth",
    "prompt_tokens_per_query", "completion_tokens_per_query", "cached_tokens_per_query", "searches_per_query",
    "price_per_query", "expansion_hit_rate", "pages_found_per_query", "pages_delivered_per_query",
)  # fmt: skip
DIFFERENCES = (
    "baseline", "measure", "difference", "low", "high", "wins", "ties", "losses", "p randomisation", "p t-test",
)  # fmt: skip


def csv_files(report: Report) -> dict[str, str]:
    """The files by name. Each row names its run and the whole fingerprint of its cell (a macro those of its
    collections); what is not known is empty."""
    results = report.results
    measures = list(results[0].rows[0].evaluation.mean) if results else []
    every = [(collection, row) for collection in results for row in collection.rows]
    place, source = ["collection", "system"], ["run", "cell"]
    ends = [f"{measures[0]} low", f"{measures[0]} high"] if measures else []
    return {
        "main.csv": _text([*place, "topics", "with hits", *measures, *ends, *source], _main(report, measures)),
        "differences.csv": _text([*place, *DIFFERENCES, *source], _differences(report, measures)),
        "costs.csv": _text([*place, *COSTS, "currency", *source], map(_costs, (row for _, row in every))),
        "topics.csv": _text([*place, "qid", "text", *measures, *source], _topics(every, measures)),
    }


def _main(report: Report, measures: Sequence[str]) -> Iterator[list[object]]:
    for macro in report.macros:
        for row in macro.rows:
            means = (repr(row.mean[name]) for name in measures)
            counts = [macro.topics, row.answered]
            yield [macro.name, row.system, *counts, *means, *map(repr, row.interval), row.run, row.cell]
    for collection in report.results:
        for row in collection.rows:
            means = (repr(row.evaluation.mean[name]) for name in measures)
            counts = [row.evaluation.topics, row.answered]
            yield [*_place(row), *counts, *means, *map(repr, row.interval), *_source(row)]


def _differences(report: Report, measures: Sequence[str]) -> Iterator[list[object]]:
    """In a macro's rows wins, ties and losses are of collections."""
    baseline = report.experiment.baseline
    for macro in report.macros:
        for row in macro.rows:
            for name in measures:
                if item := macro.comparisons.get((row.system, name)):
                    yield [macro.name, row.system, baseline, *_compared(item), row.run, row.cell]
    for collection in report.results:
        for row in collection.rows:
            for name in measures:
                if item := collection.comparisons.get((row.cell.system, name)):
                    yield [*_place(row), baseline, *_compared(item), *_source(row)]


def _compared(item: Comparison) -> list[object]:
    return [
        item.measure,
        *map(repr, (item.difference, item.low, item.high)),
        item.wins,
        item.ties,
        item.losses,
        *(_known(test.p_corrected) for test in (item.randomisation, item.t_test)),
    ]


def _costs(row: Row) -> list[object]:
    currency = (row.price.currency if row.price is not None else None) or ""
    return [*_place(row), *(_known(row.costs.get(name)) for name in COSTS), currency, *_source(row)]


def _topics(every: Iterable[tuple[CollectionResults, Row]], measures: Sequence[str]) -> Iterator[list[object]]:
    for collection, row in every:
        for qid in row.evaluation.per_topic[measures[0]]:
            values = (repr(row.evaluation.per_topic[name][qid]) for name in measures)
            yield [*_place(row), qid, collection.texts.get(qid, ""), *values, *_source(row)]


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
