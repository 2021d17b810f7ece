"""What `sira inspect` found, as one page of HTML that needs nothing beside itself: no script, no font, no network.

Texts of the store stand in it escaped; a policy in its head also forbids the browser to load or run anything.
Colours are Okabe and Ito's, told apart by people of any colour vision, and never carry meaning alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sira import __version__
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
from sira.inspection.svg import Bar, bar_chart, column_chart, safe
from sira.records import FAILURES, Outcome, Status

RAW_CHARACTERS, PHRASE_CHARACTERS = 4000, 300

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1b1b; --soft: #5c5c5c; --line: #d5d5d5; --card: #f6f6f6;
  --good: #0072b2; --mixed: #e69f00; --bad: #d55e00; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #ececec; --soft: #a9adb2; --line: #3b4046; --card: #1f2226;
    --good: #56b4e9; --mixed: #e69f00; --bad: #f0803c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; line-height: 1.25; } h2 { font-size: 1.1rem; margin: 0 0 .4rem; }
p { margin: .3rem 0; } footer, .soft { color: var(--soft); }
main { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); }
section { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .8rem; min-width: 0; }
.wide { grid-column: 1 / -1; }
svg { display: block; width: 100%; max-width: 34rem; height: auto; overflow: visible; }
svg text { fill: var(--ink); font: 11px system-ui, sans-serif; }
svg .grid { stroke: var(--line); }
.good, .plain { fill: var(--good); } .mixed { fill: var(--mixed); } .bad { fill: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } th, td { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); } .number { text-align: right; white-space: nowrap; }
details { margin: .4rem 0; } summary { cursor: pointer; }
pre { white-space: pre-wrap; background: var(--paper); border: 1px solid var(--line); padding: .5rem; margin: .3rem 0; }
"""


def page(found: Inspection) -> str:
    """The whole page. It depends on what was found alone: equal stores give equal pages."""
    title = found.name or found.store
    first, *notes = head_lines(found)
    sections = _sections(found) if found.documents else [_section("Empty", ["<p>The store holds no rows.</p>"])]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(title)}: expansions</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>Expansions: {safe(first)}</h1>\n{_paragraphs(notes)}<main>\n{''.join(sections)}</main>\n"
        f"<footer><p>Written by sira {safe(__version__)}.</p></footer>\n</body>\n</html>\n"
    )


def _sections(found: Inspection) -> list[str]:
    without = found.phrases.counts.get(0, 0)
    sections = [
        _section("Rows by status", [_status_chart(found)]),
        _section(
            "Phrases a document",
            [
                _paragraphs([summary(found.phrases), f"{share(without, found.documents)} of the documents have none"]),
                _histogram(even_bins(found.phrases), "Phrases a document", "phrases", "documents"),
            ],
        ),
    ]
    if found.pairs:
        words = _histogram(even_bins(found.words), "Words a phrase", "words", "phrases")
        sections.append(_section("Words a phrase", [_paragraphs([summary(found.words)]), words]))
    if found.rarest:
        bins = [Bar(item.label, item.items, share(item.items, found.pairs)) for item in log_bins(found.rarest.df)]
        chart = bar_chart(bins, "Phrases by the df of their rarest word")
        sections.append(_section("df of the rarest word", [_paragraphs(rarest_lines(found.rarest)), chart]))
    if found.verdicts:
        total = sum(found.verdicts.values())
        bars = [
            Bar(outcome, n, share(n, total), "good" if outcome == Outcome.KEPT else "mixed")
            for outcome, n in found.verdicts.items()
        ]
        sections.append(_section("Verdicts of the filter", [bar_chart(bars, "Phrases by verdict")]))
    if found.dropped:
        rows = [[reason, f"{items:,}"] for reason, items in found.dropped.items()]
        sections.append(_section("Left out of replies", [_table(["reason", "items"], rows)]))
    sections += [_tokens(name, values) for name, values in found.tokens.items()]
    common = _table(["phrase", "documents", "share", ""], common_rows(found)) if found.common else ""
    sections.append(_section("Common phrases", [_paragraphs(phrase_lines(found)), common], wide=True))
    samples = [_samples(status, rows) for status, rows in found.samples.items() if rows]
    if samples:
        sections.append(
            _section("Samples", ['<p class="soft">The first rows of each status.</p>', *samples], wide=True)
        )
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
    table = _table(["status", "rows"], [[status, f"{rows:,}"] for status, rows in found.statuses.items()])
    return bar_chart(bars, "Rows by status") + _numbers(table)


def _tokens(name: str, values: Distribution) -> str:
    title = f"Tokens a document, {TOKEN_NAMES[name]}"
    chart = _histogram(even_bins(values), title, "tokens", "documents")
    return _section(title, [_paragraphs([summary(values), f"{values.sum:,} in all"]), chart])


def _histogram(bins: Sequence[Bin], title: str, axis: str, items: str) -> str:
    total = sum(item.items for item in bins) or 1
    bars = [Bar(item.label, item.items / total, f"{item.items:,} ({share(item.items, total)})") for item in bins]
    rows = [[item.label, f"{item.items:,}", share(item.items, total)] for item in bins]
    return column_chart(bars, title, axis) + _numbers(_table([axis, items, "share"], rows))


def _numbers(table: str) -> str:
    return f"<details><summary>Figures</summary>{table}</details>"


def _section(title: str, parts: Iterable[str], *, wide: bool = False) -> str:
    opening = '<section class="wide">' if wide else "<section>"
    return f"{opening}\n<h2>{safe(title)}</h2>\n{''.join(parts)}\n</section>\n"


def _paragraphs(lines: Iterable[str]) -> str:
    return "".join(f"<p>{safe(line)}</p>\n" for line in lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column is text, the others are figures."""
    classes = ["", *[' class="number"'] * (len(head) - 1)]
    top = "".join(f"<th{kind}>{safe(cell)}</th>" for kind, cell in zip(classes, head, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{safe(cell)}</td>" for kind, cell in zip(classes, row, strict=True)) + "</tr>\n"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>\n{body}</tbody></table></div>'


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
