"""The compiler: every proposed phrase is checked against the index, and what passes becomes a weighted clause.

SIRA, sections 3.1 and 3.2: score(d) = BM25(query, d) + lambda * BM25(kept expansion terms, d). The query's own words
weigh their frequency in the query and are never filtered. Unlike the paper's released code each window passes the gate
on its own (there, one rare window saves its whole phrase), no window crosses two phrases, and no term counts twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sira.analysis import windows
from sira.compile.gates import DfGate, Terms, deciding, phrase_outcome
from sira.compile.safety import Safety, traced
from sira.compile.settings import CompileSettings
from sira.compile.statistics import Separation, Statistics
from sira.compile.weights import Weigher, agreements
from sira.errors import InputError
from sira.program import MAX_WEIGHT, Clause, FacetClause, PhraseClause, Program, TermClause
from sira.records import Outcome, Sketch, SketchPhrase, Topic, Verdict


@dataclass(frozen=True, slots=True)
class _Phrase:
    """One proposed phrase, analysed. `rank` counts from 1."""

    phrase: SketchPhrase
    terms: Terms
    rank: int


@dataclass(frozen=True, slots=True)
class _Window:
    """One window of one phrase, on its way to a verdict."""

    origin: _Phrase
    terms: Terms

    @property
    def phrase(self) -> SketchPhrase:
        return self.origin.phrase

    @property
    def term(self) -> str:
        return " ".join(self.terms)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A verdict and the clauses that it brings."""

    verdict: Verdict
    clauses: tuple[Clause, ...] = ()


def compile_sketch(
    topic: Topic,
    sketch: Sketch | None,
    statistics: Statistics,
    settings: CompileSettings | None = None,
    safety: Safety | None = None,
) -> Program:
    """The program of one topic: its own words, then what the sketch adds. Pure, total and deterministic.

    Without a sketch it is plain BM25. The verdict log has an entry for every proposed window and facet, in the order
    of the sketch (a phrase without terms, or one that `safety` refuses: one entry; a constraint that cannot be traced:
    one more). Of several equal windows the first with a weight above 0 counts. A required word of the query makes the
    query's own clause a must; a required word that no document holds stays in the program, which then finds nothing.
    Raises InputError where the sketch is of another topic, or where the statistics lack what a weighting needs.
    """
    settings, safety = settings or CompileSettings(), safety or Safety()
    sketch = sketch or Sketch(topic.qid)
    if sketch.by_model:
        safety = replace(safety, trusted=False)
    if sketch.qid != topic.qid:
        raise InputError(f"the sketch of topic {sketch.qid!r} was given for topic {topic.qid!r}")
    own, *analysed = statistics.analyze([topic.text, *(phrase.text for phrase in sketch.phrases)])
    query = Counter(own)
    entries: dict[int, list[_Entry]] = {}
    phrases = list(
        _admitted(sketch.phrases, analysed, topic=topic, own=frozenset(query), safety=safety, entries=entries)
    )
    proposals = list(_windows(phrases, settings.max_n if settings.ngrams != "off" else 1))
    decided = {item.rank: deciding(item.terms, settings) for item in phrases if item.phrase.role == "should"}
    df = _frequencies([*((term,) for term in query), *(item.terms for item in proposals),
                       *(window for asked in decided.values() for window in asked)], statistics)  # fmt: skip
    required = {item.term for item in proposals if item.phrase.role == "must" and item.terms}
    gate = DfGate.of(settings, statistics.document_count)
    whole = {rank: phrase_outcome(gate, asked, df) for rank, asked in decided.items() if asked}
    weigher = _weigher(sketch, proposals, query, statistics, settings)
    judge = _Judge(query, required, df, gate, whole, weigher, settings)
    for item in proposals:
        entries.setdefault(item.origin.rank, []).append(judge.entry(item))
    listed = [entry for rank in sorted(entries) for entry in entries[rank]]
    listed = _limit([*listed, *_facets(sketch.facets, statistics, settings)], settings.max_terms)
    clauses = [
        TermClause(term, float(count), "must" if term in required else "should", df=df[(term,)])
        for term, count in query.items()
    ]
    added = [clause for entry in listed for clause in entry.clauses]
    return Program(
        topic.qid, (*clauses, *added), settings.scoring, tuple(entry.verdict for entry in listed), topic.text
    )


