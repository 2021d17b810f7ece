"""report.html: the whole report on one page that needs nothing beside itself (sira.html)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sira import html
from sira.evaluate.config import Experiment
from sira.evaluate.reporting import tables
from sira.evaluate.reporting.bars import bars
from sira.evaluate.reporting.contents import Report
from sira.evaluate.reporting.depth import depth_figure
from sira.evaluate.reporting.drawing import Series, legend, series
from sira.evaluate.reporting.gate import gate_figure
from sira.evaluate.reporting.heat import grids, heat_map
from sira.evaluate.reporting.over_all import choice_table, macro_tables, notes_of
from sira.evaluate.reporting.pareto import Point, pareto
from sira.evaluate.reporting.style import PATTERNS, STYLE
from sira.evaluate.reporting.tables import Table, first_measure, is_best, is_significant, short, value_text
from sira.evaluate.reporting.topics import largest, topic_figure
from sira.evaluate.results import CollectionResults, Row
from sira.html import paragraphs, safe, section

MANY = 8
"""Of more systems the figures of a collection share one legend, above them."""
OPEN = 2
"""Figures of one kind that are seen at once; those of further systems are folded away."""
BARS = (
    "Bars: means with 95 % intervals (percentile bootstrap over topics), one scale for all collections; the baseline "
    f"is hatched. * differs from it: p < {tables.SIGNIFICANT}, as in the table of quality."
)


def page(report: Report, config: str) -> str:
    """The whole page; `config` is the hash of config.json."""
    experiment, shown = report.experiment, report.shown
    over, panels = bars(report)
    over_all = list(_over_all(report, over))
    alone = len(shown) == 1 and not over_all
    overview = [("Overview", [_figures(panels), _soft(BARS)])] if panels and len(shown) > 1 else []
    parts = [
        *((title, inner, f"part-{number}") for number, (title, inner) in enumerate([*overview, *over_all], start=1)),
        *(
            (item.name, _collection(report, item, panels if len(shown) == 1 else []), f"collection-{number}")
            for number, item in enumerate(shown, start=1)
        ),
    ]
    inner = "".join(f'<a href="#{anchor}">{safe(name)}</a>\n' for name, _, anchor in parts)
    nav = "" if alone else f'<nav aria-label="Parts of this page">\n{inner}</nav>\n'
    sections = "".join(section(title, list(found), anchor=anchor) for title, found, anchor in parts)
    body = (
        f"{PATTERNS}<header>\n<h1>{safe(experiment.name)}</h1>\n{_head(report, config)}</header>\n"
        f"{nav}<main>\n{sections}</main>\n"
    )
    return html.document(f"{experiment.name}: report", body, STYLE)


def _over_all(report: Report, panels: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Title and parts of each section over several collections; `panels` are the bars of the macros."""
    for macro, panel in zip(report.macros, panels, strict=True):
        yield macro.name, [*map(_table, macro_tables(report.experiment, macro)), _figures([panel])]
    for choice in report.choices:
        yield f"Selection of {choice.system}", [_table(choice_table(choice))]
    if report.hidden:
        notes = [f"{item.name}: {note}" for item in report.hidden for note in notes_of(report, item)]
        yield (
            "Collections without tables here",
            [_soft("Their figures are in tables/*.csv and results.json."), _list(notes)],
        )


def _head(report: Report, config: str) -> str:
    experiment = report.experiment
    parts = [paragraphs([experiment.about.strip()])] if experiment.about.strip() else []
    if experiment.caveat.strip():
        parts.append(f'<p class="caveat" role="note"><b>Caveat.</b> {safe(experiment.caveat.strip())}</p>\n')
    parts.append(
        f'<p class="soft">Baseline {safe(experiment.baseline)}, depth {experiment.depth}; settings: '
        f'<a href="config.json">config.json</a> {short(config)}; <a href="tables/main.csv">tables as CSV</a>, '
        f'<a href="tables/main.tex">as LaTeX</a>.</p>\n'
    )
    if report.missing:
        parts.append(f"<p>Not in this report:</p>\n{_list(report.missing)}")
    return "".join(parts)


def _list(lines: Iterable[str]) -> str:
    return "<ul>\n" + "".join(f"<li>{safe(line)}</li>\n" for line in lines) + "</ul>\n"


def _collection(report: Report, collection: CollectionResults, panels: Sequence[str]) -> Iterator[str]:
    experiment = report.experiment
    styles = _styles(experiment, collection)
    yield _quality(collection)
    yield _soft(tables.quality_note(experiment, collection))
    yield "<h3>Figures</h3>\n"
    if len(styles) > MANY:
        yield legend([(row.cell.system, style) for row, style in zip(collection.rows, styles, strict=True)], lines=True)
    yield _figures([*panels, depth_figure(collection, styles, key=len(styles) <= MANY), *_costs(collection, styles)])
    if panels:
        yield _soft(BARS)
    if maps := [drawn for grid in grids(experiment) if (drawn := heat_map(collection, grid))]:
        yield "<h3>Grids</h3>\n" + _figures(maps)
    yield from _folded("Gains and losses by topic", _topics(experiment, collection))
    by_quality = sorted(collection.rows, key=lambda row: -row.evaluation.mean[first_measure(collection)])
    yield from _folded(
        "Proposed windows, kept and dropped", [gate_figure(row) for row in by_quality if row.windows.outcomes]
    )
    for table in tables.tables(experiment, collection)[1:]:
        yield _table(table)
    yield f"<h3>Notes</h3>\n{_list(notes_of(report, collection))}"


