"""A search explained as one page of HTML (sira.html)."""

from __future__ import annotations

from sira import html
from sira.html import paragraphs, safe, section
from sira.search.explanation.cards import (
    CLAUSE_TEXTS,
    NAME_CHARACTERS,
    STYLE,
    bar_scale,
    clause_row,
    hit_card,
    lost_card,
    missed_card,
)
from sira.search.explanation.lines import (
    CLAUSE_HEAD,
    SKETCH_HEAD,
    clipped,
    counted,
    df_cells,
    outcome_text,
    scoring_line,
    sketch_line,
    sketch_rows,
    verdicts_line,
    why_empty,
)
from sira.search.explanation.values import SearchExplanation

TOPIC_CHARACTERS = 600

_STYLE = """
main { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
h1 { margin: .2rem 0; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .6rem 0 1rem; }
a { color: inherit; } :focus-visible { outline: 3px solid var(--good); outline-offset: 2px; }
table { font-size: .9rem; } th { font-weight: 600; white-space: nowrap; }
table { width: max-content; } td { max-width: min(22rem, 60vw); overflow-wrap: break-word; }
@media (max-width: 34rem) { body { padding: .7rem; } section { padding: .6rem; } }
"""


def page(found: SearchExplanation) -> str:
    """The whole page. It depends on what was found alone: equal explanations give equal pages."""
    program = found.program
    parts = [("hits", "Hits", _hits(found))]
    if found.lost:
        parts.append(("lost", "Lost", _lost(found)))
    if found.missed or found.more_missed:
        parts.append(("missed", "Missed", _missed(found)))
    if found.sketch is not None:
        parts.append(("sketch", "Sketch", _sketch(found)))
    parts += [("verdicts", "Verdicts", _verdicts(found)), ("program", "Program", _program(found))]
    links = "".join(f'<a href="#{anchor}">{head}</a>\n' for anchor, head, _ in parts)
    sections = "".join(section(head, body, anchor=anchor) for anchor, head, body in parts)
    name = f"Topic {clipped(program.qid, NAME_CHARACTERS)}"
    text = safe(clipped(program.text, TOPIC_CHARACTERS)) or "(no text)"
    body = (
        f'<header>\n<p class="soft" dir="auto">{safe(name)}</p>\n<h1 dir="auto">{text}</h1>\n'
        f'{paragraphs(_facts(found))}</header>\n<nav aria-label="Parts of this page">\n{links}</nav>\n'
        f"<main>\n{sections}</main>\n"
    )
    return html.document(f"{name}: a search explained", body, _STYLE + STYLE)


def _facts(found: SearchExplanation) -> list[str]:
    new = sum(hit.move == "new" for hit in found.hits)
    lines = [
        f"{counted(len(found.hits), 'hit')} of at most {found.k}, {new} new against plain BM25, "
        f"{len(found.lost)} lost; N = {counted(found.documents, 'document')}."
    ]
    missed = len(found.missed) + found.more_missed
    if missed or any(hit.grade is not None for hit in found.hits):
        relevant = sum(hit.grade is not None and hit.grade >= 1 for hit in found.hits)
        lines.append(f"{relevant} relevant among the hits; {counted(missed, 'document')} missed.")
    return lines


def _hits(found: SearchExplanation) -> list[str]:
    if not found.hits:
        return [paragraphs([why_empty(found.program).capitalize() + "."])]
    key = (
        '<p class="soft"><i class="bar key"></i> the words of the query; <i class="bar sketch key"></i> what was '
        "proposed; <b>expansion</b>: held only in the phrases proposed for the document. The numbers of a hit add up "
        "to its score; all bars have one scale.</p>\n"
    )
    most = bar_scale(found.hits)
    return [key, *(hit_card(hit, found, most) for hit in found.hits)]


def _lost(found: SearchExplanation) -> list[str]:
    head = paragraphs([f"Among plain BM25's first {found.k}, and no more."])
    return [head, *map(lost_card, found.lost)]


def _missed(found: SearchExplanation) -> list[str]:
    most = bar_scale(found.missed)
    cards = [missed_card(item, found, most) for item in found.missed]
    if found.more_missed:
        cards.append(paragraphs([f"{found.more_missed} more relevant documents are not among the hits."]))
    return cards


def _sketch(found: SearchExplanation) -> list[str]:
    if found.sketch is None:
        return []
    rows = [[clipped(cell, NAME_CHARACTERS) for cell in row] for row in sketch_rows(found.sketch)]
    table = html.table(SKETCH_HEAD, rows, (0, 1)) if rows else ""
    return [paragraphs([sketch_line(found.sketch) + "."]), table]


def _verdicts(found: SearchExplanation) -> list[str]:
    program = found.program
    if not program.verdicts:
        return [paragraphs(["Nothing was proposed."])]
    rows = [
        [
            clipped(item.phrase, NAME_CHARACTERS),
            clipped(item.term, NAME_CHARACTERS),
            clipped(outcome_text(item), NAME_CHARACTERS),
            *df_cells(item.df, found.documents),
            "" if item.weight is None else f"{item.weight:g}",
        ]
        for item in program.verdicts
    ]
    head = ["phrase", "window", "verdict", "df", "share", "weight"]
    return [paragraphs([f"{verdicts_line(program)}."]), html.table(head, rows, (0, 1, 2))]


def _program(found: SearchExplanation) -> list[str]:
    rows = [clause_row(place, found) for place in range(len(found.program.clauses))]
    table = html.table(CLAUSE_HEAD, rows, CLAUSE_TEXTS) if rows else ""
    return [paragraphs([f"{counted(len(rows), 'clause')}; {scoring_line(found.program)}."]), table]