def _admitted(
    phrases: Sequence[SketchPhrase],
    analysed: Sequence[Sequence[str]],
    *,
    topic: Topic,
    own: frozenset[str],
    safety: Safety,
    entries: dict[int, list[_Entry]],
) -> Iterator[_Phrase]:
    """The phrases that stay, with their terms; the verdicts on what goes are put into `entries` by rank."""
    for rank, (phrase, terms) in enumerate(zip(phrases, analysed, strict=True), start=1):
        if not safety.trusted:
            kept, verdict = traced(phrase, terms, own, topic.text)
            if verdict is not None:
                entries.setdefault(rank, []).append(_Entry(verdict))
            if kept is None:
                continue
            phrase = kept
        refused = safety.refusal(phrase, topic)
        if refused is not None:
            entries.setdefault(rank, []).append(_Entry(Verdict(phrase.text, " ".join(terms), refused)))
        else:
            yield _Phrase(phrase, tuple(terms), rank)


def _windows(phrases: Sequence[_Phrase], max_n: int) -> Iterator[_Window]:
    """The windows of each phrase. Of a required phrase all words must be there; a forbidden one excludes as a whole."""
    for item in phrases:
        if not item.terms or item.phrase.role == "must_not":
            yield _Window(item, item.terms)
        else:
            for window in windows(item.terms, 1 if item.phrase.role == "must" else max_n):
                yield _Window(item, window)


def _frequencies(asked: Sequence[Terms], statistics: Statistics) -> dict[Terms, int]:
    """df of every term and window, in one question for the words and one for the windows of several."""
    distinct = dict.fromkeys(asked)
    words = [terms for terms in distinct if len(terms) == 1]
    several = [terms for terms in distinct if len(terms) > 1]
    df = dict(zip(words, statistics.df([term for (term,) in words]), strict=True))
    if several:
        df |= dict(zip(several, statistics.window_df(several), strict=True))
    return df


def _weigher(
    sketch: Sketch,
    proposals: Sequence[_Window],
    query: Mapping[str, int],
    statistics: Statistics,
    settings: CompileSettings,
) -> Weigher:
    agreement: dict[Terms, float] = {}
    separation: dict[Terms, float] = {}
    if settings.weights == "agreement":
        agreement = agreements(((item.phrase, item.terms) for item in proposals), sketch.samples)
    if settings.weights == "margin":
        if not isinstance(statistics, Separation):
            raise InputError('weights = "margin" reads postings: these statistics have none, an open index has')
        terms = list(dict.fromkeys(item.terms[0] for item in proposals if len(item.terms) == 1))
        plain = Program(sketch.qid, tuple(TermClause(term, float(n)) for term, n in query.items()), settings.scoring)
        separation = {(term,): share for term, share in zip(terms, statistics.separation(plain, terms), strict=True)}
    return Weigher(settings.weights, statistics.document_count, agreement, separation)


@dataclass(slots=True)
class _Judge:
    """Gives each window its verdict and its clauses; remembers what has counted already."""

    query: Mapping[str, int]
    required: set[str]
    df: Mapping[Terms, int]
    gate: DfGate
    whole: Mapping[int, Outcome]
    weigher: Weigher
    settings: CompileSettings
    seen: set[tuple[str, Terms]] = field(default_factory=set[tuple[str, Terms]])

    def entry(self, item: _Window) -> _Entry:
        if not item.terms:
            return _Entry(Verdict(item.phrase.text, "", Outcome.EMPTY))
        role, df = item.phrase.role, self.df[item.terms]
        weight = self._weight(item, df)
        outcome = self._outcome(item, df)
        if weight > 0 or role != "should":
            self.seen.add((role, item.terms))
        kept = outcome is Outcome.KEPT or (outcome is Outcome.UNSEEN and role == "must")
        verdict = Verdict(item.phrase.text, item.term, outcome, df, weight if kept else None)
        return _Entry(verdict, tuple(_clauses(item, weight, df, self.settings)) if kept else ())

    def _weight(self, item: _Window, df: int) -> float:
        factor = 1.0 if item.phrase.weight is None else item.phrase.weight
        if item.phrase.role == "should":
            factor *= self.weigher.factor(item.terms, item.origin.rank, df) * self.gate.share(df)
        return min(self.settings.sketch_weight * factor, MAX_WEIGHT)

    def _outcome(self, item: _Window, df: int) -> Outcome:
        role, single = item.phrase.role, item.terms[0] if len(item.terms) == 1 else None
        if (role, item.terms) in self.seen or (
            role == "should" and single in self.required and single not in self.query
        ):
            return Outcome.DUPLICATE
        if single in self.query and role != "must_not":
            return Outcome.ALREADY_PRESENT
        if role != "should" or df == 0:
            return Outcome.KEPT if df else Outcome.UNSEEN
        return self.whole[item.origin.rank] if item.origin.rank in self.whole else self.gate.judge(df)


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
