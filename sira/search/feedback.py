"""Pseudo-relevance feedback: words of the first hits join the query (Lavrenko and Croft 2001; Rocchio 1971).

Both forms compute what Anserini's Rm3Reranker and RocchioReranker do, on the words of the stored text. Sources of the
added clauses are the names of the methods, so that an explanation shows what came from feedback.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import Program, TermClause
from sira.records import Ranking

Method = Literal["rm3", "rocchio"]
Vector = Mapping[str, float]

MAX_DF_RATIO = 0.1
"""Words of more documents are none of feedback (Anserini's bound; for web collections it has another)."""
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class FeedbackSettings:
    """Anserini's defaults: 10 words of the first 10 documents.

    `query_weight` is the share of the query in `rm3` (1 leaves it alone). `rocchio` is alpha * query + beta * mean of
    the documents, each vector of unit length; documents that are not relevant do not count there.
    """

    method: Method = "rm3"
    documents: int = 10
    terms: int = 10
    query_weight: float = 0.5
    alpha: float = 1.0
    beta: float = 0.75

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise InputError(f"feedback: method = {self.method!r}: choose {' or '.join(get_args(Method))}")
        for name in ("documents", "terms"):
            if getattr(self, name) < 1:
                raise InputError(f"feedback: {name} = {getattr(self, name)}: give 1 or more")
        if not 0 <= self.query_weight <= 1:
            raise InputError(f"feedback: query_weight = {self.query_weight}: give a share between 0 and 1")
        for name in ("alpha", "beta"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise InputError(f"feedback: {name} = {getattr(self, name)}: give a finite number >= 0")


def with_feedback(index: Index, plain: Program, ranking: Ranking, settings: FeedbackSettings | None = None) -> Program:
    """The program of the query's words (the term clauses of `plain`) and those of its first hits in `ranking`.

    Without hits it is the query's words at the weights of the method. Raises IndexFault where the index stores no text.
    """
    settings = settings or FeedbackSettings()
    hits = ranking.top(settings.documents)
    query = {clause.term: clause.weight for clause in plain.clauses if isinstance(clause, TermClause)}
    found = index.documents(hits.docids)
    counts = [Counter(terms) for terms in index.analyze([item.contents if item else "" for item in found])]
    words = list(dict.fromkeys(term for document in counts for term in document if 2 <= len(term) <= 20))
    common = MAX_DF_RATIO * index.document_count
    rare = {word for word, df in zip(words, index.field_df("contents", words), strict=True) if df <= common}
    documents: list[dict[str, float]] = [
        {term: float(count) for term, count in document.items() if term in rare} for document in counts
    ]
    if settings.method == "rm3":
        weights = relevance_model(query, documents, hits.scores, settings)
    else:
        weights = rocchio(query, documents, settings)
    clauses = [
        TermClause(term, weight, source=None if term in query else settings.method)
        for term, weight in weights.items()
        if weight > 0
    ]
    return replace(plain, clauses=tuple(clauses), verdicts=())


def relevance_model(
    query: Vector, documents: Sequence[Vector], scores: Sequence[float], settings: FeedbackSettings
) -> dict[str, float]:
    """RM3: query_weight * P(w | query) + (1 - query_weight) * P(w | RM), which sums to 1.

    P(w | RM) ~ sum over documents of P(w | d) * score(d), over the `terms` heaviest words of each document; then of
    those the heaviest. Only words of a to z and digits count.
    """
    plain = [{term: count for term, count in document.items() if _WORD.fullmatch(term)} for document in documents]
    pruned = [_heaviest(document, settings.terms) for document in plain]
    model: dict[str, float] = {}
    for document, score in zip(pruned, scores, strict=True):
        for term, share in _unit(document, 1).items():
            model[term] = model.get(term, 0.0) + share * score
    relevance, words = _unit(_heaviest(model, settings.terms), 1), _unit(query, 1)
    share = settings.query_weight if relevance else 1.0
    return {
        term: share * words.get(term, 0.0) + (1 - share) * relevance.get(term, 0.0) for term in [*words, *relevance]
    }


def rocchio(query: Vector, documents: Sequence[Vector], settings: FeedbackSettings) -> dict[str, float]:
    """alpha * query + beta * mean of the documents' vectors, of which the `terms` heaviest words stay."""
    mean: dict[str, float] = {}
    for document in documents:
        for term, value in _unit(document, 2).items():
            mean[term] = mean.get(term, 0.0) + value / len(documents)
    feedback, words = _unit(_heaviest(mean, settings.terms), 2), _unit(query, 2)
    return {
        term: settings.alpha * words.get(term, 0.0) + settings.beta * feedback.get(term, 0.0)
        for term in [*words, *feedback]
    }


def _heaviest(vector: Vector, size: int) -> dict[str, float]:
    """Of equals the alphabetically first, as Anserini has it."""
    return dict(sorted(vector.items(), key=lambda item: (-item[1], item[0]))[:size])


def _unit(vector: Vector, norm: Literal[1, 2]) -> dict[str, float]:
    """The same direction with the norm 1; empty for an empty vector."""
    length = math.fsum(vector.values()) if norm == 1 else math.sqrt(math.fsum(value**2 for value in vector.values()))
    return {term: value / length for term, value in vector.items()} if length > 0 else {}
