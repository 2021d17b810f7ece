"""What one document gives each clause, without ranking the others; and ranks, looked up before they are counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sira.lucene.reader import Index
from sira.program import Clause, FacetClause, PhraseClause, Program, RangeClause, Scoring, TermClause
from sira.records import Sketch, Verdict
from sira.search.explanation.values import NO_HIT, Held, Standing

_NOTHING = FacetClause("-" * 32_767, occur="filter")
"""A filter that no document passes (Lucene's terms end at 32,766 bytes): one document is scored, none is ranked."""


def scores_of(index: Index, scoring: Scoring, clauses: Sequence[Clause], docid: str) -> tuple[float, ...]:
    """The score of each clause on its own; 0 where the document does not hold it.

    A clause that never scores (an exclusion, a filter, weight 0) stands here as if it scored with weight 1, so that
    what is above 0 is held. Raises NotFoundError for a docid that the index does not hold.
    """
    alone = [replace(clause, occur="should", weight=clause.weight if scores(clause) else 1.0) for clause in clauses]
    return index.explain(Program("", (*alone, _NOTHING), scoring), docid).parts[:-1]


def scores(clause: Clause) -> bool:
    return clause.occur in ("should", "must") and clause.weight > 0


def held_in(index: Index, scoring: Scoring, clauses: Sequence[Clause], docid: str) -> tuple[Held, ...]:
    """The field in which the document holds each of these clauses, all of which it holds."""
    contents = expansion = (1.0,) * len(clauses)
    if not index.expanded_documents or scoring.expansion_weight == 0:
        expansion = (0.0,) * len(clauses)
    elif scoring.contents_weight == 0:
        contents = (0.0,) * len(clauses)
    else:
        contents = scores_of(index, Scoring(expansion_weight=0), clauses, docid)
        expansion = scores_of(index, Scoring(contents_weight=0), clauses, docid)
    return tuple(_held(*item) for item in zip(clauses, contents, expansion, strict=True))


def _held(clause: Clause, contents: float, expansion: float) -> Held:
    match clause:
        case FacetClause():
            return "facet"
        case RangeClause():
            return "value"
        case _ if contents > 0 and expansion > 0:
            return "both"
        case _:
            return "expansion" if expansion > 0 else "contents"


def probes(verdict: Verdict, sketch: Sketch | None, *, positions: bool) -> list[Clause]:
    """Clauses of weight 1 that a document matches where it holds a window, facet or range."""
    if atomic := _atomic(verdict, sketch):
        return [atomic]
    words = tuple(verdict.term.split(" "))
    phrase = [PhraseClause(words)] if len(words) > 1 and all(words) and positions else []
    return [TermClause(verdict.term), *phrase]


def windows_of(verdict: Verdict, sketch: Sketch | None) -> list[Verdict]:
    """The window, facet or range itself, or the words of a phrase that was refused before it came to windows."""
    if verdict.df is not None or _atomic(verdict, sketch):
        return [verdict]
    return [replace(verdict, term=word) for word in dict.fromkeys(verdict.term.split(" ")) if word]


def _atomic(verdict: Verdict, sketch: Sketch | None) -> FacetClause | RangeClause | None:
    """The proposed facet or range that a verdict is on, which is known by its whole label; None of windows."""
    if sketch is None or verdict.term != verdict.phrase:
        return None
    for item in sketch.ranges:
        if item.label == verdict.term:
            return RangeClause(item.field, item.gte, item.lte, occur="should")
    return FacetClause(verdict.term) if verdict.term in sketch.facets else None


class Standings:
    """Ranks under one program: of the first `depth` hits from one search, below them by a pass for each document."""

    def __init__(self, index: Index, program: Program, depth: int) -> None:
        self._index, self._program = index, program
        self.ranking = index.search(program, depth)
        self._whole = len(self.ranking) < depth
        self._places = {hit.docid: Standing(hit.rank, hit.score) for hit in self.ranking}

    def of(self, docid: str) -> Standing:
        """Raises NotFoundError for a docid that the index does not hold."""
        if (found := self._places.get(docid)) is not None:
            return found
        if self._whole or not self._program.clauses:
            return NO_HIT
        counted = self._index.explain(self._program, docid)
        return NO_HIT if counted.rank is None else Standing(counted.rank, counted.score)


def keeping_out(clauses: Iterable[Clause], held: Sequence[float]) -> tuple[int, ...]:
    """The places of the clauses that keep a document out: required and not held, or excluded and held."""
    return tuple(
        place
        for place, (clause, score) in enumerate(zip(clauses, held, strict=True))
        if (clause.occur in ("must", "filter") and score <= 0) or (clause.occur == "must_not" and score > 0)
    )
