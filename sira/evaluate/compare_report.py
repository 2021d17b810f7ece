"""A comparison of runs as text: tables for the terminal or in Markdown, and rows for CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from sira.evaluate.compare import Change, Covered, RunComparison
from sira.evaluate.overlap import PERSISTENCE
from sira.evaluate.significance import p_text
from sira.tables import markdown_table, text_table

Format = Literal["text", "markdown"]
_Table = Callable[[Sequence[str], Sequence[Sequence[str]]], str]

CSV_HEAD = ("measure", "run", "mean", "judged_topics", "topics_with_hits", "without_hits", "missing", "not_judged",
            "baseline", "difference", "low", "high", "p", "p_holm", "p_t_test", "p_t_test_holm", "wins", "ties",
            "losses", "judged_at_k", "k", "rbo", "jaccard_at_k")  # fmt: skip


def comparison_report(found: RunComparison, texts: Mapping[str, str] | None = None, how: Format = "text") -> str:
    """One table a measure, then what the rankings share, then the topics of the largest gains and losses (with their
    `texts`, qid -> query), then what must be known to read them."""
    table: _Table = markdown_table if how == "markdown" else text_table
    parts = [_titled(measure, _measure(found, measure, table), how) for measure in found.measures]
    parts.append(_titled("Rankings", _rankings(found, table), how))
    measure, base = found.measures[0], found.baseline.name
    for run in found.runs[1:]:
        for what, changes in (("gains", found.gains[run.name]), ("losses", found.losses[run.name])):
            if changes:
                title = f"Largest {what} of {run.name} on {base}, {measure}"
                parts.append(_titled(title, _changes(run, base, changes, texts, table), how))
    parts.append("".join(f"- {note}\n" for note in _notes(found)))
    return "\n".join(parts)


def csv_rows(found: RunComparison) -> Iterator[list[object]]:
    """The rows below CSV_HEAD, one for each measure and run; what a run has no value for is empty."""
    for measure in found.measures:
        for run in found.runs:
            item, overlap = found.comparisons.get((run.name, measure)), found.overlaps.get(run.name)
            row: list[object] = [
                measure, run.name, run.evaluation.mean[measure], run.evaluation.topics, run.topics_with_hits,
                len(run.without_hits), len(run.evaluation.missing), len(run.evaluation.extra),
            ]  # fmt: skip
            if item is None:
                row += [""] * 11
            else:
                row += [
                    item.baseline, item.difference, item.low, item.high, item.randomisation.p,
                    item.randomisation.p_corrected, item.t_test.p, item.t_test.p_corrected, item.wins, item.ties,
                    item.losses,
                ]  # fmt: skip
            row += [run.judged, found.settings.k]
            row += ["", ""] if overlap is None else [overlap.rbo, overlap.jaccard]
            yield row


def _titled(title: str, text: str, how: Format) -> str:
    return f"## {title}\n\n{text}" if how == "markdown" else f"{title}\n{text}"


def _measure(found: RunComparison, measure: str, table: _Table) -> str:
    rows: list[list[str]] = []
    for run in found.runs:
        item = found.comparisons.get((run.name, measure))
        evaluation = run.evaluation
        row = [run.name, f"{evaluation.mean[measure]:.4f}"]
        row += [str(evaluation.topics), str(len(run.without_hits)), str(len(evaluation.missing))]
        if item is None:
            row += ["-"] * 4
        else:
            row += [f"{item.difference:+.4f}", f"[{item.low:+.4f}, {item.high:+.4f}]"]
            row += [p_text(item.randomisation.p_corrected), f"{item.wins} / {item.ties} / {item.losses}"]
        rows.append(row)
    head = ["run", "mean", "judged topics", "without hits", "missing", "difference", "95 % interval", "p",
            "win / tie / loss"]  # fmt: skip
    return table(head, rows)


def _rankings(found: RunComparison, table: _Table) -> str:
    k = found.settings.k
    rows: list[list[str]] = []
    for run in found.runs:
        overlap = found.overlaps.get(run.name)
        shared = ["-", "-"] if overlap is None else [_share(overlap.rbo), _share(overlap.jaccard)]
        rows.append([run.name, _share(run.judged), *shared])
    return table(["run", f"judged@{k}", "RBO", f"Jaccard@{k}"], rows)


def _changes(
    run: Covered, baseline: str, changes: Sequence[Change], texts: Mapping[str, str] | None, table: _Table
) -> str:
    head = ["topic", baseline, run.name, "difference"]
    rows = [[item.qid, f"{item.baseline:.4f}", f"{item.value:.4f}", f"{item.difference:+.4f}"] for item in changes]
    if texts is not None:
        head.append("query")
        rows = [[*row, texts.get(item.qid, "-")] for row, item in zip(rows, changes, strict=True)]
    return table(head, rows)


def _notes(found: RunComparison) -> Iterator[str]:
    first, base = found.baseline.evaluation, found.baseline.name
    any_item = next(iter(found.comparisons.values()))
    yield f"means over {first.topics} judged topics; ties: {first.tie_rule}; gain: {first.gain}" + (
        f"; relevant from grade {first.relevance_level}" if first.relevance_level > 1 else ""
    )
    yield (
        f"against {base}, the first run: {any_item.randomisation.name}, two-sided, p after Holm's correction over "
        f"{any_item.randomisation.family} run(s), each measure apart; interval: {any_item.interval}"
    )
    yield (
        f"RBO (p = {PERSISTENCE}) and Jaccard's index: how far the rankings are those of {base}, where one has a hit; "
        f"judged@{found.settings.k}: the share of the first {found.settings.k} documents that have a judgment"
    )
    if first.ignore_self_hits:
        yield "a document whose id is the qid is no hit (ignore_self_hits)"
    for run in found.runs:
        for warning in run.evaluation.warnings:
            yield f"{run.name}: {warning}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
