"""Programs, verdicts and explanations as text for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sira.tables import text_table

if TYPE_CHECKING:
    from sira.program import Program
    from sira.search.explain import Explanation


def program_table(program: Program, documents: int) -> str:
    scoring = program.scoring
    rows = [
        [
            clause.label,
            clause.occur,
            f"{clause.weight:g}",
            "" if clause.df is None else str(clause.df),
            clause.source or "query",
        ]
        for clause in program.clauses
    ]
    head = (
        f"program: {len(rows)} clauses on N = {documents} documents; {scoring.combine}, k1 = {scoring.k1:g}, "
        f"b = {scoring.b:g}, weights of contents {scoring.contents_weight:g}, expansion {scoring.expansion_weight:g}\n"
    )
    absent = [clause.label for clause in program.clauses if clause.occur == "must" and clause.df == 0]
    if absent:
        head += f"finds nothing: it requires {', '.join(absent)}, which no document holds\n"
    return head + (
        text_table(["clause", "occur", "weight", "df", "from"], rows) if rows else "no clause: finds nothing\n"
    )


def verdict_table(program: Program, documents: int) -> str:
    if not program.verdicts:
        return "no sketch: nothing was proposed\n"
    rows = [
        [
            item.phrase,
            item.term,
            item.outcome.value,
            "" if item.df is None else str(item.df),
            "" if item.df is None or not documents else f"{item.df / documents:.2%}",
        ]
        for item in program.verdicts
    ]
    kept = sum(item.outcome.value == "kept" and item.weight != 0 for item in program.verdicts)
    head = f"verdicts: {kept} of {len(rows)} windows kept\n"
    return head + text_table(["phrase", "window", "verdict", "df", "share"], rows)


def explanation_table(explanation: Explanation) -> str:
    rank = _rank(explanation.rank)
    before = _rank(explanation.plain_rank)
    rows = [
        [
            f"{score:.4f}",
            f"{score / explanation.score:.1%}" if explanation.score else "",
            clause.label,
            f"{clause.weight:g}",
            "" if clause.df is None else str(clause.df),
            clause.source or "query",
        ]
        for clause, score in explanation.contributions
    ]
    rows.append([f"{sum(score for _, score in explanation.contributions):.4f}", "", "sum of the clauses", "", "", ""])
    kept_out = explanation.rank is None and explanation.contributions
    return (
        f"topic {explanation.qid}, document {explanation.docid}, N = {explanation.documents}\n"
        f"  with the program   {rank}, score {explanation.score:.4f}\n"
        f"  plain BM25         {before}, score {explanation.plain_score:.4f}\n\n"
        + ("a required, forbidden or filtering clause keeps it out; it would score:\n" if kept_out else "")
        + text_table(["score", "share", "clause", "weight", "df", "from"], rows)
    )


def _rank(rank: int | None) -> str:
    return "no hit" if rank is None else f"rank {rank}"