def _styles(experiment: Experiment, collection: CollectionResults) -> list[Series]:
    """The baseline has the colour of the text, the others their own in the order of the systems."""
    others = iter(range(1, len(collection.rows) + 1))
    return [series(0 if row.cell.system == experiment.baseline else next(others)) for row in collection.rows]


def _quality(collection: CollectionResults) -> str:
    """The table of quality: each system with its run and cell, the best of each measure bold."""
    measures = list(collection.rows[0].evaluation.mean)
    head = "".join(f'<th scope="col" class="number">{safe(name)}</th>' for name in [*measures, "coverage"])
    rows = "".join(_quality_row(collection, row, measures) for row in collection.rows)
    return (
        '<div class="scroll quality" tabindex="0"><table><thead><tr><th scope="col">system, cell</th>'
        f"{head}</tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    )


def _quality_row(collection: CollectionResults, row: Row, measures: Iterable[str]) -> str:
    cells: list[str] = []
    for measure in measures:
        text = value_text(row, measure)
        shown = f"<b>{text}</b>" if is_best(collection, row, measure) else text
        star = "*" if is_significant(collection, row, measure) else ""
        cells.append(f'<td class="number">{shown}<span class="mark">{star}</span></td>')
    return (
        f'<tr><th scope="row"><a href="{safe(row.run)}">{safe(row.cell.system)}</a> '
        f"<code>{short(row.cell.fingerprint)}</code></th>{''.join(cells)}"
        f'<td class="number">{tables.coverage_text(row)}</td></tr>\n'
    )


def _costs(collection: CollectionResults, styles: Sequence[Series]) -> Iterator[str]:
    measure = first_measure(collection)
    both = list(zip(collection.rows, styles, strict=True))

    def points(name: str, rows: Sequence[tuple[Row, Series]]) -> list[Point]:
        return [Point(row.cell.system, row.costs[name], row.evaluation.mean[measure], style) for row, style in rows]

    searched = [(row, style) for row, style in both if row.costs["ms_per_query_p50"] > 0 and row.cell.how["searches"]]
    rest = [row.cell.system for row, style in both if (row, style) not in searched]
    key = len(styles) <= MANY
    if len(searched) > 1:
        note = f"Without a time of their own: {', '.join(rest)}." if rest else ""
        yield pareto(points("ms_per_query_p50", searched), "ms a query (p50)", measure, log=True, note=note, key=key)
    if len(both) > 1 and any(row.costs["llm_calls_per_query"] for row in collection.rows):
        yield pareto(points("llm_calls_per_query", both), "LLM calls a query", measure, key=key)
    priced = [(row, style) for row, style in both if row.price is not None]
    if len(priced) > 1 and collection.currency and any(row.costs["price_per_query"] for row, _ in priced):
        rest = [row.cell.system for row, style in both if (row, style) not in priced]
        note = f"Without a known price: {', '.join(rest)}." if rest else ""
        axis = f"{collection.currency} a query"
        yield pareto(points("price_per_query", priced), axis, measure, note=note, key=key)


def _topics(experiment: Experiment, collection: CollectionResults) -> list[str]:
    measure = first_measure(collection)
    most = largest(collection, measure, experiment.baseline)
    found = [item for (_, name), item in collection.comparisons.items() if name == measure]
    return [topic_figure(collection, item, most) for item in sorted(found, key=lambda item: -item.difference)]


def _folded(title: str, figures: Sequence[str]) -> Iterator[str]:
    """The first figures, those of the best systems, in sight, the others behind a line to open."""
    if figures:
        yield f"<h3>{title}</h3>\n{_figures(figures[:OPEN])}"
    if rest := figures[OPEN:]:
        noun = "system" if len(rest) == 1 else "systems"
        yield f"<details><summary>{len(rest)} more {noun}</summary>{_figures(rest)}</details>\n"


def _figures(figures: Iterable[str]) -> str:
    return f'<div class="figures">\n{"".join(figures)}</div>\n'


def _table(table: Table) -> str:
    before = f"<p>{safe(table.before)}</p>\n" if table.before else ""
    body = html.table(table.head, table.rows, table.texts)
    return f"<h3>{safe(table.title)}</h3>\n{before}{body}\n{_soft(table.after)}"


def _soft(line: str) -> str:
    return f'<p class="soft">{safe(line)}</p>\n' if line else ""
