"""The compiler: every proposed phrase is checked against the index, and what passes becomes a weighted clause.

SIRA, sections 3.1 and 3.2: score(d) = BM25(query, d) + lambda * BM25(kept expansion terms, d). The query's own words
weigh their frequency in the query and are never filtered. Unlike the paper's released code each window passes the gate
on its own (there, one rare window saves its whole phrase), no window crosses two phrases, and no term counts twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sira.compile.entries import Entry, within_quotas
from sira.compile.facets import FacetValidator, facet_entries
from sira.compile.gates import DfGate, Terms, deciding, phrase_outcome
from sira.compile.judge import Judge
from sira.compile.proposals import Window, admitted, proposed_windows
from sira.compile.ranges import range_entries
from sira.compile.safety import Safety, excluding_part
from sira.compile.settings import MAX_PHRASE_CHARACTERS, MAX_TOPIC_CHARACTERS, CompileSettings
from sira.compile.statistics import Positions, Separation, Statistics
from sira.compile.weights import Weigher, agreements
from sira.errors import InputError
from sira.program import Program, TermClause
from sira.records import Sketch, Topic


def compile_sketch(
    topic: Topic,
    sketch: Sketch | None,
    statistics: Statistics,
    settings: CompileSettings | None = None,
    safety: Safety | None = None,
    *,
    facets: FacetValidator | None = None,
) -> Program:
    """The program of one topic: its own words, then what the sketch adds. Pure, total and deterministic.

    Without a sketch it is plain BM25. The verdict log has an entry for every proposed window, facet and range, in the
    order of the sketch (a phrase without terms, or one that `safety` refuses: one entry; a constraint that cannot be
    traced: one more; an identifier whose words all pass: none beside theirs). Of several equal windows the first with a
    weight above 0 counts. A required word of the query makes the query's own clause a must; a required word that no
    document holds stays in the program, which then finds nothing. `facets` knows which facets there can be.

    Raises InputError where the sketch is of another topic, where the topic is too long to be searched, or where the
    statistics lack what a weighting needs.
    """
    settings, safety = settings or CompileSettings(), safety or Safety()
    sketch = sketch or Sketch(topic.qid)
    if sketch.by_model:
        safety = replace(safety, trusted=False)
    if sketch.qid != topic.qid:
        raise InputError(f"the sketch of topic {sketch.qid!r} was given for topic {topic.qid!r}")
    if len(topic.text) > MAX_TOPIC_CHARACTERS:
        raise InputError(
            f"topic {topic.qid!r} has {len(topic.text):,} characters: at most {MAX_TOPIC_CHARACTERS:,} make a query"
        )
    short = (phrase.text if len(phrase.text) <= MAX_PHRASE_CHARACTERS else "" for phrase in sketch.phrases)
    texts = [topic.text, excluding_part(topic.text), *short]
    own, excluded, *analysed = statistics.analyze(texts)
    query = Counter(own)
    entries: dict[int, list[Entry]] = {}
    phrases = list(
        admitted(
            sketch.phrases,
            analysed,
            topic=topic,
            own=frozenset(query),
            excluded=frozenset(excluded),
            safety=safety,
            entries=entries,
        )
    )
    proposals = list(proposed_windows(phrases, statistics, settings.max_n if settings.ngrams != "off" else 1))
    decided = {item.rank: deciding(item.terms, settings) for item in phrases if item.phrase.role == "should"}
    df = _frequencies([*((term,) for term in query), *(item.terms for item in proposals),
                       *(window for asked in decided.values() for window in asked)], statistics)  # fmt: skip
    required = {item.term for item in proposals if item.phrase.role == "must" and item.terms}
    gate = DfGate.of(settings, statistics.document_count)
    whole = {rank: phrase_outcome(gate, asked, df) for rank, asked in decided.items() if asked}
    weigher = _weigher(sketch, proposals, query, statistics, settings)
    positions = not isinstance(statistics, Positions) or statistics.has_positions
    judge = Judge(tuple(own), query, required, df, gate, whole, weigher, settings, positions)
    for item in proposals:
        if (entry := judge.entry(item)) is not None:
            entries.setdefault(item.rank, []).append(entry)
    listed = [
        *(entry for rank in sorted(entries) for entry in entries[rank]),
        *facet_entries(topic, sketch.facets, statistics, settings.sketch_weight, safety=safety, validator=facets),
        *range_entries(topic, sketch.ranges, statistics, settings.sketch_weight, safety=safety),
    ]
    listed = within_quotas(listed, settings)
    clauses = [
        TermClause(term, float(count), "must" if term in required else "should", df=df[(term,)])
        for term, count in query.items()
    ]
    added = [clause for entry in listed for clause in entry.clauses]
    return Program(
        topic.qid, (*clauses, *added), settings.scoring, tuple(entry.verdict for entry in listed), topic.text
    )


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
    proposals: Sequence[Window],
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
