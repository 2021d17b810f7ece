"""report.md: the table to trust, with what must be known to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sira.corpora.audit import Audit
from sira.evaluate.config import Experiment
from sira.evaluate.reporting.tables import Table, notes, short, tables
from sira.evaluate.results import CollectionResults
from sira.tables import markdown_table


def report(
    experiment: Experiment, results: Sequence[CollectionResults], audits: Mapping[str, Audit], config: str
) -> str:
    """The whole file; `config` is the hash of config.json."""
    parts = [f"# {experiment.name}\n"]
    if experiment.about:
        parts.append(experiment.about.strip() + "\n")
    if experiment.caveat:
        parts.append(f"**Caveat.** {experiment.caveat.strip()}\n")
    parts.append(f"Baseline {experiment.baseline}, depth {experiment.depth}; config.json {short(config)}.\n")
    for collection in results:
        parts.append(f"## {collection.name}\n")
        parts += [_markdown(table) for table in tables(experiment, collection)]
        parts.append("\n".join(f"- {note}" for note in notes(collection, audits[collection.name])) + "\n")
    return "\n".join(part for part in parts if part)


def _markdown(table: Table) -> str:
    before = f"{table.before}\n\n" if table.before else ""
    after = f"\n{table.after}\n" if table.after else ""
    return before + markdown_table(table.head, table.rows) + after
