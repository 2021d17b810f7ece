"""Why a document stands where it stands: what each clause adds, beside the ranking by the query's own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sira.lucene.reader import Index
from sira.program import Clause, FacetClause, PhraseClause, Program, RangeClause


@dataclass(frozen=True, slots=True)
class Explanation:
    """Contributions of the scored clauses, heaviest first; they sum to `score` (32-bit floats, so to about 1e-6).

    Ranks count from 1; None where the document is no hit. `plain_rank` and `plain_score` are those of the query's own
    words alone on `contents`. `documents` is N.
    """

    qid: str
    docid: str
    score: float
    rank: int | None
    plain_score: float
    plain_rank: int | None
    documents: int
    contributions: tuple[tuple[Clause, float], ...]

    def to_json(self) -> Mapping[str, Any]:
        return {
            "qid": self.qid,
            "docid": self.docid,
            "score": self.score,
            "rank": self.rank,
            "documents": self.documents,
            "plain_bm25": {"score": self.plain_score, "rank": self.plain_rank},
            "contributions": [
                {
                    "clause": clause.label,
                    "kind": clause.kind,
                    "field": _field(clause),
                    "occur": clause.occur,
                    "weight": clause.weight,
                    "df": clause.df,
                    "source": clause.source,
                    "score": score,
                }
                for clause, score in self.contributions
            ],
        }


def plain(program: Program) -> Program:
    """The query's own words alone, on `contents` alone."""
    clauses = tuple(clause for clause in program.clauses if clause.source is None)
    return replace(program, clauses=clauses, scoring=replace(program.scoring, expansion_weight=0.0), verdicts=())


def explain(index: Index, program: Program, docid: str) -> Explanation:
    """Raises NotFoundError for a docid that the index does not hold."""
    found = index.explain(program, docid)
    before = index.explain(plain(program), docid)
    scored = [(clause, part) for clause, part in zip(program.clauses, found.parts, strict=True) if part]
    scored.sort(key=lambda pair: -pair[1])
    return Explanation(
        qid=program.qid,
        docid=docid,
        score=found.score,
        rank=found.rank,
        plain_score=before.score,
        plain_rank=before.rank,
        documents=index.document_count,
        contributions=tuple(scored),
    )


def _field(clause: Clause) -> str:
    """Where a clause looks."""
    match clause:
        case FacetClause():
            return "facet"
        case RangeClause():
            return clause.field
        case PhraseClause():
            return "contents"
        case _:
            return "contents and expansion"
