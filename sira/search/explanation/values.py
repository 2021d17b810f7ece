"""What an explanation says, as values; their JSON is described in docs/explaining.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sira.compile.sketches import sketch_to_json
from sira.program import Clause, Program, program_to_json
from sira.records import Sketch, Verdict

Held = Literal["contents", "expansion", "both", "facet", "value"]
"""Where a document holds what a clause asks for: its own words, those proposed for it, or both."""

Move = Literal["new", "up", "same", "down"]


class Standing(NamedTuple):
    """Rank (from 1) and score of a document under one program; None and 0 where it is no hit."""

    rank: int | None
    score: float


NO_HIT = Standing(None, 0.0)


@dataclass(frozen=True, slots=True)
class Part:
    """What one clause adds to a document's score. `clause` is its place in the program, from 0."""

    clause: int
    score: float
    held: Held


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a passage, and the places of the clauses that its word matches (none: a piece between words)."""

    text: str
    clauses: tuple[int, ...] = ()


Passage = tuple[Piece, ...]
"""Pieces of one passage in their order; white space is one blank, and `…` stands where text was cut."""


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """A hit: its parts, heaviest first, sum to `score` (32-bit floats, so to about 1e-6 of it).

    `plain` is its standing under plain BM25, `grade` its judgement (None: not judged). Title and passages are empty
    where the index stores no text.
    """

    docid: str
    rank: int
    score: float
    plain: Standing
    move: Move
    grade: int | None
    title: Passage
    passages: tuple[Passage, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class LostHit:
    """A document that plain BM25 has among its first k, and the program has not. `title` may be its first words."""

    docid: str
    title: str
    grade: int | None
    plain: Standing
    standing: Standing


@dataclass(frozen=True, slots=True)
class DroppedWindow:
    """A proposed window that was dropped although the document holds it.

    `held` are the terms that it holds of it; `score` is what they would add at the weight that most proposed clauses
    of the program have (1 where it has none).
    """

    verdict: Verdict
    held: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class MissedDocument:
    """A document that was asked for and is not among the first k hits.

    `parts`, heaviest first, sum to `score`: what it would score if no clause kept it out. `gap` is the score of rank k
    (of the last hit, where there are fewer) less `score`; None without hits. `lacks` are the places of the scored
    clauses that it does not hold, by weight x idf, those that no document holds last; `kept_out_by` those of required
    clauses and filters that it does not match and of exclusions that it does. `found` is False where the index has no
    such docid.
    """

    docid: str
    found: bool = True
    title: str = ""
    grade: int | None = None
    standing: Standing = NO_HIT
    plain: Standing = NO_HIT
    score: float = 0.0
    gap: float | None = None
    parts: tuple[Part, ...] = ()
    lacks: tuple[int, ...] = ()
    kept_out_by: tuple[int, ...] = ()
    dropped: tuple[DroppedWindow, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchExplanation:
    """A search to depth `k` and why it ranks as it does. `documents` is N.

    `plain` is the program of plain BM25 that it is compared with. `lost` are in the order of plain BM25. `missed` are
    those named, then relevant ones by grade and docid; `more_missed` counts the relevant ones that were left out.
    """

    program: Program
    plain: Program
    sketch: Sketch | None
    documents: int
    k: int
    hits: tuple[ExplainedHit, ...]
    lost: tuple[LostHit, ...] = ()
    missed: tuple[MissedDocument, ...] = ()
    more_missed: int = 0

    def share(self, df: int | None) -> float | None:
        """df as a share of all documents."""
        return None if df is None or not self.documents else df / self.documents

    def to_json(self) -> Mapping[str, Any]:
        clauses = self.program.clauses
        return {
            "qid": self.program.qid,
            "text": self.program.text,
            "documents": self.documents,
            "k": self.k,
            "sketch": None if self.sketch is None else sketch_to_json(self.sketch),
            "program": program_to_json(self.program),
            "hits": [_hit(hit, clauses) for hit in self.hits],
            "lost": [
                {
                    "docid": item.docid,
                    "title": item.title,
                    "grade": item.grade,
                    "plain_bm25": item.plain._asdict(),
                    "rank": item.standing.rank,
                    "score": item.standing.score,
                }
                for item in self.lost
            ],
            "missed": [_missed(item, clauses) for item in self.missed],
            "more_missed": self.more_missed,
        }


def _hit(hit: ExplainedHit, clauses: tuple[Clause, ...]) -> dict[str, Any]:
    return {
        "docid": hit.docid,
        "rank": hit.rank,
        "score": hit.score,
        "plain_bm25": hit.plain._asdict(),
        "move": hit.move,
        "grade": hit.grade,
        "title": _passage(hit.title),
        "passages": [_passage(passage) for passage in hit.passages],
        "contributions": _parts(hit.parts, clauses),
    }


def _passage(passage: Passage) -> list[dict[str, Any]]:
    return [{"text": piece.text, "clauses": list(piece.clauses)} for piece in passage]


def _parts(parts: tuple[Part, ...], clauses: tuple[Clause, ...]) -> list[dict[str, Any]]:
    return [
        {"place": part.clause, "clause": clauses[part.clause].label, "score": part.score, "held": part.held}
        for part in parts
    ]


def _named(places: tuple[int, ...], clauses: tuple[Clause, ...]) -> list[dict[str, Any]]:
    return [
        {
            "place": place,
            "clause": clauses[place].label,
            "occur": clauses[place].occur,
            "weight": clauses[place].weight,
            "df": clauses[place].df,
        }
        for place in places
    ]


def _missed(item: MissedDocument, clauses: tuple[Clause, ...]) -> dict[str, Any]:
    return {
        "docid": item.docid,
        "found": item.found,
        "title": item.title,
        "grade": item.grade,
        "rank": item.standing.rank,
        "score": item.score,
        "gap": item.gap,
        "plain_bm25": item.plain._asdict(),
        "contributions": _parts(item.parts, clauses),
        "lacks": _named(item.lacks, clauses),
        "kept_out_by": _named(item.kept_out_by, clauses),
        "dropped": [
            {
                "phrase": window.verdict.phrase,
                "term": window.verdict.term,
                "outcome": window.verdict.outcome.value,
                "df": window.verdict.df,
                "held": list(window.held),
                "score": window.score,
            }
            for window in item.dropped
        ],
    }
