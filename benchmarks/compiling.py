"""The compiler and whole searches on a large index: sketches of 40 phrases by gate, n-grams and weights.

    python -m benchmarks.compiling [--documents 1000000] [--topics 40] [--json]

Documents are made of pieces of the texts of benchmarks/corpus.py; every third one has four expansion phrases. A topic
has a query of six words and a sketch of 40 phrases of one to four words, half cut from texts, half from expansions.
"first": the index is opened anew before each topic, outside the clock, so that no term was asked before; Java is warm.
"in turn": all topics on one index opened for the round. A whole search compiles the sketch and searches to 1,000 hits;
Lucene alone gets the same programs ready made and gives nothing to Python. A topic's time is the best of its rounds, so
that what else the machine does shows least; p50 and p95 are over topics.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, get_args

from benchmarks._measure import Goal, Report, Row, alternate, median, options, p95, ratio, say, timed
from benchmarks._peers import Raw
from benchmarks.corpus import Corpus, prepare
from sira.analysis.english import analyze
from sira.compile import CompileSettings, compile_sketch
from sira.compile.settings import Gate
from sira.corpora.files import replacing
from sira.expand.indexing import build_expanded_index
from sira.lucene.jvm import engine_jar_hash
from sira.lucene.reader import Index
from sira.lucene.writer import build_index
from sira.program import PhraseClause, Program, TermClause
from sira.records import Document, Place, Record, Sketch, SketchPhrase, Topic

PIECES, PIECE_WORDS = 3, (10, 30)
EXPANDED_EVERY, PHRASES_A_DOCUMENT = 3, 4
QUERY_WORDS, PHRASES_A_SKETCH = 6, 40
HITS = 1000
DEFAULT, MARGIN_TOPICS = "default", 5
P50_MS, P95_MS, SEARCH_RATIO = 3.0, 10.0, 1.3


@dataclass(frozen=True, slots=True)
class Sketched:
    """A topic and its sketch."""

    topic: Topic
    sketch: Sketch

    def compile(self, index: Index, settings: CompileSettings) -> Program:
        return compile_sketch(self.topic, self.sketch, index, settings)


class RawPrograms(Raw):
    """Lucene alone on programs that also have phrases of `contents`, which the compiler makes of identifiers."""

    def __init__(self, index: Path, k1: float, b: float) -> None:
        super().__init__(index, k1, b)
        from jnius import autoclass  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

        self._phrase: Any = autoclass("org.apache.lucene.search.PhraseQuery$Builder")

    def query(self, program: Program) -> Any:
        query = self._boolean()
        for clause in program.clauses:
            if isinstance(clause, PhraseClause):
                parts = [self._side_by_side(clause.terms)]
            else:
                assert isinstance(clause, TermClause)
                parts = self._parts(clause.term, program)
            for part in parts:
                scored = self._boost(part, clause.weight)
                query.add(scored, self._should)
        return query.build()

    def _side_by_side(self, terms: Sequence[str]) -> Any:
        phrase = self._phrase()
        for word in terms:
            term = self._term("contents", word)
            phrase.add(term)
        return phrase.build()


def words_of(corpus: Corpus) -> list[list[str]]:
    """The words of each text."""
    with corpus.texts.open(encoding="utf-8") as lines:
        return [json.loads(line)["contents"].split() for line in lines]


def cut(draw: random.Random, texts: Sequence[Sequence[str]], length: int) -> Sequence[str]:
    """Up to `length` neighbouring words of a drawn text."""
    words = draw.choice(texts)
    start = draw.randrange(max(1, len(words) - length + 1))
    return words[start : start + length]


def made_documents(texts: Sequence[Sequence[str]], count: int) -> Iterator[Record]:
    draw = random.Random(4)
    for number in range(count):
        pieces = [cut(draw, texts, draw.randint(*PIECE_WORDS)) for _ in range(PIECES)]
        yield Place("made", number + 1), Document(f"d{number}", " ".join(" ".join(piece) for piece in pieces))


def made_index(corpus: Corpus, count: int, *, fresh: bool) -> Path:
    """The expanded index of `count` made documents, built by the engine as it stands."""
    target = corpus.folder / f"compiling-{count}-{(engine_jar_hash() or '')[:12]}"
    if target.is_dir() and not fresh:
        return target
    say(f"indexing {count:,} documents")
    store, draw = target.with_suffix(".jsonl"), random.Random(5)
    phrases = [phrase for group in corpus.phrases() for phrase in group]
    with replacing(store) as out:
        for number in range(0, count, EXPANDED_EVERY):
            row = {"docid": f"d{number}", "phrases": draw.choices(phrases, k=PHRASES_A_DOCUMENT)}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    texts = words_of(corpus)
    build_expanded_index(
        lambda base: build_index(lambda: made_documents(texts, count), base, progress=False),
        store,
        target,
        overwrite=True,
        progress=False,
    )
    store.unlink()
    return target


def made_topics(corpus: Corpus, count: int) -> list[Sketched]:
    draw, texts = random.Random(6), words_of(corpus)
    phrases = [phrase for group in corpus.phrases() for phrase in group if analyze([phrase])[0]]
    made: list[Sketched] = []
    for number in range(count):
        chosen = draw.choices(phrases, k=PHRASES_A_SKETCH // 2)
        while len(chosen) < PHRASES_A_SKETCH:
            phrase = " ".join(cut(draw, texts, draw.randint(1, 4)))
            chosen += [phrase] if analyze([phrase])[0] else []  # stop words alone are no proposal
        topic = Topic(f"q{number}", " ".join(cut(draw, texts, QUERY_WORDS)))
        made.append(Sketched(topic, Sketch(topic.qid, tuple(map(SketchPhrase, chosen)))))
    return made


def settings_of_rows() -> dict[str, CompileSettings]:
    """The default, every gate, n-grams, and the weighting that searches for each term."""
    gates = {f"gate {gate}": CompileSettings(gate=gate) for gate in get_args(Gate)}
    ngrams = {"ngrams atoms+phrases": CompileSettings(ngrams="atoms+phrases")}
    return {DEFAULT: CompileSettings(), **gates, **ngrams, "weights margin": CompileSettings(weights="margin")}


def best(rounds: Sequence[Sequence[float]]) -> list[list[float]]:
    """The least of all rounds for each topic."""
    return [[min(values) for values in zip(*rounds, strict=True)]]


def first_times(path: Path, work: Callable[[Index, Sketched], object], topics: Sequence[Sketched]) -> list[float]:
    """Seconds for each topic on an index of its own, just opened."""
    seconds: list[float] = []
    for topic in topics:
        with Index(path) as index:
            start = perf_counter()
            work(index, topic)
            seconds.append(perf_counter() - start)
    return seconds


def in_turn(path: Path, work: Callable[[Index, Sketched], object], topics: Sequence[Sketched]) -> list[float]:
    """Seconds for each topic on one index, opened for these topics."""
    with Index(path) as index:
        return timed(partial(work, index), topics)


def compiling(path: Path, topics: Sequence[Sketched], rounds: int, report: Report) -> None:
    peers: dict[str, Callable[[], list[float]]] = {}
    for name, settings in settings_of_rows().items():
        chosen = topics[:MARGIN_TOPICS] if settings.weights == "margin" else topics

        def work(index: Index, topic: Sketched, settings: CompileSettings = settings) -> Program:
            return topic.compile(index, settings)

        peers[f"{name}; first"] = partial(first_times, path, work, chosen)
        peers[f"{name}; in turn"] = partial(in_turn, path, work, chosen)
    for name, values in alternate(peers, rounds).items():
        settings, _, how = name.partition("; ")
        half, most = 1e3 * median(best(values)), 1e3 * p95(best(values))
        report.rows.append({"compile": settings, "terms": how, "p50 ms": half, "p95 ms": most})
        if settings == DEFAULT:
            report.goals.append(Goal(f"compile, {name}: p50 ms", half, "<=", P50_MS))
            report.goals.append(Goal(f"compile, {name}: p95 ms", most, "<=", P95_MS))


def searching(path: Path, topics: Sequence[Sketched], rounds: int, report: Report) -> None:
    settings = CompileSettings()
    raw = RawPrograms(path, settings.scoring.k1, settings.scoring.b)
    with Index(path) as index:
        programs = [topic.compile(index, settings) for topic in topics]
        queries = [raw.query(program) for program in programs]
        peers: dict[str, Callable[[], list[float]]] = {
            "compile and search": partial(
                in_turn, path, lambda index, topic: index.search(topic.compile(index, settings), HITS), topics
            ),
            "search": partial(timed, lambda program: index.search(program, HITS), programs),
            "raw Lucene": partial(timed, lambda query: raw.search(query, HITS), queries),
        }
        measured = {name: best(values) for name, values in alternate(peers, rounds).items()}
    for name, values in measured.items():
        row: Row = {"compile": name, "p50 ms": 1e3 * median(values), "p95 ms": 1e3 * p95(values)}
        report.rows.append({**row, "this / raw": ratio(values, measured["raw Lucene"])})
    whole = ratio(measured["compile and search"], measured["raw Lucene"])
    report.goals.append(Goal(f"compile and search / raw Lucene, k = {HITS}", whole, "<=", SEARCH_RATIO))
    report.notes.append(f"clauses a program: {sum(len(program.clauses) for program in programs) / len(programs):.1f}")


def main() -> None:
    parser = options(str(__doc__).splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000, help="documents of the index (%(default)s)")
    parser.add_argument("--topics", type=int, default=40, help="topics a round (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the index, for another run of the same engine")
    parser.set_defaults(rounds=3)
    arguments = parser.parse_args()
    corpus = prepare(arguments.work, arguments.texts)
    path = made_index(corpus, arguments.documents, fresh=arguments.fresh)
    topics = made_topics(corpus, arguments.topics)
    with Index(path) as index:
        facts = {"documents": index.document_count, "expanded": index.expanded_documents, "segments": index.segments}
    report = Report("compiling", {**facts, "topics": len(topics), "rounds": arguments.rounds})
    compiling(path, topics, arguments.rounds, report)
    searching(path, topics, arguments.rounds, report)
    report.print(as_json=arguments.json)
    if not arguments.keep:
        shutil.rmtree(path)


if __name__ == "__main__":
    main()
