"""The compiler: every proposed phrase is checked against the index, and what passes becomes a weighted clause.

SIRA, sections 3.1 and 3.2: score(d) = BM25(query, d) + lambda * BM25(kept expansion terms, d). The query's own words
weigh their frequency in the query and are never filtered. Unlike the paper's released code each window passes the gate
on its own (there, one rare window saves its whole phrase), no window crosses two phrases, and no term counts twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from sira.analysis import DEFAULT_MAX_DF_RATIO, DEFAULT_MAX_N, df_bound, windows
from sira.compile.statistics import Statistics
from sira.errors import InputError
from sira.program import MAX_WEIGHT, Clause, FacetClause, Occur, PhraseClause, Program, Scoring, TermClause
from sira.records import Outcome, Sketch, SketchPhrase, Topic, Verdict

Ngrams = Literal["off", "atoms", "atoms+phrases"]


@dataclass(frozen=True, slots=True)
class CompileSettings:
    """How sketches become programs; none of the defaults was chosen on a test set.

    `expansion_weight` is lambda. `max_df_ratio` is tau: a window passes where 0 < df <= max(1, floor(tau * N)); 1
    switches the upper bound off. `ngrams`: windows of 2..max_n words are left out (`off`), score as atoms of the field
    `expansion` (`atoms`), or also as phrases in `contents` (`atoms+phrases`). `max_terms` keeps the heaviest proposed
    clauses only; None keeps all.
    """

    expansion_weight: float = 0.5
    max_df_ratio: float = DEFAULT_MAX_DF_RATIO
    ngrams: Ngrams = "off"
    max_n: int = DEFAULT_MAX_N
    max_terms: int | None = None
    scoring: Scoring = field(default_factory=Scoring)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.expansion_weight) and 0 <= self.expansion_weight <= MAX_WEIGHT):
            raise InputError(f"expansion_weight (lambda) = {self.expansion_weight}: give a finite number >= 0")
        df_bound(1, self.max_df_ratio)
        if self.ngrams not in ("off", "atoms", "atoms+phrases"):
            raise InputError(f"ngrams = {self.ngrams!r}: choose off, atoms or atoms+phrases")
        if self.max_n < 1 or (self.max_terms is not None and self.max_terms < 0):
            raise InputError(
                f"max_n = {self.max_n}, max_terms = {self.max_terms}: max_n counts from 1, max_terms from 0"
            )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One window of one phrase, on its way to a clause."""

    phrase: SketchPhrase
    terms: tuple[str, ...]

    @property
    def term(self) -> str:
        return " ".join(self.terms)


def compile_sketch(
    topic: Topic, sketch: Sketch | None, statistics: Statistics, settings: CompileSettings | None = None
) -> Program:
    """The program of one topic: its own words, then what the sketch adds. Pure, total and deterministic.

    Without a sketch it is plain BM25. The verdict log has one entry for every proposed window, in the order of the
    sketch (a phrase without terms: one entry, `empty`). Raises InputError where the sketch is of another topic.
    """
    settings = settings or CompileSettings()
    if sketch is not None and sketch.qid != topic.qid:
        raise InputError(f"the sketch of topic {sketch.qid!r} was given for topic {topic.qid!r}")
    phrases = sketch.phrases if sketch else ()
    own, *proposed = statistics.analyze([topic.text, *(phrase.text for phrase in phrases)])
    query = Counter(own)
    max_n = settings.max_n if settings.ngrams != "off" else 1
    candidates = list(_candidates(phrases, proposed, max_n))
    df = _frequencies(query, candidates, statistics)
    clauses: list[Clause] = [
        TermClause(term, float(count), source="query", df=df[(term,)]) for term, count in query.items()
    ]
    bound = df_bound(statistics.document_count, settings.max_df_ratio)
    added, verdicts = _gate(candidates, query, df, bound, settings)
    facets, facet_verdicts = _facets(sketch.facets if sketch else (), statistics, settings)
    added, verdicts = _limit([*added, *facets], [*verdicts, *facet_verdicts], settings.max_terms)
    return Program(topic.qid, (*clauses, *added), settings.scoring, tuple(verdicts), topic.text)


def _candidates(phrases: tuple[SketchPhrase, ...], analysed: list[list[str]], max_n: int) -> Iterator[_Candidate]:
    """The windows of each phrase. Of a constraint all words must be there, or the whole phrase must not."""
    for phrase, terms in zip(phrases, analysed, strict=True):
        if not terms:
            yield _Candidate(phrase, ())
        elif phrase.role == "must_not":
            yield _Candidate(phrase, tuple(terms))
        else:
            for window in windows(terms, 1 if phrase.role == "must" else max_n):
                yield _Candidate(phrase, window)


