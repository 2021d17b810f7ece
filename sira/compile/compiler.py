"""The compiler: every proposed phrase is checked against the index, and what passes becomes a weighted clause.

SIRA, sections 3.1 and 3.2: score(d) = BM25(query, d) + lambda * BM25(kept expansion terms, d). The query's own words
weigh their frequency in the query and are never filtered. Unlike the paper's released code each window passes the gate
on its own (there, one rare window saves its whole phrase), no window crosses two phrases, and no term counts twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from sira.analysis import DEFAULT_MAX_DF_RATIO, DEFAULT_MAX_N, df_bound, windows
from sira.compile.statistics import Statistics
from sira.errors import InputError
from sira.program import MAX_WEIGHT, Clause, FacetClause, PhraseClause, Program, Scoring, TermClause
from sira.records import Outcome, Sketch, SketchPhrase, Topic, Verdict

Ngrams = Literal["off", "atoms", "atoms+phrases"]


@dataclass(frozen=True, slots=True)
class CompileSettings:
    """How sketches become programs; none of the defaults was chosen on a test set.

    `sketch_weight` is lambda. `max_df_ratio` is tau: a window passes where 0 < df <= max(1, floor(tau * N)); 1 switches
    the upper bound off. `ngrams`: windows of 2..max_n words are left out (`off`), score as atoms of the field
    `expansion` (`atoms`), or also as phrases in `contents` (`atoms+phrases`). `max_terms` keeps the heaviest proposed
    windows only; None keeps all.
    """

    sketch_weight: float = 0.5
    max_df_ratio: float = DEFAULT_MAX_DF_RATIO
    ngrams: Ngrams = "off"
    max_n: int = DEFAULT_MAX_N
    max_terms: int | None = None
    scoring: Scoring = field(default_factory=Scoring)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sketch_weight) and 0 <= self.sketch_weight <= MAX_WEIGHT):
            raise InputError(f"sketch_weight (lambda) = {self.sketch_weight}: give a finite number >= 0")
        df_bound(1, self.max_df_ratio)
        if self.ngrams not in ("off", "atoms", "atoms+phrases"):
            raise InputError(f"ngrams = {self.ngrams!r}: choose off, atoms or atoms+phrases")
        if self.max_n < 1 or (self.max_terms is not None and self.max_terms < 0):
            raise InputError(f"max_n = {self.max_n}, max_terms = {self.max_terms}: counts from 1, and from 0")


@dataclass(frozen=True, slots=True)
class _Window:
    """One window of one phrase, on its way to a verdict."""

    phrase: SketchPhrase
    terms: tuple[str, ...]

    @property
    def term(self) -> str:
        return " ".join(self.terms)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A verdict and the clauses that it brings."""

    verdict: Verdict
    clauses: tuple[Clause, ...] = ()


def compile_sketch(
    topic: Topic, sketch: Sketch | None, statistics: Statistics, settings: CompileSettings | None = None
) -> Program:
    """The program of one topic: its own words, then what the sketch adds. Pure, total and deterministic.

    Without a sketch it is plain BM25. The verdict log has one entry for every proposed window and facet, in the order
    of the sketch (a phrase without terms: one entry, `empty`). Of several equal windows the first with a weight above 0
    counts. A required word of the query makes the query's own clause a must; a required word that no document holds
    stays in the program, which then finds nothing. Raises InputError where the sketch is of another topic.
    """
    settings = settings or CompileSettings()
    sketch = sketch or Sketch(topic.qid)
    if sketch.qid != topic.qid:
        raise InputError(f"the sketch of topic {sketch.qid!r} was given for topic {topic.qid!r}")
    own, *proposed = statistics.analyze([topic.text, *(phrase.text for phrase in sketch.phrases)])
    query = Counter(own)
    proposals = list(_windows(sketch.phrases, proposed, settings.max_n if settings.ngrams != "off" else 1))
    df = _frequencies(query, proposals, statistics)
    required = _required(proposals)
    clauses: list[Clause] = [
        TermClause(term, float(count), "must" if term in required else "should", df=df[(term,)])
        for term, count in query.items()
    ]
    bound = df_bound(statistics.document_count, settings.max_df_ratio)
    entries = [
        *_gate(proposals, query, df, bound, settings),
        *_facets(sketch.facets, statistics, settings),
    ]
    entries = _limit(entries, settings.max_terms)
    added = [clause for entry in entries for clause in entry.clauses]
    verdicts = tuple(entry.verdict for entry in entries)
    return Program(topic.qid, (*clauses, *added), settings.scoring, verdicts, topic.text)


