"""How n-grams score: single words against atoms, atoms with phrases, and windows of `contents` indexed as atoms too.

    python -m benchmarks.ngrams [--gate window] [--json]

Both sides are expanded. The demonstration's collection is always there; hotpotqa-100 and musique-100 (development)
and scifact where SIRA_TEST_DATA names their folder. SciFact is held out: it is printed beside, and decides nothing.
These are the figures of docs/decisions/0004.
"""

from __future__ import annotations

import argparse
import datetime as dt
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import get_args

from benchmarks._held_out import held_out
from benchmarks._measure import Report, Row, say
from benchmarks.document_gate import Development, collections
from sira.analysis import DEFAULT_MAX_N, windows
from sira.compile import CompileSettings, compile_sketch
from sira.compile.settings import Gate, Ngrams
from sira.evaluate.metrics import evaluate
from sira.evaluate.significance import compare
from sira.expand.gate import GateSettings
from sira.expand.indexing import document_gate, expand_index, expansion_terms
from sira.expand.store import read_expansions
from sira.lucene.reader import Index
from sira.lucene.update import ExpansionTerms, attach_expansions
from sira.program import Program
from sira.records import Run

MEASURE = "nDCG@10"
HELD_OUT = "scifact"
SHARES = (0.1, 0.25, 0.5, 1.0)
"""What a clause of several words weighs, of the weight that the compiler gives it."""
TOLERANCE = 0.005
"""A loss is excluded where the lower bound of the interval is above -0.005 on every development collection."""
BATCH = 500


@dataclass(frozen=True, slots=True)
class Form:
    """One way to score windows of two and three words. `indexed`: those of `contents` are atoms of `expansion` too."""

    name: str
    ngrams: Ngrams
    indexed: bool


FORMS = (
    Form("atoms", "atoms", indexed=False),
    Form("atoms+phrases", "atoms+phrases", indexed=False),
    Form("windows indexed", "atoms", indexed=True),
)

Values = Mapping[str, float]
"""qid -> value."""


def attach_windows(base: Path, store: Path, target: Path) -> None:
    """The expanded index, with the windows of each document's `contents` as atoms beside those of its phrases.

    A document without a kept word in its phrases gets none, since atoms alone must not make it an expanded one.
    """
    with Index(base) as index:
        gate = document_gate(index, GateSettings())
        rows = expansion_terms(index, read_expansions(store), gate, dt.datetime.now(dt.UTC).date())
        attach_expansions(base, with_windows(index, rows), target, lambda _: {"windows_of_contents": True})


def with_windows(index: Index, rows: Iterable[ExpansionTerms]) -> Iterator[ExpansionTerms]:
    rows = iter(rows)
    while batch := list(islice(rows, BATCH)):
        documents = index.documents([row.docid for row in batch])
        analysed = index.analyze([document.contents if document else "" for document in documents])
        for row, terms in zip(batch, analysed, strict=True):
            found = (" ".join(window) for window in windows(terms, DEFAULT_MAX_N) if len(window) > 1)
            yield replace(row, atoms=list(dict.fromkeys([*row.atoms, *found]))) if row.words else row


def shared(program: Program, single: Program, share: float) -> Program:
    """The program with the clauses of n-grams, which `single` does not have, at a share of their weight."""
    known = set(single.clauses)
    clauses = (c if c in known else replace(c, weight=c.weight * share) for c in program.clauses)
    return replace(program, clauses=tuple(clauses))


def measure(collection: Development, index: Index, settings: CompileSettings, shares: Sequence[float]) -> list[Values]:
    """nDCG@10 by topic, one mapping a share."""

    def compiled(settings: CompileSettings) -> list[Program]:
        sketches = collection.sketches
        return [compile_sketch(topic, sketches.get(topic.qid), index, settings) for topic in collection.topics]

    pairs = list(zip(compiled(settings), compiled(replace(settings, ngrams="off")), strict=True))
    judged = {topic.qid: collection.qrels[topic.qid] for topic in collection.topics}
    return [
        evaluate(
            judged,
            Run(
                collection.name, {whole.qid: index.search(shared(whole, single, share), 100) for whole, single in pairs}
            ),
            [MEASURE],
        ).per_topic[MEASURE]
        for share in shares
    ]


