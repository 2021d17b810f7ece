"""What `sira inspect` found, as one page of HTML that needs nothing beside itself (sira.html)."""

from __future__ import annotations

from collections.abc import Sequence

from sira import html
from sira.html import paragraphs, safe, section
from sira.inspection.bins import Bin, even_bins, log_bins
from sira.inspection.counts import Distribution
from sira.inspection.report import (
    TOKEN_NAMES,
    clipped,
    common_rows,
    head_lines,
    phrase_lines,
    rarest_lines,
    sample_notes,
    share,
    summary,
)
from sira.inspection.rows import StoredRow
from sira.inspection.statistics import Inspection
from sira.inspection.svg import Bar, bar_chart, column_chart
from sira.records import FAILURES, Outcome, Status

RAW_CHARACTERS, PHRASE_CHARACTERS = 4000, 300

_STYLE = """
main { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); }
.wide { grid-column: 1 / -1; }
svg { display: block; width: 100%; max-width: 34rem; height: auto; overflow: visible; }
svg text { fill: var(--ink); font: 11px system-ui, sans-serif; }
svg .grid { stroke: var(--line); }
.good, .plain { fill: var(--good); } .mixed { fill: var(--mixed); } .bad { fill: var(--bad); }
pre { white-space: pre-wrap; background: var(--paper); border: 1px solid var(--line); padding: .5rem; margin: .3rem 0; }
"""


def page(found: Inspection) -> str:
    """The whole page. It depends on what was found alone: equal stores give equal pages."""
    title = found.name or found.store
    first, *notes = head_lines(found)
    sections = _sections(found) if found.documents else [section("Empty", ["<p>The store holds no rows.</p>"])]
    body = f"<h1>Expansions: {safe(first)}</h1>\n{paragraphs(notes)}<main>\n{''.join(sections)}</main>\n"
    return html.document(f"{title}: expansions", body, _STYLE)


def _sections(found: Inspection) -> list[str]:
    without = found.phrases.counts.get(0, 0)
    sections = [
        section("Rows by status", [_status_chart(found)]),
        section(
            "Phrases a document",
            [
                paragraphs([summary(found.phrases), f"{share(without, found.documents)} of the documents have none"]),
                _histogram(even_bins(found.phrases), "Phrases a document", "phrases", "documents"),
            ],
        ),
    ]
    if found.pairs:
        words = _histogram(even_bins(found.words), "Words a phrase", "words", "phrases")
        sections.append(section("Words a phrase", [paragraphs([summary(found.words)]), words]))
    if found.rarest:
        bins = [Bar(item.label, item.items, share(item.items, found.pairs)) for item in log_bins(found.rarest.df)]
        chart = bar_chart(bins, "Phrases by the df of their rarest word")
        sections.append(section("df of the rarest word", [paragraphs(rarest_lines(found.rarest)), chart]))
    if found.verdicts:
        total = sum(found.verdicts.values())
        bars = [
            Bar(outcome, n, share(n, total), "good" if outcome == Outcome.KEPT else "mixed")
            for outcome, n in found.verdicts.items()
        ]
        sections.append(section("Verdicts of the filter", [bar_chart(bars, "Phrases by verdict")]))
    if found.dropped:
        rows = [[reason, f"{items:,}"] for reason, items in found.dropped.items()]
        sections.append(section("Left out of replies", [html.table(["reason", "items"], rows)]))
    sections += [_tokens(name, values) for name, values in found.tokens.items()]
    common = html.table(["phrase", "documents", "share", ""], common_rows(found)) if found.common else ""
    sections.append(section("Common phrases", [paragraphs(phrase_lines(found)), common], "wide"))
    samples = [_samples(status, rows) for status, rows in found.samples.items() if rows]
    if samples:
        sections.append(section("Samples", ['<p class="soft">The first rows of each status.</p>', *samples], "wide"))
    return sections


def _status_chart(found: Inspection) -> str:
    failures = {status.value for status in FAILURES}
    bars = [
        Bar(
            status,
            rows,
            share(rows, found.documents),
            "good" if status == Status.OK else "bad" if status in failures else "mixed",
        )
        for status, rows in found.statuses.items()
    ]
    table = html.table(["status", "rows"], [[status, f"{rows:,}"] for status, rows in found.statuses.items()])
    return bar_chart(bars, "Rows by status") + _numbers(table)


def _tokens(name: str, values: Distribution) -> str:
    title = f"Tokens a document, {TOKEN_NAMES[name]}"
    chart = _histogram(even_bins(values), title, "tokens", "documents")
    return section(title, [paragraphs([summary(values), f"{values.sum:,} in all"]), chart])


def _histogram(bins: Sequence[Bin], title: str, axis: str, items: str) -> str:
    total = sum(item.items for item in bins) or 1
    bars = [Bar(item.label, item.items / total, f"{item.items:,} ({share(item.items, total)})") for item in bins]
    rows = [[item.label, f"{item.items:,}", share(item.items, total)] for item in bins]
    return column_chart(bars, title, axis) + _numbers(html.table([axis, items, "share"], rows))


def _numbers(table: str) -> str:
    return f"<details><summary>Figures</summary>{table}</details>"


def _samples(status: str, rows: Sequence[StoredRow]) -> str:
    return f"<details><summary>{safe(status)}: {len(rows)}</summary>{''.join(map(_sample, rows))}</details>\n"


def _sample(row: StoredRow) -> str:
    phrases = "".join(f"<li>{safe(clipped(phrase, PHRASE_CHARACTERS))}</li>" for phrase in row.phrases)
    notes = "".join(
        f'<p class="soft">{safe(name)}</p><pre>{_lines_of(clipped(text, RAW_CHARACTERS))}</pre>'
        for name, text in sample_notes(row)
    )
    return f"<p><b>{safe(row.docid)}</b></p>{f'<ul>{phrases}</ul>' if phrases else '<p>no phrases</p>'}{notes}\n"


def _lines_of(text: str) -> str:
    """Safe, but with its line ends."""
    return "\n".join(safe(line) for line in text.split("\n"))
