"""How far terms separate the first hits of a program from those after them: read from the index, without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sira.program import Program, TermClause
from sira.records import Ranking

FIRST, NEXT = 10, 1000
"""The hits that are taken for good, and those behind them that are the background."""


def separation(search: Callable[[Program, int], Ranking], plain: Program, terms: Sequence[str]) -> list[float]:
    """For each term max(0, share of the first hits that hold it - share of the next), over the largest of them.

    All 1 where no term separates them, or where the plain program has no hits behind its first.
    """
    ranked = search(plain, FIRST + NEXT).docids
    first, behind = frozenset(ranked[:FIRST]), frozenset(ranked[FIRST:])
    if not behind:
        return [1.0] * len(terms)
    margins: list[float] = []
    for term in terms:
        # The plain ranking cut down to the documents that hold the term: those among the first hits come first.
        held = search(replace(plain, clauses=(*plain.clauses, TermClause(term, 1.0, "filter"))), FIRST + NEXT).docids
        good, background = len(first.intersection(held)), len(behind.intersection(held))
        margins.append(max(0.0, good / len(first) - background / len(behind)))
    most = max(margins, default=0.0)
    return [margin / most for margin in margins] if most > 0 else [1.0] * len(terms)