def timed(attach: Callable[[], object]) -> float:
    start = time.perf_counter()
    attach()
    return time.perf_counter() - start


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def figures(
    collection: Development, work: Path, settings: CompileSettings
) -> tuple[Values, dict[tuple[str, float], Values], str]:
    """Single words; each form at each share; and what indexing the windows of `contents` costs."""
    normal, windowed = work / f"{collection.name}-normal", work / f"{collection.name}-windowed"
    seconds = timed(lambda: expand_index(collection.base, collection.store, normal, progress=False))
    longer = timed(lambda: attach_windows(collection.base, collection.store, windowed))
    larger, slower = size(windowed) / size(normal), longer / seconds
    cost = (
        f"{collection.name}, windows of contents indexed: {size(windowed) / 1e6:.1f} MB against "
        f"{size(normal) / 1e6:.1f} ({larger:.2f} times), attached in {longer:.1f} s against {seconds:.1f} "
        f"({slower:.1f} times)"
    )
    found: dict[tuple[str, float], Values] = {}
    with Index(normal) as plain, Index(windowed) as indexed:
        (single,) = measure(collection, plain, replace(settings, ngrams="off"), (1.0,))
        for form in FORMS:
            values = measure(
                collection, indexed if form.indexed else plain, replace(settings, ngrams=form.ngrams), SHARES
            )
            found |= {(form.name, share): value for share, value in zip(SHARES, values, strict=True)}
    return single, found, cost


def difference(values: Values, base: Values) -> tuple[str, float]:
    """As text, and the lower bound."""
    item = compare(values, base)
    return f"{item.difference:+.4f} [{item.low:+.4f}, {item.high:+.4f}]", item.low


def together(by_collection: Mapping[str, Values]) -> Values:
    """All topics of the development collections, each with its collection's name."""
    return {
        f"{name} {qid}": value
        for name, values in by_collection.items()
        if name != HELD_OUT
        for qid, value in values.items()
    }


def rows(single: Mapping[str, Values], found: Mapping[str, Mapping[tuple[str, float], Values]]) -> Iterator[Row]:
    """Means of single words, then each form's differences from them."""
    means = {name: f"{sum(values.values()) / len(values):.4f}" for name, values in single.items()}
    yield {"n-grams": "single words", "share": None, **means}
    for form in FORMS:
        for share in SHARES:
            row: Row = {"n-grams": form.name, "share": share}
            lows: list[float] = []
            for name, base in single.items():
                row[name], low = difference(found[name][form.name, share], base)
                if name != HELD_OUT:
                    lows.append(low)
            pooled = together({name: values[form.name, share] for name, values in found.items()})
            row["development together"], _ = difference(pooled, together(single))
            row["loss excluded"] = "yes" if min(lows) > -TOLERANCE else "no"
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description="how n-grams score, on the development collections")
    parser.add_argument("--gate", choices=get_args(Gate), default=CompileSettings().gate, help="(%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    facts = {"measure": MEASURE, "interval": "95 %, paired bootstrap", "held out": HELD_OUT, "gate": arguments.gate}
    report = Report("ngrams", facts)
    settings = CompileSettings(gate=arguments.gate)
    single: dict[str, Values] = {}
    found: dict[str, dict[tuple[str, float], Values]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for collection in chain(collections(Path(folder)), islice(held_out(Path(folder)), 1)):
            say(collection.name)
            single[collection.name], found[collection.name], cost = figures(collection, Path(folder), settings)
            report.notes.append(cost)
    report.rows += rows(single, found)
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
