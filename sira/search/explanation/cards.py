"""The parts of the page about documents: a card for each hit and for each that was missed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sira import html
from sira.html import paragraphs, safe
from sira.search.explanation.lines import (
    CLAUSE_HEAD,
    DROPPED_HEAD,
    clause_cells,
    clipped,
    counted,
    df_cells,
    dropped_line,
    gap_text,
    kept_out_lines,
    move_text,
    origin,
    outcome_text,
    standing_text,
)
from sira.search.explanation.values import ExplainedHit, LostHit, MissedDocument, Part, Passage, SearchExplanation

SHOWN_PARTS = 8
"""Bars and rows of a card; the others unfold."""
NAME_CHARACTERS = 160
CLAUSE_TEXTS = (0, 1, 2, 6)
"""The columns of CLAUSE_HEAD that hold texts."""

STYLE = """
article { border-top: 1px solid var(--line); padding: .7rem 0; } article:first-of-type { border-top: 0; }
h3 { font-size: 1rem; margin: 0; }
.facts { display: flex; flex-wrap: wrap; gap: 0 1rem; color: var(--soft); font-size: .9rem; }
.facts b { color: var(--ink); font-weight: 600; }
mark { background: none; color: inherit; font-weight: 650; border-bottom: 2px solid var(--good); }
mark.sketch { border-bottom: 3px dotted var(--mixed); }
.bars { display: grid; grid-template-columns: minmax(0, 12rem) minmax(0, 1fr); gap: .1rem .7rem; font-size: .9rem;
  margin: .4rem 0 0; }
.bars dt { text-align: right; } .bars dd { margin: 0; padding-right: 9.5rem; max-width: 38rem; min-width: 0; }
.bars dd div { display: flex; align-items: center; gap: .5rem; height: 100%; }
.bar { flex: none; height: .7rem; border: 1px solid var(--good); background: var(--good); min-width: 2px; }
.bar.sketch { background: repeating-linear-gradient(135deg, var(--mixed) 0 4px, transparent 4px 6px);
  border-color: var(--mixed); }
.bars span { white-space: nowrap; font-variant-numeric: tabular-nums; }
@media (max-width: 34rem) { .bars { grid-template-columns: minmax(0, 6rem) minmax(0, 1fr); }
  .bars dd { padding-right: 9rem; } }
