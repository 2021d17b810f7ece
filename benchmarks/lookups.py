"""Look-ups in batches: document frequencies, analysis of short phrases, the offline gate; each against its peer.

    python -m benchmarks.lookups [--terms 40000] [--phrases 100000] [--json]

Pyserini's ways take one term or phrase a call. The gate's peer is what one writes first: the df of every word in a
dictionary, and a look-up for each window. Rates are medians over rounds of work done a second.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import chain, islice
from time import perf_counter
from typing import Any

from benchmarks._measure import Goal, Report, alternate, median, options
from benchmarks._peers import Raw, pyserini
from benchmarks.corpus import Corpus, prepare
from sira.analysis import windows
from sira.expand.gate import GateSettings
from sira.expand.indexing import document_gate
from sira.lucene.reader import Index

DF_BATCH, PHRASE_BATCH = 40, 1000
GOALS = {"df, sira": 250_000, "phrases, sira": 500_000, "gate, sira": 4_000_000}


def rate(count: int, work: Callable[[], object]) -> Callable[[], list[float]]:
    """A peer that measures how many of `count` things `work` does a second."""

    def run() -> list[float]:
        start = perf_counter()
        work()
        return [count / (perf_counter() - start)]

    return run


def batches(items: Sequence[str], size: int) -> list[Sequence[str]]:
    return [items[at : at + size] for at in range(0, len(items), size)]


def df_peers(index: Index, count: int) -> dict[str, Callable[[], list[float]]]:
    """Terms drawn from both fields, half of each; Pyserini's get_term_counts knows `contents` only."""
    draw = random.Random(3)
    pools = [[term for term, _ in index.terms(field)] for field in ("contents", "expansion")]
    terms = list(chain.from_iterable(draw.sample(pool, min(len(pool), count // 2)) for pool in pools))
    draw.shuffle(terms)
    some = terms[: count // 10]
    groups = batches(terms, DF_BATCH)
    raw = Raw(index.path, 0.9, 0.4)
    pyserini()
    from jnius import autoclass  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    from pyserini.index.lucene import LuceneIndexReader

    load: Any = autoclass
    term_class, reader = load("org.apache.lucene.index.Term"), LuceneIndexReader(str(index.path))

    def doc_freq() -> None:
        for term in some:
            raw.reader.docFreq(term_class("contents", term))

    def union() -> None:
        for group in groups:
            index.df(group)

    def first_time() -> list[float]:
        with Index(index.path) as fresh:  # it has counted no union yet
            return rate(len(terms), lambda: [fresh.df(group) for group in groups])()

    return {
        "df, sira": rate(len(terms), union),
        "df, sira, index just opened": first_time,
        "df, pyjnius docFreq": rate(len(some), doc_freq),
        "df, pyserini get_term_counts": rate(len(some), lambda: [reader.get_term_counts(term, None) for term in some]),
    }


def phrase_peers(index: Index, phrases: Sequence[str]) -> dict[str, Callable[[], list[float]]]:
    groups, some = batches(phrases, PHRASE_BATCH), phrases[: len(phrases) // 20]
    pyserini()
    from pyserini.analysis import Analyzer, get_lucene_analyzer

    analyzer = Analyzer(get_lucene_analyzer())

    def ours() -> (
        None
    ):  # each batch is let go, as indexing lets it go: keeping all would time Python's garbage collection
        for group in groups:
            index.analyze(group)

    def theirs() -> None:
        for phrase in some:
            analyzer.analyze(phrase)

    return {"phrases, sira": rate(len(phrases), ours), "phrases, pyserini Analyzer": rate(len(some), theirs)}


def gate_peers(index: Index, documents: Sequence[Sequence[Sequence[str]]]) -> dict[str, Callable[[], list[float]]]:
    """`documents`: the analysed phrases of each. "gate" decides on ready words; "gate and windows" also builds every
    window of every phrase and counts verdicts, which is what indexing does, and takes most of its time."""
    settings = GateSettings()
    words = [term for phrases in documents for phrase in phrases for term in phrase]
    candidates = sum(1 for phrases in documents for phrase in phrases for _ in windows(phrase, settings.max_n))
    gate = document_gate(index, settings)
    table = dict(index.terms("contents"))

    def gated() -> None:
        for phrases in documents:
            gate.filter(phrases)

    def naive() -> None:
        for phrases in documents:
            kept: set[str] = set()
            for phrase in phrases:
                for window in windows(phrase, settings.max_n):
                    term = " ".join(window)
                    if table.get(term, 0) <= gate.bound:
                        kept.add(term)

    return {
        "gate, sira": rate(len(words), lambda: gate.passing(words)),
        "gate, naive dictionary": rate(len(words), lambda: [w for w in words if table.get(w, 0) <= gate.bound]),
        "gate and windows, sira": rate(candidates, gated),
        "gate and windows, naive": rate(candidates, naive),
    }


def measure(corpus: Corpus, *, terms: int, phrases: int, rounds: int, fresh: bool) -> Report:
    report = Report("lookups", {"df batch": DF_BATCH, "phrase batch": PHRASE_BATCH, "rounds": rounds})
    with Index(corpus.index(fresh=fresh)) as index:
        texts = list(islice(corpus.phrases(), phrases // 4))
        analysed = iter(index.analyze([phrase for group in texts for phrase in group]))
        documents = [[next(analysed) for _ in group] for group in texts]
        flat = [phrase for group in texts for phrase in group]
        for peers in (df_peers(index, terms), phrase_peers(index, flat), gate_peers(index, documents)):
            measured = alternate(peers, rounds)
            ours, *_ = peers
            for name, values in measured.items():
                each = median(values)
                report.rows.append({"look-up": name, "a second": each, "sira / this": median(measured[ours]) / each})
            report.goals.append(Goal(f"{ours}, a second", median(measured[ours]), ">=", GOALS[ours]))
    return report


def main() -> None:
    parser = options(str(__doc__).splitlines()[0])
    parser.add_argument("--terms", type=int, default=40_000, help="distinct terms whose df is asked (%(default)s)")
    parser.add_argument("--phrases", type=int, default=100_000, help="phrases analysed and gated (%(default)s)")
    arguments = parser.parse_args()
    corpus = prepare(arguments.work, arguments.texts)
    report = measure(
        corpus, terms=arguments.terms, phrases=arguments.phrases, rounds=arguments.rounds, fresh=arguments.fresh
    )
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