def _frequencies(
    query: Counter[str], candidates: list[_Candidate], statistics: Statistics
) -> dict[tuple[str, ...], int]:
    """df of every term and window, in one question for the words and one for the windows of several."""
    asked = dict.fromkeys([*((term,) for term in query), *(item.terms for item in candidates)])
    words = [terms for terms in asked if len(terms) == 1]
    several = [terms for terms in asked if len(terms) > 1]
    df = dict(zip(words, statistics.df([term for (term,) in words]), strict=True))
    if several:
        df |= dict(zip(several, statistics.window_df(several), strict=True))
    return df


def _outcome(item: _Candidate, present: bool, repeated: bool, df: int, bound: int) -> Outcome:
    if present:
        return Outcome.ALREADY_PRESENT
    if repeated:
        return Outcome.DUPLICATE
    if df == 0:
        return Outcome.UNSEEN
    if df > bound and item.phrase.role == "should":
        return Outcome.TOO_COMMON
    return Outcome.KEPT


def _gate(
    candidates: list[_Candidate],
    query: Counter[str],
    df: dict[tuple[str, ...], int],
    bound: int,
    settings: CompileSettings,
) -> tuple[list[Clause], list[Verdict]]:
    """A verdict for every candidate, and clauses for those that are kept. The first of several equal ones counts."""
    clauses: list[Clause] = []
    verdicts: list[Verdict] = []
    seen: set[tuple[tuple[str, ...], bool]] = set()
    for item in candidates:
        if not item.terms:
            verdicts.append(Verdict(item.phrase.text, "", Outcome.EMPTY))
            continue
        key = (item.terms, item.phrase.role == "must_not")
        present = item.phrase.role == "should" and len(item.terms) == 1 and item.terms[0] in query
        outcome = _outcome(item, present, key in seen, df[item.terms], bound)
        weight = None
        if outcome is Outcome.KEPT:
            factor = 1.0 if item.phrase.weight is None else item.phrase.weight
            weight = min(settings.expansion_weight * factor, MAX_WEIGHT)
            clauses += _clauses(item, weight, df[item.terms], settings)
        seen.add(key)
        verdicts.append(Verdict(item.phrase.text, item.term, outcome, df[item.terms], weight))
    return clauses, verdicts


def _clauses(item: _Candidate, weight: float, df: int, settings: CompileSettings) -> Iterator[Clause]:
    occur: Occur = item.phrase.role
    source = item.phrase.text
    if occur == "should" and weight == 0:
        return
    if len(item.terms) == 1:
        yield TermClause(item.terms[0], weight, occur, source, df)
    elif occur == "must_not":
        yield PhraseClause(item.terms, weight, occur, source, df)
    else:
        yield TermClause(item.term, weight, occur, source, df)
        if settings.ngrams == "atoms+phrases":
            yield PhraseClause(item.terms, weight, occur, source, df)


def _facets(
    facets: tuple[str, ...], statistics: Statistics, settings: CompileSettings
) -> tuple[list[Clause], list[Verdict]]:
    """Facets are atomic: they stand in the index as written, or are dropped."""
    clauses: list[Clause] = []
    verdicts: list[Verdict] = []
    distinct = [facet for facet in dict.fromkeys(facets) if facet.strip()]
    verdicts += [Verdict(facet, "", Outcome.EMPTY) for facet in facets if not facet.strip()]
    for facet, df in zip(distinct, statistics.facet_df(distinct) if distinct else [], strict=True):
        kept = df > 0 and settings.expansion_weight > 0
        weight = settings.expansion_weight if df else None
        if kept:
            clauses.append(FacetClause(facet, settings.expansion_weight, "should", facet, df))
        verdicts.append(Verdict(facet, facet, Outcome.KEPT if df else Outcome.UNSEEN, df, weight))
    return clauses, verdicts


def _limit(clauses: list[Clause], verdicts: list[Verdict], most: int | None) -> tuple[list[Clause], list[Verdict]]:
    """Keep the heaviest `most` should clauses (the earlier of equals); constraints always stay."""
    optional = [position for position, clause in enumerate(clauses) if clause.occur == "should"]
    if most is None or len(optional) <= most:
        return clauses, verdicts
    dropped = set(sorted(optional, key=lambda position: -clauses[position].weight)[most:])
    lost = {(clauses[position].source, _term(clauses[position])) for position in dropped}
    kept = [clause for position, clause in enumerate(clauses) if position not in dropped]
    return kept, [
        Verdict(item.phrase, item.term, Outcome.OVER_QUOTA, item.df)
        if item.outcome is Outcome.KEPT and (item.phrase, item.term) in lost
        else item
        for item in verdicts
    ]


def _term(clause: Clause) -> str:
    match clause:
        case TermClause():
            return clause.term
        case FacetClause():
            return clause.facet
        case PhraseClause():
            return " ".join(clause.terms)
        case _:
            return clause.label