.key { display: inline-block; height: .7rem; width: 1.6rem; }
"""


def bar_scale(cards: Iterable[ExplainedHit | MissedDocument]) -> float:
    """The score of the longest bar."""
    return max((part.score for card in cards for part in card.parts), default=0.0) or 1.0


def hit_card(hit: ExplainedHit, found: SearchExplanation, most: float) -> str:
    name = _marked(hit.title, found) if hit.title else safe(clipped(hit.docid, NAME_CHARACTERS))
    facts = [("score", f"{hit.score:.4f}"), ("plain BM25", move_text(hit)), *_facts(hit)]
    texts = [f'<p dir="auto">{_marked(passage, found)}</p>\n' for passage in hit.passages]
    return _card(name, [_line(facts), *texts, _bars(hit.parts, found, most)], f"{hit.rank}. ")


def lost_card(item: LostHit) -> str:
    facts = [("plain BM25", standing_text(item.plain)), ("with the program", standing_text(item.standing))]
    return _card(_name(item), [_line([*facts, *_facts(item)])])


def missed_card(item: MissedDocument, found: SearchExplanation, most: float) -> str:
    facts = _facts(item)
    if not item.found:
        return _card(_name(item), [_line(facts), paragraphs(["The index has no such document."])])
    facts += [
        ("with the program", standing_text(item.standing)),
        ("plain BM25", standing_text(item.plain)),
        ("score", f"{item.score:.4f}"),
    ]
    if item.gap is not None:
        facts.append(("gap", gap_text(item.gap, len(found.hits))))
    body = [_line(facts), paragraphs(line.capitalize() for line in kept_out_lines(item, found.program.clauses))]
    if item.parts:
        body += ["<p>It has:</p>\n", _bars(item.parts, found, most)]
    if item.lacks:
        rows = [clause_row(place, found) for place in item.lacks]
        body.append(_folded(f"It lacks {counted(len(rows), 'clause')}", html.table(CLAUSE_HEAD, rows, CLAUSE_TEXTS)))
    if item.dropped:
        rows = [
            [
                clipped(window.verdict.phrase, NAME_CHARACTERS),
                clipped(", ".join(window.held), NAME_CHARACTERS),
                clipped(outcome_text(window.verdict), NAME_CHARACTERS),
                *df_cells(window.verdict.df, found.documents),
                f"{window.score:.4f}",
            ]
            for window in item.dropped
        ]
        shown, rest = rows[:SHOWN_PARTS], rows[SHOWN_PARTS:]
        body += [paragraphs([f"{dropped_line(item)}:"]), html.table(DROPPED_HEAD, shown, (0, 1, 2))]
        body += [_folded(f"{len(rest)} more", html.table(DROPPED_HEAD, rest, (0, 1, 2)))] if rest else []
    return _card(_name(item), body)


def clause_row(place: int, found: SearchExplanation) -> list[str]:
    """The cells of a clause under CLAUSE_HEAD."""
    return [clipped(cell, NAME_CHARACTERS) for cell in clause_cells(found.program.clauses[place], found.documents)]


def _card(name: str, body: Iterable[str], rank: str = "") -> str:
    return f"<article>\n<h3>{rank}<bdi>{name}</bdi></h3>\n{''.join(body)}</article>\n"


def _name(item: LostHit | MissedDocument) -> str:
    return _readable(item.title) or safe(clipped(item.docid, NAME_CHARACTERS))


def _facts(item: ExplainedHit | LostHit | MissedDocument) -> list[tuple[str, str]]:
    facts = [("document", clipped(item.docid, NAME_CHARACTERS))]
    if item.grade is not None:
        facts.append(("grade", f"{item.grade} (relevant)" if item.grade >= 1 else str(item.grade)))
    return facts


def _line(facts: Iterable[tuple[str, str]]) -> str:
    items = "".join(f'<span>{safe(name)} <b dir="auto">{safe(value)}</b></span>' for name, value in facts)
    return f'<div class="facts">{items}</div>\n'


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{safe(title)}</summary>{body}</details>\n"


def _marked(passage: Passage, found: SearchExplanation) -> str:
    clauses = found.program.clauses
    parts: list[str] = []
    for piece in passage:
        if not piece.clauses:
            parts.append(_readable(piece.text))
            continue
        matched = [clauses[place] for place in piece.clauses]
        kind = ' class="sketch"' if all(clause.source is not None for clause in matched) else ""
        labels = ", ".join(clause.label for clause in matched)
        parts.append(f'<mark{kind} title="{safe(labels)}">{_readable(piece.text)}</mark>')
    return "".join(parts)


def _readable(text: str) -> str:
    """Safe, but with the joiners that scripts and emoji need, and without soft hyphens."""
    text = text.replace("\u00ad", "")
    return "\u200d".join("\u200c".join(map(safe, part.split("\u200c"))) for part in text.split("\u200d"))


def _bars(parts: Sequence[Part], found: SearchExplanation, most: float) -> str:
    shown = parts if len(parts) <= SHOWN_PARTS + 1 else parts[:SHOWN_PARTS]
    bars = _bar_list(shown, found, most) if shown else ""
    if rest := parts[len(shown) :]:
        head = f"{len(rest)} more, together {sum(part.score for part in rest):.4f}"
        bars += _folded(head, _bar_list(rest, found, most))
    return bars


def _bar_list(parts: Sequence[Part], found: SearchExplanation, most: float) -> str:
    rows: list[str] = []
    for part in parts:
        clause = found.program.clauses[part.clause]
        kind = "bar" if clause.source is None else "bar sketch"
        note = ' <span class="soft">expansion</span>' if part.held == "expansion" else ""
        rows.append(
            f'<dt dir="auto" title="from {safe(origin(clause))}">{safe(clipped(clause.label, 60))}</dt>'
            f'<dd><div><i class="{kind}" style="width:{100 * part.score / most:.1f}%"></i>'
            f"<span>{part.score:.4f}</span>{note}</div></dd>\n"
        )
    return f'<dl class="bars">\n{"".join(rows)}</dl>\n'
