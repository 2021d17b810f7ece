"""Sketches, programs, verdicts and explanations as text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sira.search.explanation.lines import (
    CLAUSE_HEAD,
    DROPPED_HEAD,
    SKETCH_HEAD,
    absent,
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
    scoring_line,
    sketch_line,
    sketch_rows,
    standing_text,
    verdicts_line,
    why_empty,
)
from sira.tables import printable, text_table

if TYPE_CHECKING:
    from sira.program import Clause, Program
    from sira.records import Sketch
    from sira.search.explanation import Explanation, SearchExplanation
    from sira.search.explanation.values import MissedDocument, Part

SHOWN_PARTS = 6
"""Contributions of a hit that stand in its line; the rest is added up."""
NAME_CHARACTERS = 60
"""Longer phrases and titles are cut; JSON has them whole."""


def _name(text: str) -> str:
    return clipped(text, NAME_CHARACTERS)


def _clause_row(clause: Clause, documents: int) -> list[str]:
    return [_name(cell) for cell in clause_cells(clause, documents)]


def program_table(program: Program, documents: int) -> str:
    clauses = counted(len(program.clauses), "clause")
    head = f"program: {clauses} on N = {counted(documents, 'document')}; {scoring_line(program)}\n"
    if required := absent(program):
        head += f"finds nothing: it requires {', '.join(map(printable, required))}, which no document holds\n"
    rows = [_clause_row(clause, documents) for clause in program.clauses]
    return head + (text_table(CLAUSE_HEAD, rows) if rows else "no clause: finds nothing\n")


def verdict_table(program: Program, documents: int) -> str:
    if not program.verdicts:
        return "no sketch: nothing was proposed\n"
    rows = [
        [_name(item.phrase), _name(item.term), _name(outcome_text(item)), *df_cells(item.df, documents)]
        for item in program.verdicts
    ]
    head = f"verdicts: {verdicts_line(program)}\n"
    return head + text_table(["phrase", "window", "verdict", "df", "share"], rows)


def sketch_table(sketch: Sketch) -> str:
    """The phrases with their roles and weights, the facets, and those of further searches."""
    rows = [[_name(cell) for cell in row] for row in sketch_rows(sketch)]
    return f"sketch: {sketch_line(sketch)}\n" + (text_table(SKETCH_HEAD, rows) if rows else "")


def explanation_table(explanation: Explanation) -> str:
    """One document."""
    rank, before = ("no hit" if rank is None else f"rank {rank}" for rank in (explanation.rank, explanation.plain_rank))
    rows = [
        [
            f"{score:.4f}",
            f"{score / explanation.score:.1%}" if explanation.score else "",
            clause.label,
            f"{clause.weight:g}",
            "" if clause.df is None else str(clause.df),
            _name(origin(clause)),
        ]
        for clause, score in explanation.contributions
    ]
    rows.append([f"{sum(score for _, score in explanation.contributions):.4f}", "", "sum of the clauses", "", "", ""])
    kept_out = explanation.rank is None and explanation.contributions
    return (
        f"topic {printable(explanation.qid)}, document {printable(explanation.docid)}, N = {explanation.documents}\n"
        f"  with the program   {rank}, score {explanation.score:.4f}\n"
        f"  plain BM25         {before}, score {explanation.plain_score:.4f}\n\n"
        + ("a required, forbidden or filtering clause keeps it out; it would score:\n" if kept_out else "")
        + text_table(["score", "share", "clause", "weight", "df", "from"], rows)
    )


def search_explanation(found: SearchExplanation) -> str:
    """A whole search: sketch, verdicts, program, hits, what they moved, what was lost and what was missed."""
    program = found.program
    parts = [f"topic {printable(program.qid)}: {printable(program.text)}\n"]
    if found.sketch is not None:
        parts.append(sketch_table(found.sketch))
    parts += [verdict_table(program, found.documents), program_table(program, found.documents), _hits(found)]
    if found.lost:
        rows = [
            [str(item.plain.rank), standing_text(item.standing), item.docid, _name(item.title)] for item in found.lost
        ]
        parts.append(
            f"lost: in plain BM25's first {found.k} and no more\n" + text_table(["was", "now", "docid", "title"], rows)
        )
    parts += [_missed(item, found) for item in found.missed]
    if found.more_missed:
        parts.append(f"{found.more_missed} more relevant documents are not among the hits: name them with --missed\n")
    return "\n".join(parts)


def _hits(found: SearchExplanation) -> str:
    if not found.hits:
        return f"{printable(why_empty(found.program))}\n"
    lines = ["hits, with their standing under plain BM25 and what each clause adds\n"]
    for hit in found.hits:
        passage = hit.title or (hit.passages[0] if hit.passages else ())
        title = _name("".join(piece.text for piece in passage))
        grade = "" if hit.grade is None else f"(grade {hit.grade})"
        cells = (f"{hit.rank:>4}  {hit.score:9.4f}  {move_text(hit):<14}", hit.docid, grade, title)
        lines.append("  ".join(printable(cell) for cell in cells if cell).rstrip() + "\n")
        if hit.parts:
            lines.append(f"      {_sum(hit.parts, found)}\n")
    return "".join(lines)


def _sum(parts: Sequence[Part], found: SearchExplanation) -> str:
    clauses = found.program.clauses
    shown = [f"{part.score:.4f} {printable(clauses[part.clause].label)}" for part in parts[:SHOWN_PARTS]]
    if rest := parts[SHOWN_PARTS:]:
        shown.append(f"{sum(part.score for part in rest):.4f} of {len(rest)} more")
    return " + ".join(shown)


def _missed(item: MissedDocument, found: SearchExplanation) -> str:
    grade = "" if item.grade is None else f"(grade {item.grade})"
    cells = (f"missed: {item.docid}", grade, _name(item.title))
    head = "  ".join(printable(cell) for cell in cells if cell) + "\n"
    if not item.found:
        return head + "  the index has no such document\n"
    standing = f"with the program {standing_text(item.standing)}, plain BM25 {standing_text(item.plain)}"
    gap = "" if item.gap is None else f", {gap_text(item.gap, len(found.hits))}"
    lines = [f"{standing}; score {item.score:.4f}{gap}", *kept_out_lines(item, found.program.clauses)]
    if item.parts:
        lines.append(f"has {_sum(item.parts, found)}")
    body = "".join(f"  {printable(line)}\n" for line in lines)
    if item.lacks:
        rows = [_clause_row(found.program.clauses[place], found.documents) for place in item.lacks]
        body += text_table(["lacks", *CLAUSE_HEAD[1:]], rows)
    if item.dropped:
        rows = [
            [
                _name(window.verdict.phrase),
                _name(", ".join(window.held)),
                _name(outcome_text(window.verdict)),
                *df_cells(window.verdict.df, found.documents),
                f"{window.score:.4f}",
            ]
            for window in item.dropped
        ]
        body += f"  {dropped_line(item)}:\n" + text_table(DROPPED_HEAD, rows)
    return head + body
