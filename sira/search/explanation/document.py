"""Why a document stands where it stands: what each clause adds, beside the ranking by the query's own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sira.lucene.reader import Index
from sira.program import Clause, Program, TermClause
from sira.search.explanation.lines import field_of


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
                    "field": field_of(clause),
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
    """Plain BM25: the query's own words with their weights, none required, on `contents` alone; k1 and b are kept.

    Of a program that someone wrote these are its single words that are neither excluded nor a filter.
    """
    clauses = tuple(
        replace(clause, occur="should")
        for clause in program.clauses
        if isinstance(clause, TermClause) and clause.source is None and clause.occur in ("should", "must")
    )
    scoring = replace(program.scoring, contents_weight=1.0, expansion_weight=0.0)
    return replace(program, clauses=clauses, scoring=scoring, verdicts=())


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
