"""A whole search explained: its hits, what it moved against plain BM25, and what it missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sira.compile.gates import idf
from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import Clause, Program
from sira.records import Document, Outcome, Sketch, Verdict
from sira.search.explanation.document import plain
from sira.search.explanation.lines import clipped
from sira.search.explanation.passages import READ_CHARACTERS, Mark, Marker, beginning, passages
from sira.search.explanation.probing import Standings, held_in, keeping_out, probes, scores, scores_of, windows_of
from sira.search.explanation.values import (
    DroppedWindow,
    ExplainedHit,
    LostHit,
    MissedDocument,
    Move,
    Part,
    SearchExplanation,
    Standing,
)

MAX_MISSED = 50
"""Relevant documents that are explained although they were missed; more are counted."""
_LOOKED_UP = 1000
"""Ranks down to here come from one search."""
_TITLE_CHARACTERS = 90
_COST_NOTHING = frozenset(
    {
        *(Outcome.KEPT, Outcome.ALREADY_PRESENT, Outcome.DUPLICATE, Outcome.EMPTY, Outcome.UNSEEN, Outcome.INVALID),
        Outcome.UNTRACEABLE,  # a constraint; its words have verdicts of their own
    }
)


def explain_search(
    index: Index,
    program: Program,
    k: int = 10,
    *,
    sketch: Sketch | None = None,
    grades: Mapping[str, int] | None = None,
    missed: Sequence[str] = (),
    max_missed: int = MAX_MISSED,
) -> SearchExplanation:
    """Search to depth k and explain the hits, the moves against plain BM25, and what was missed.

    Missed are those documents of `missed` that are not among the hits, and up to `max_missed` relevant ones (`grades`
    maps docids to grades; >= 1 is relevant). `sketch` is shown; the program holds what came of it. Costs two searches,
    some look-ups a document, and a pass over the postings for each rank below 1000. Raises as `Index.search`.
    """
    if k < 1:
        raise InputError(f"k = {k}: ask for at least 1 hit")
    grades = grades or {}
    view = _View(index, program, sketch, k, grades)
    first, before = view.now.ranking.top(k), view.before.ranking.top(k)
    hits = view.hits(first.docids)
    inside = set(first.docids)
    relevant = sorted(
        (docid for docid, grade in grades.items() if grade >= 1), key=lambda docid: (-grades[docid], docid)
    )
    named = [docid for docid in dict.fromkeys(missed) if docid not in inside]
    also = [docid for docid in relevant if docid not in inside and docid not in named]
    lost = [docid for docid in before.docids if docid not in inside]
    asked = [*named, *also[:max_missed]]
    titles = view.titles([*lost, *asked])
    return SearchExplanation(
        program=program,
        plain=view.plain,
        sketch=sketch,
        documents=index.document_count,
        k=k,
        hits=hits,
        lost=tuple(
            LostHit(docid, titles.get(docid, ""), grades.get(docid), view.before.of(docid), view.now.of(docid))
            for docid in lost
        ),
        missed=view.missed(asked, titles, first.scores[-1] if first.scores else None),
        more_missed=len(also[max_missed:]),
    )


class _View:
    """One program on one index, ranked with and without what was proposed."""

    def __init__(
        self, index: Index, program: Program, sketch: Sketch | None, k: int, grades: Mapping[str, int]
    ) -> None:
        self.index, self.program, self.sketch, self.k, self.grades = index, program, sketch, k, grades
        self.plain = plain(program)
        self.now = Standings(index, program, max(k, _LOOKED_UP))
        self.before = Standings(index, self.plain, max(k, _LOOKED_UP))

    def hits(self, docids: Sequence[str]) -> tuple[ExplainedHit, ...]:
        marked = self._marked(docids)
        found: list[ExplainedHit] = []
        for docid in docids:
            standing, before = self.now.of(docid), self.before.of(docid)
            parts, _ = self._parts(docid)
            rank = standing.rank or 0
            document, title, text = marked.get(docid, (Document(docid, ""), [], []))
            worth = {part.clause: part.score for part in parts}
            found.append(
                ExplainedHit(
                    docid,
                    rank,
                    standing.score,
                    before,
                    self._move(rank, before),
                    self.grades.get(docid),
                    beginning(document.title, title),
                    passages(document.text[:READ_CHARACTERS], text, worth),
                    parts,
                )
            )
        return tuple(found)

    def _move(self, rank: int, before: Standing) -> Move:
        if before.rank is None or before.rank > self.k:
            return "new"
        return "up" if rank < before.rank else "down" if rank > before.rank else "same"

    def _parts(self, docid: str) -> tuple[tuple[Part, ...], tuple[float, ...]]:
        """The scored clauses that a document holds, heaviest first; and the score of every clause on its own."""
        clauses, scoring = self.program.clauses, self.program.scoring
        alone = scores_of(self.index, scoring, clauses, docid)
        held = [place for place, clause in enumerate(clauses) if scores(clause) and alone[place] > 0]
        fields = held_in(self.index, scoring, [clauses[place] for place in held], docid)
        parts = [Part(place, alone[place], field) for place, field in zip(held, fields, strict=True)]
        return tuple(sorted(parts, key=lambda part: (-part.score, part.clause))), alone

    def _marked(self, docids: Sequence[str]) -> dict[str, tuple[Document, list[Mark], list[Mark]]]:
        """The documents with the marks of their titles and texts; nothing where the index stores no text."""
        if not self.index.manifest.stored_text or not docids:
            return {}
        documents = [document for document in self.index.documents(docids) if document]
        manifest = self.index.manifest
        marker = Marker(
            self.program.clauses,
            self.index.analyze,
            whitespace=manifest.analyzer == "whitespace",
            closed=manifest.closed_positions,
        )
        marker.learn(text for document in documents for text in (document.title, document.text))
        return {
            document.docid: (document, marker.marks(document.title), marker.marks(document.text))
            for document in documents
        }

    def titles(self, docids: Sequence[str]) -> dict[str, str]:
        """Titles, or the first words of documents without one."""
        if not self.index.manifest.stored_text or not docids:
            return {}
        found = [document for document in self.index.documents(docids) if document]
        return {document.docid: clipped(document.title or document.text, _TITLE_CHARACTERS) for document in found}

    def missed(
        self, docids: Sequence[str], titles: Mapping[str, str], last: float | None
    ) -> tuple[MissedDocument, ...]:
        there = dict(zip(docids, self.index.id_df(docids), strict=True)) if docids else {}
        return tuple(
            self._missed(docid, titles.get(docid, ""), last)
            if there[docid]
            else MissedDocument(docid, found=False, grade=self.grades.get(docid), gap=last)
            for docid in docids
        )

    def _missed(self, docid: str, title: str, last: float | None) -> MissedDocument:
        clauses = self.program.clauses
        parts, alone = self._parts(docid)
        standing = self.now.of(docid)
        score = standing.score if standing.rank else sum(part.score for part in parts)
        lacks = [place for place, clause in enumerate(clauses) if scores(clause) and alone[place] <= 0]
        return MissedDocument(
            docid,
            title=title,
            grade=self.grades.get(docid),
            standing=standing,
            plain=self.before.of(docid),
            score=score,
            gap=None if last is None else last - score,
            parts=parts,
            lacks=tuple(sorted(lacks, key=lambda place: (-self._most(clauses[place]), place))),
            kept_out_by=keeping_out(clauses, alone),
            dropped=self._dropped(docid),
        )

    def _most(self, clause: Clause) -> float:
        """About the most that a clause can add: BM25's bound, weight x idf; nothing where no document holds it."""
        if clause.df == 0:
            return 0.0
        return clause.weight * (1.0 if clause.df is None else idf(clause.df, self.index.document_count))

    def _dropped(self, docid: str) -> tuple[DroppedWindow, ...]:
        """The verdicts against windows that the document holds; of a phrase refused whole, against its words."""
        searched = {clause.label for clause in self.program.clauses if scores(clause)}
        windows = [
            (verdict, part)
            for verdict in self.program.verdicts
            if verdict.outcome not in _COST_NOTHING
            for part in windows_of(verdict, self.sketch)
            if part.term not in searched
        ]
        asked = [(place, probe) for place, (_, part) in enumerate(windows)
                 for probe in probes(part, self.sketch, positions=self.index.has_positions)]  # fmt: skip
        if not asked:
            return ()
        alone = scores_of(self.index, self.program.scoring, [probe for _, probe in asked], docid)
        best: dict[int, float] = {}
        for (place, _), score in zip(asked, alone, strict=True):
            best[place] = max(best.get(place, 0.0), score)
        found: dict[Verdict, list[tuple[str, float]]] = {}
        for place, (verdict, part) in enumerate(windows):
            if best[place] > 0:
                found.setdefault(verdict, []).append((part.term, best[place]))
        weight = _usual_weight(self.program)
        dropped = [
            DroppedWindow(verdict, tuple(term for term, _ in held), weight * sum(score for _, score in held))
            for verdict, held in found.items()
        ]
        return tuple(sorted(dropped, key=lambda item: -item.score))


def _usual_weight(program: Program) -> float:
    """The weight that most proposed clauses have."""
    weights = Counter(clause.weight for clause in program.clauses if clause.source is not None and scores(clause))
    return weights.most_common(1)[0][0] if weights else 1.0
