"""report.html of agent runs: one page that needs nothing beside itself (sira.html), in light and in dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sira import html
from sira.evaluate.agents.evaluation import RunEvaluation
from sira.evaluate.agents.fates import Fate, fate_counts
from sira.evaluate.agents.reporting import drawings
from sira.evaluate.agents.reporting.content import Content, RunContent
from sira.evaluate.reporting.drawing import series
from sira.evaluate.reporting.pareto import Point, pareto
from sira.evaluate.reporting.style import PATTERNS, STYLE
from sira.evaluate.reporting.tables import Table
from sira.html import safe, section

TOOLS = 6
"""Curves in one figure at most."""


def page(content: Content) -> str:
    """The whole page."""
    runs = content.runs
    anchors = [f"run-{number}" for number in range(1, len(runs) + 1)]
    alone = len(runs) == 1
    links = [("overview", "Overview"), *zip(anchors, (item.found.run.name for item in runs), strict=True)]
    inner = "".join(f'<a href="#{anchor}">{safe(name)}</a>\n' for anchor, name in links)
    nav = "" if alone else f'<nav aria-label="Parts of this page">\n{inner}</nav>\n'
    overview = section("Overview", _overview(content), anchor="overview")
    sections = [
        section(item.found.run.name, _run(item), anchor=anchor) for anchor, item in zip(anchors, runs, strict=True)
    ]
    body = (
        f"{PATTERNS}{drawings.PATTERNS}<header>\n<h1>{safe(content.title)}</h1>\n{_soft(content.about)}</header>\n"
        f"{nav}<main>\n{overview}{''.join(sections)}</main>\n"
    )
    return html.document(content.title, body, STYLE + drawings.STYLE)


def _overview(content: Content) -> Iterator[str]:
    found = [item.found for item in content.runs]
    yield _table(content.overview)
    figures = list(_common(found))
    if figures:
        yield _figures(figures)
    for table in content.comparisons:
        yield _table(table)


def _run(item: RunContent) -> Iterator[str]:
    if item.caveats:
        lines = "".join(f"<li>{safe(line)}</li>\n" for line in item.caveats)
        yield f'<div class="caveat" role="note"><b>To know</b><ul>\n{lines}</ul></div>\n'
    yield _figures(_own(item.found))
    for table in (*item.tables, *item.questions, item.provenance):
        yield _table(table)


def _common(runs: Sequence[RunEvaluation]) -> Iterator[str]:
    """Figures over all runs: where labels were lost; quality against cost and distributions where there are several."""
    names = list(dict.fromkeys(name for found in runs for name in found.labels))
    for name in names:
        bars = {
            found.run.name: {fate.value: counts[fate] for fate in reversed(Fate)}
            for found in runs
            if name in found.labels and (counts := fate_counts(found.labels[name].fates)) and found.labels[name].fates
        }
        if bars:
            yield drawings.stacked(f"Where labels were lost: {name}", bars)
    if len(runs) > 1:
        yield from _pareto(runs)
        for quantity, axis in (("calls: all tools", "tool calls a question"), ("seconds", "seconds a question")):
            curves = _curves(runs, quantity)
            if curves:
                yield drawings.ecdf(f"Share of questions by {axis.split(' a ')[0]}", axis, curves)


def _pareto(runs: Sequence[RunEvaluation]) -> Iterator[str]:
    quality = "accuracy over all, %" if all(found.judge is not None for found in runs) else "behaviour recall, %"
    values = {found.run.name: _quality(found, quality) for found in runs}
    prices = {found.run.name: found.costs.per_question for found in runs}
    currencies = {found.costs.currency for found in runs}
    cost = f"price a question, {currencies.pop()}" if len(currencies) == 1 and None not in prices.values() else ""
    if not cost:
        spreads = {found.run.name: found.spreads.get("calls: all tools") for found in runs}
        prices = {name: None if item is None else item.mean for name, item in spreads.items()}
        cost = "tool calls a question"
    points = [
        Point(name, price, 100 * value, series(number))
        for number, name in enumerate(values)
        if (price := prices[name]) is not None and (value := values[name]) is not None
    ]
    if len(points) > 1:
        yield pareto(points, cost, quality)


def _quality(found: RunEvaluation, quality: str) -> float | None:
    if quality.startswith("accuracy"):
        return None if found.judge is None else found.judge.over_all
    label = next(iter(found.labels.values()), None)
    return None if label is None else label.recall["behaviour"].macro


def _curves(runs: Sequence[RunEvaluation], quantity: str) -> Mapping[str, Sequence[float]]:
    named = {found.run.name: found.measured.get(quantity, {}) for found in runs[:TOOLS]}
    return {name: list(values.values()) for name, values in named.items() if values}


def _own(found: RunEvaluation) -> Iterator[str]:
    """Figures of one run: calls by tool as boxes and as distributions, ranks of labels, seconds."""
    tools = {name.removeprefix("calls: "): item for name, item in found.spreads.items() if name.startswith("calls: ")}
    if tools:
        yield drawings.boxes("Tool calls a question", tools)
        curves = {name: list(found.measured[f"calls: {name}"].values()) for name in list(tools)[:TOOLS]}
        yield drawings.ecdf("Share of questions by tool calls", "calls a question", curves)
    ranks = {name: [fate.rank for fate in label.fates] for name, label in found.labels.items() if label.fates}
    if ranks:
        yield drawings.found_by_depth("Labels found by depth", ranks, "Share of all labels of the set.")
    if "seconds" in found.measured:
        curves = {found.run.name: list(found.measured["seconds"].values())}
        yield drawings.ecdf("Share of questions by seconds", "seconds a question", curves)
    if "price" in found.measured:
        curves = {found.run.name: list(found.measured["price"].values())}
        yield drawings.ecdf("Share of questions by price", f"{found.costs.currency} a question".strip(), curves)


def _figures(figures: Iterable[str]) -> str:
    return f'<div class="figures">\n{"".join(figures)}</div>\n'


def _table(table: Table) -> str:
    body = html.table(table.head, table.rows, table.texts)
    return f"<h3>{safe(table.title)}</h3>\n{body}\n{_soft(table.after)}"


def _soft(line: str) -> str:
    return f'<p class="soft">{safe(line)}</p>\n' if line else ""
