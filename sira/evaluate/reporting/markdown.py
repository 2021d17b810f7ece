"""report.md: the table to trust, with what must be known to trust it."""

from __future__ import annotations

from collections.abc import Iterator

from sira.evaluate.reporting.contents import Report
from sira.evaluate.reporting.over_all import choice_table, macro_tables, notes_of
from sira.evaluate.reporting.tables import Table, short, tables
from sira.tables import markdown_table


def markdown(report: Report, config: str) -> str:
    """The whole file; `config` is the hash of config.json."""
    return "\n".join(part for part in _parts(report, config) if part)


def _parts(report: Report, config: str) -> Iterator[str]:
    experiment = report.experiment
    yield f"# {experiment.name}\n"
    if experiment.about:
        yield experiment.about.strip() + "\n"
    if experiment.caveat:
        yield f"**Caveat.** {experiment.caveat.strip()}\n"
    yield f"Baseline {experiment.baseline}, depth {experiment.depth}; config.json {short(config)}.\n"
    if report.missing:
        yield "Not in this report:\n"
        yield "\n".join(f"- {line}" for line in report.missing) + "\n"
    for macro in report.macros:
        yield f"## {macro.name}\n"
        yield from (_markdown(table) for table in macro_tables(experiment, macro))
    for choice in report.choices:
        yield f"## Selection of {choice.system}\n"
        yield _markdown(choice_table(choice))
    for collection in report.shown:
        yield f"## {collection.name}\n"
        yield from (_markdown(table) for table in tables(experiment, collection))
        yield "\n".join(f"- {note}" for note in notes_of(report, collection)) + "\n"
    if report.hidden:
        yield "## Collections without tables here\n"
        yield "Their figures are in tables/*.csv and results.json.\n"
        lines = [f"- {item.name}: {note}" for item in report.hidden for note in notes_of(report, item)]
        yield "\n".join(lines) + "\n"


def _markdown(table: Table) -> str:
    before = f"{table.before}\n\n" if table.before else ""
    after = f"\n{table.after}\n" if table.after else ""
    return before + markdown_table(table.head, table.rows) + after
