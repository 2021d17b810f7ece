"""The scores that sira promises, computed anew with numpy from the published formulas, a document at a time.

BM25 as in Robertson and Zaragoza (2009) in Lucene's form, lengths quantised as Lucene's SmallFloat does, and BM25F as
the "simple BM25 extension to multiple weighted fields" (Robertson, Zaragoza, Taylor, CIKM 2004): frequencies and
lengths of the fields are added before one BM25.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
from numpy.typing import NDArray

from sira.program import AnyOfClause, Clause, FacetClause, PhraseClause, Program, RangeClause, Scoring, TermClause

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Text:
    """One document as the index holds it. `words` and `atoms` are its expansion; `year` a value field."""

    docid: str
    contents: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    atoms: tuple[str, ...] = ()
    facets: frozenset[str] = frozenset()
    year: int | None = None

    @property
    def expansion(self) -> tuple[str, ...]:
        return self.words + self.atoms

    @property
    def expansion_length(self) -> int:
        """Words count, atoms do not; a field that is there has at least length 1."""
        return max(len(self.words), min(1, len(self.atoms)))


def quantise(length: int) -> int:
    """Lucene keeps a length in one byte: exact up to 40, then the four highest bits of (length - 24), cut off."""
    if length < 40:
        return length
    over = length - 24
    drop = over.bit_length() - 4
    return 24 + (over >> drop << drop)


class Oracle:
    """Scores by brute force over all documents."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self.texts = texts
        self.contents_lengths = np.array([quantise(len(text.contents)) for text in texts], float)
        self.expansion_lengths = np.array([quantise(text.expansion_length) for text in texts], float)
        self.contents_count = sum(1 for text in texts if text.contents)
        self.expansion_count = sum(1 for text in texts if text.expansion)
        self.contents_total = sum(len(text.contents) for text in texts)
        self.expansion_total = max(sum(len(text.words) for text in texts), self.expansion_count)
        self.facet_count = sum(1 for text in texts if text.facets)
        self.contents_tf = [Counter(text.contents) for text in texts]
        self.expansion_tf = [Counter(text.expansion) for text in texts]

    def _tf(self, counters: Sequence[Counter[str]], term: str) -> Floats:
        return np.array([counter[term] for counter in counters], float)

    def df(self, term: str) -> int:
        """Documents that hold the term in contents or in the expansion."""
        return int(((self._tf(self.contents_tf, term) + self._tf(self.expansion_tf, term)) > 0).sum())

    @staticmethod
    def _idf(count: int, df: int) -> float:
        return float(np.log(1 + (count - df + 0.5) / (df + 0.5)))

    @staticmethod
    def _saturated(tf: Floats, lengths: Floats, average: float, k1: float, b: float) -> Floats:
        out = np.zeros_like(tf)
        there = tf > 0
        out[there] = tf[there] / (tf[there] + k1 * (1 - b + b * lengths[there] / average))
        return out

    def _on_expansion(self, scoring: Scoring) -> bool:
        return self.expansion_count > 0 and scoring.expansion_weight > 0

    def _union(self, scoring: Scoring) -> bool:
        return scoring.combine == "bm25f" and scoring.contents_weight > 0 and self._on_expansion(scoring)

    def _contents(self, tf: Floats, idf: float, scoring: Scoring) -> Floats:
        """BM25 of a term or phrase of contents alone, with the field's weight."""
        average = self.contents_total / max(1, self.contents_count)
        return self._weighted(tf, self.contents_lengths, average, idf, scoring, scoring.contents_weight)

    def _weighted(  # noqa: PLR0917
        self, tf: Floats, lengths: Floats, average: float, idf: float, scoring: Scoring, weight: float
    ) -> Floats:
        """One field: bm25f multiplies its frequencies and lengths, sum its score."""
        if weight == 0:
            return np.zeros_like(tf)
        if scoring.combine == "sum":
            return weight * idf * self._saturated(tf, lengths, average, scoring.k1, scoring.b)
        return idf * self._saturated(weight * tf, weight * lengths, weight * average, scoring.k1, scoring.b)

    def term(self, term: str, scoring: Scoring) -> Floats:
        contents, expansion = self._tf(self.contents_tf, term), self._tf(self.expansion_tf, term)
        if self._union(scoring):
            return self._bm25f(term, contents, expansion, scoring)
        scores = self._contents(contents, self._idf(self.contents_count, int((contents > 0).sum())), scoring)
        if self._on_expansion(scoring):
            idf = self._idf(self.expansion_count, int((expansion > 0).sum()))
            average = self.expansion_total / self.expansion_count
            scores = scores + self._weighted(
                expansion, self.expansion_lengths, average, idf, scoring, scoring.expansion_weight
            )
        return scores

    def _bm25f(self, term: str, contents: Floats, expansion: Floats, scoring: Scoring) -> Floats:
        # The weights of both fields may be scaled together when k1 is: (v, w) at k1 is (s v, s w) at s k1. It matters
        # only for rounding, and Lucene wants no weight below 1.
        scale = max(1.0, 1 / min(scoring.contents_weight, scoring.expansion_weight))
        ours = float(np.float32(scoring.contents_weight * scale))
        theirs = float(np.float32(scoring.expansion_weight * scale))
        tf = ours * contents + theirs * expansion
        count = max(self.contents_count, self.expansion_count)
        lengths = np.array(
            [
                quantise(floor(ours * a + theirs * b + 0.5))
                for a, b in zip(self.contents_lengths, self.expansion_lengths, strict=True)
            ],
            float,
        )
        # Lucene adds the weighted totals as whole numbers, which shows in corpora of a few words only.
        average = (floor(ours * self.contents_total) + floor(theirs * self.expansion_total)) / count
        idf = self._idf(count, min(self.df(term), count))
        return idf * self._saturated(tf, lengths, average, scoring.k1 * scale, scoring.b)

    def phrase(self, terms: Sequence[str], scoring: Scoring) -> Floats:
        tf = np.array([occurrences(text.contents, terms) for text in self.texts], float)
        union = self._union(scoring)
        idf = 0.0
        for term in terms:
            df = self.df(term) if union else int((self._tf(self.contents_tf, term) > 0).sum())
            idf += self._idf(self.contents_count, min(df, self.contents_count))
        return self._contents(tf, idf, scoring)

    def clause(self, clause: Clause, scoring: Scoring) -> tuple[Floats, NDArray[np.bool_]]:
        """Score (weight included) and match of every document."""
        match clause:
            case TermClause():
                scores, there = self.term(clause.term, scoring), self._there([clause.term], scoring)
            case AnyOfClause():
                scores = np.max([self.term(term, scoring) for term in clause.terms], axis=0)
                there = self._there(clause.terms, scoring)
            case PhraseClause():
                scores = self.phrase(clause.terms, scoring)
                there = np.array([occurrences(text.contents, clause.terms) > 0 for text in self.texts])
                there &= scoring.contents_weight > 0
            case FacetClause():
                there = np.array([clause.facet in text.facets for text in self.texts])
                scores = there * self._idf(self.facet_count, int(there.sum()))
            case RangeClause():
                low = -np.inf if clause.gte is None else float(clause.gte)
                high = np.inf if clause.lte is None else float(clause.lte)
                there = np.array([text.year is not None and low <= text.year <= high for text in self.texts])
                scores = there * 1.0
        return clause.weight * scores, there

    def _there(self, terms: Sequence[str], scoring: Scoring) -> NDArray[np.bool_]:
        counters = [self.contents_tf] if scoring.contents_weight > 0 else []
        counters += [self.expansion_tf] if self._on_expansion(scoring) else []
        return np.array([any(c[i][term] for c in counters for term in terms) for i in range(len(self.texts))])

    def search(self, program: Program) -> dict[str, float]:
        """docid -> score of every hit."""
        total = np.zeros(len(self.texts))
        allowed = np.ones(len(self.texts), bool)
        scored_match = np.zeros(len(self.texts), bool)
        scored = selective = False
        for clause in program.clauses:
            scores, there = self.clause(clause, program.scoring)
            if clause.occur == "must_not":
                allowed &= ~there
                continue
            if clause.occur in ("must", "filter"):
                allowed &= there
                selective = True
            if clause.occur in ("must", "should") and clause.weight > 0:
                total += scores
                scored_match |= there
                scored = True
        if scored:
            allowed &= scored_match
        elif not selective:
            return {}
        return {text.docid: float(total[i]) for i, text in enumerate(self.texts) if allowed[i]}


def occurrences(tokens: Sequence[str], phrase: Sequence[str]) -> int:
    n = len(phrase)
    return sum(tuple(tokens[i : i + n]) == tuple(phrase) for i in range(len(tokens) - n + 1))
