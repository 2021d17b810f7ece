"""What a report says, as tables and lines: gathered once, printed as Markdown and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sira.evaluate.agents.evaluation import RunEvaluation
from sira.evaluate.agents.pairing import Pairing
from sira.evaluate.agents.reporting.overview import Source, caveats, comparison, overview, provenance
from sira.evaluate.agents.reporting.questions import question_tables
from sira.evaluate.agents.reporting.tables import run_tables
from sira.evaluate.reporting.tables import Table
from sira.tables import markdown_table

MARK = "Written by sira report."
"""By this line a report.md is known to be ours, and may be written anew."""


@dataclass(frozen=True, slots=True)
class RunContent:
    """One run: its caveats, tables, single questions, and where it is from."""

    found: RunEvaluation
    caveats: Sequence[str]
    tables: Sequence[Table]
    questions: Sequence[Table]
    provenance: Table


@dataclass(frozen=True, slots=True)
class Content:
    """The whole report."""

    title: str
    about: str
    overview: Table
    comparisons: Sequence[Table]
    runs: Sequence[RunContent]


def content_of(
    runs: Sequence[RunEvaluation],
    pairings: Sequence[Pairing],
    manifests: Sequence[Mapping[str, Mapping[str, Any]]],
    sources: Sequence[Source],
) -> Content:
    """`manifests` are the judge.json by judge, of each run; `pairings` the runs against the first."""
    names = ", ".join(found.run.name for found in runs)
    labels = list(dict.fromkeys(name for found in runs for name in found.labels))
    return Content(
        title=f"Agent {'run' if len(runs) == 1 else 'runs'}: {names}",
        about=f"Labels: {', '.join(labels) or 'none'}. Intervals: 95 % percentile bootstrap over questions. {MARK}",
        overview=overview(runs),
        comparisons=[comparison(item) for item in pairings],
        runs=[
            RunContent(
                found, caveats(found), run_tables(found), question_tables(found), provenance(found, judged, sources)
            )
            for found, judged in zip(runs, manifests, strict=True)
        ],
    )


def markdown(content: Content) -> str:
    """report.md."""
    parts = [f"# {content.title}\n", f"{content.about}\n", _markdown(content.overview, 2)]
    parts += [_markdown(table, 2) for table in content.comparisons]
    for item in content.runs:
        parts.append(f"## {item.found.run.name}\n")
        parts += ["\n".join(f"- {line}" for line in item.caveats) + "\n"] if item.caveats else []
        parts += [_markdown(table, 3) for table in (*item.tables, *item.questions, item.provenance)]
    return "\n".join(parts)


def _markdown(table: Table, level: int) -> str:
    after = f"\n{table.after}\n" if table.after else ""
    return f"{'#' * level} {table.title}\n\n{markdown_table(table.head, table.rows)}{after}"
