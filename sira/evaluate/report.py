"""report.md: the table to trust, with what must be known to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sira.corpora.audit import Audit
from sira.evaluate.config import Experiment
from sira.evaluate.results import CollectionResults, Row
from sira.tables import markdown_table


def report(experiment: Experiment, results: Sequence[CollectionResults], audits: Mapping[str, Audit]) -> str:
    parts = [f"# {experiment.name}\n"]
    if experiment.about:
        parts.append(experiment.about.strip() + "\n")
    if experiment.caveat:
        parts.append(f"**Caveat.** {experiment.caveat.strip()}\n")
    for collection in results:
        parts.append(f"## {collection.name}\n")
        parts.append(_effectiveness(experiment, collection))
        parts.append(_differences(experiment, collection))
        parts.append(_costs(collection))
        parts.append(_notes(collection, audits[collection.name]))
    return "\n".join(parts)


def _effectiveness(experiment: Experiment, collection: CollectionResults) -> str:
    measures = list(collection.rows[0].evaluation.mean)
    rows = [[row.cell.system, *(_marked(collection, row, measure) for measure in measures)] for row in collection.rows]
    first = collection.rows[0].evaluation
    return (
        markdown_table(["system", *measures], rows)
        + f"\nMeans over {first.topics} judged topics. Ties: {first.tie_rule}. Gain: {first.gain}. "
        + f"* differs from {experiment.baseline}: p < 0.05, two-sided paired randomisation test, "
        + "Holm over the systems.\n"
    )


def _marked(collection: CollectionResults, row: Row, measure: str) -> str:
    value = f"{row.evaluation.mean[measure]:.4f}"
    comparison = collection.comparisons.get((row.cell.system, measure))
    p = comparison.randomisation.p_corrected if comparison else None
    return value + ("*" if p is not None and p < 0.05 else "")


def _differences(experiment: Experiment, collection: CollectionResults) -> str:
    measure = next(iter(collection.rows[0].evaluation.mean))
    rows: list[list[str]] = []
    for row in collection.rows:
        item = collection.comparisons.get((row.cell.system, measure))
        if item is None:
            continue
        test, t = item.randomisation, item.t_test
        rows.append(
            [
                row.cell.system,
                f"{item.difference:+.4f}",
                f"{item.wins} / {item.ties} / {item.losses}",
                _p(test.p_corrected),
                _p(t.p_corrected),
            ]
        )
    if not rows:
        return ""
    head = ["system", "difference", "win / tie / loss", "p, randomisation", "p, t-test"]
    return (
        _intervals(experiment, collection)
        + f"\nAgainst {experiment.baseline}, {measure}:\n\n"
        + markdown_table(head, rows)
        + "\np: two-sided, paired, after Holm's correction over the systems.\n"
    )


def _intervals(experiment: Experiment, collection: CollectionResults) -> str:
    measures = list(collection.rows[0].evaluation.mean)
    rows = [
        [row.cell.system]
        + [
            f"{item.difference:+.3f} [{item.low:+.3f}, {item.high:+.3f}]"
            for measure in measures
            if (item := collection.comparisons.get((row.cell.system, measure)))
        ]
        for row in collection.rows
        if row.cell.system != experiment.baseline
    ]
    return (
        f"Differences from {experiment.baseline} with 95 % intervals (paired bootstrap over topics):\n\n"
        + markdown_table(["system", *measures], rows)
    )


def _p(value: float | None) -> str:
    return "-" if value is None else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _costs(collection: CollectionResults) -> str:
    rows = [
        [
            row.cell.system,
            f"{row.costs['llm_calls_per_query']:g}",
            f"{row.costs['ms_per_query_p50']:.2f}",
            f"{row.costs['ms_per_query_p95']:.2f}",
            f"{row.costs['zero_result_rate']:.1%}",
            f"{row.costs['index_growth']:+.1%}",
        ]
        for row in collection.rows
    ]
    head = ["system", "LLM calls a query", "ms p50", "ms p95", "zero results", "index growth"]
    return (
        markdown_table(head, rows)
        + f"\nOver {collection.rows[0].cell.topics} searched topics. Milliseconds: compile and search to full depth, "
        + "one thread, without the LLM (its replies are recorded). "
        + "Index growth: bytes against the index without expansions.\n"
    )


def _notes(collection: CollectionResults, audit: Audit) -> str:
    notes = [*audit.lines(), *collection.left_out]
    if collection.self_hits_ignored:
        notes.append("a document whose id is the qid is no hit here (ignore_self_hits); removed:")
        notes += [f"{row.cell.system}: {row.cell.self_hits}" for row in collection.rows]
    for row in collection.rows:
        notes += [f"{row.cell.system}: {warning}" for warning in row.evaluation.warnings]
        if row.cell.unsketched:
            notes.append(f"{row.cell.system}: {row.cell.unsketched} topic(s) without a sketch ran as plain BM25")
    return "\n".join(f"- {note}" for note in notes) + "\n"