def _windows(phrases: tuple[SketchPhrase, ...], analysed: list[list[str]], max_n: int) -> Iterator[_Window]:
    """The windows of each phrase. Of a required phrase all words must be there; a forbidden one excludes as a whole."""
    for phrase, terms in zip(phrases, analysed, strict=True):
        if not terms:
            yield _Window(phrase, ())
        elif phrase.role == "must_not":
            yield _Window(phrase, tuple(terms))
        else:
            for window in windows(terms, 1 if phrase.role == "must" else max_n):
                yield _Window(phrase, window)


def _required(proposals: list[_Window]) -> set[str]:
    """The words that must be there."""
    return {item.term for item in proposals if item.phrase.role == "must" and item.terms}


def _frequencies(query: Counter[str], proposals: list[_Window], statistics: Statistics) -> dict[tuple[str, ...], int]:
    """df of every term and window, in one question for the words and one for the windows of several."""
    asked = dict.fromkeys([*((term,) for term in query), *(item.terms for item in proposals)])
    words = [terms for terms in asked if len(terms) == 1]
    several = [terms for terms in asked if len(terms) > 1]
    df = dict(zip(words, statistics.df([term for (term,) in words]), strict=True))
    if several:
        df |= dict(zip(several, statistics.window_df(several), strict=True))
    return df


def _gate(
    proposals: list[_Window],
    query: Counter[str],
    df: dict[tuple[str, ...], int],
    bound: int,
    settings: CompileSettings,
) -> Iterator[_Entry]:
    """A verdict for every window, and clauses for those that are kept."""
    required = _required(proposals)
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for item in proposals:
        if not item.terms:
            yield _Entry(Verdict(item.phrase.text, "", Outcome.EMPTY))
            continue
        role, single = item.phrase.role, item.terms[0] if len(item.terms) == 1 else None
        factor = 1.0 if item.phrase.weight is None else item.phrase.weight
        weight = min(settings.sketch_weight * factor, MAX_WEIGHT)
        if (role, item.terms) in seen or (role == "should" and single in required and single not in query):
            outcome = Outcome.DUPLICATE
        elif single in query and role != "must_not":
            outcome = Outcome.ALREADY_PRESENT
        elif df[item.terms] == 0:
            outcome = Outcome.UNSEEN
        elif df[item.terms] > bound and role == "should":
            outcome = Outcome.TOO_COMMON
        else:
            outcome = Outcome.KEPT
        if weight > 0 or role != "should":
            seen.add((role, item.terms))
        kept = outcome is Outcome.KEPT or (outcome is Outcome.UNSEEN and role == "must")
        yield _Entry(
            Verdict(item.phrase.text, item.term, outcome, df[item.terms], weight if kept else None),
            tuple(_clauses(item, weight, df[item.terms], settings)) if kept else (),
        )


def _clauses(item: _Window, weight: float, df: int, settings: CompileSettings) -> Iterator[Clause]:
    occur, source = item.phrase.role, item.phrase.text
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


def _facets(facets: tuple[str, ...], statistics: Statistics, settings: CompileSettings) -> Iterator[_Entry]:
    """Facets are atomic: they stand in the index as written, or are dropped."""
    distinct = [facet for facet in dict.fromkeys(facets) if facet.strip()]
    df = dict(zip(distinct, statistics.facet_df(distinct) if distinct else [], strict=True))
    weight = settings.sketch_weight
    seen: set[str] = set()
    for facet in facets:
        if facet not in df:
            yield _Entry(Verdict(facet, "", Outcome.EMPTY))
        elif facet in seen:
            yield _Entry(Verdict(facet, facet, Outcome.DUPLICATE, df[facet]))
        elif df[facet] == 0:
            yield _Entry(Verdict(facet, facet, Outcome.UNSEEN, 0))
        else:
            clause = FacetClause(facet, weight, "should", facet, df[facet])
            yield _Entry(Verdict(facet, facet, Outcome.KEPT, df[facet], weight), (clause,) if weight else ())
        seen.add(facet)


def _limit(entries: list[_Entry], most: int | None) -> list[_Entry]:
    """Keep the heaviest `most` optional windows (the earlier of equals); constraints always stay."""
    optional = [at for at, entry in enumerate(entries) if entry.clauses and entry.clauses[0].occur == "should"]
    if most is None or len(optional) <= most:
        return entries
    dropped = set(sorted(optional, key=lambda at: -entries[at].clauses[0].weight)[most:])
    return [
        _Entry(replace(entry.verdict, outcome=Outcome.OVER_QUOTA, weight=None)) if at in dropped else entry
        for at, entry in enumerate(entries)
    ]
