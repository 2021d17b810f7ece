"""The query-side gate on every collection at hand, on narrow ones cut from SciFact, and under noise.

    python -m benchmarks.query_gate [--json]

The demonstration's collection is always there; hotpotqa-100, musique-100 (development) and scifact where SIRA_TEST_DATA
names their folder. A narrow collection holds the documents of SciFact with one frequent word, and the topics whose
relevant documents all hold it: there the words of the subject are common. `noise`: every topic has the sketch of
another one. These are the figures of docs/decisions/0012.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks._measure import Report, Row, say
from benchmarks.document_gate import collections
from sira.analysis.english import analyze
from sira.compile import CompileSettings, compile_sketch
from sira.compile.settings import Gate
from sira.compile.sketches import read_sketches
from sira.corpora.collection import open_collection
from sira.evaluate.metrics import Evaluation, evaluate
from sira.evaluate.significance import compare
from sira.expand.indexing import expand_index
from sira.lucene.reader import Index
from sira.lucene.writer import build_index
from sira.records import Document, Qrels, Record, Run, Sketch, Topic
from sira.systems.sira import shuffled

GATES: tuple[tuple[Gate, float, float], ...] = (
    ("window", 0.05, 1), ("auto", 0.05, 3), ("window", 0.1, 1), ("window", 0.2, 1),
    ("soft", 0.02, 1), ("soft", 0.05, 1), ("soft", 0.05, 2), ("soft", 0.05, 3), ("soft", 0.05, 4), ("soft", 0.1, 1),
    ("any", 0.05, 1), ("phrase", 0.05, 1), ("off", 1.0, 1),
)  # fmt: skip
"""Gate, tau, and the power of a soft gate."""
MEASURE = "nDCG@10"
LEAST_TOPICS = 20
NARROW = ((0.08, 0.3, 5), (0.04, 0.12, 5))
"""A narrow collection's word stands in such a share of the documents; so many collections of each kind."""


@dataclass(frozen=True, slots=True)
class Subject:
    """An index with topics, judgments and sketches."""

    name: str
    index: Path
    topics: tuple[Topic, ...]
    qrels: Qrels
    sketches: Mapping[str, Sketch]

    def noisy(self) -> Subject:
        return Subject(f"{self.name}, noise", self.index, self.topics, self.qrels, shuffled(self.sketches))


def subjects(work: Path) -> Iterator[Subject]:
    """Development collections first, expanded; then SciFact, whole and cut."""
    for found in collections(work):
        expanded = work / f"{found.name}-expanded"
        expand_index(found.base, found.store, expanded, progress=False)
        yield Subject(found.name, expanded, found.topics, found.qrels, found.sketches)
    data = os.environ.get("SIRA_TEST_DATA")
    if data and (Path(data) / "scifact" / "corpus.jsonl").is_file():
        yield from scifact(Path(data) / "scifact", work)


def scifact(folder: Path, work: Path) -> Iterator[Subject]:
    collection = open_collection(f"beir:{folder}", "test")
    store = folder / "replies" / "document-phrases.jsonl"
    sketches = read_sketches(folder / "replies" / "query-sketches.jsonl")
    records = list(collection.documents())
    topics = tuple(topic for topic in collection.topics if topic.qid in collection.qrels)
    yield Subject("scifact", indexed(records, store, work, "scifact"), topics, collection.qrels, sketches)
    found = {word: kept for bounds in NARROW for word, kept in narrow(records, topics, collection.qrels, bounds)}
    for word, kept in found.items():
        docids = {item.docid for _, item in kept}
        chosen = tuple(t for t in topics if all(docid in docids for docid in relevant(collection.qrels, t.qid)))
        path = indexed(kept, store, work, f"scifact-{word}")
        yield Subject(f"scifact: {word} ({len(kept)} documents)", path, chosen, collection.qrels, sketches)


def narrow(
    records: list[Record], topics: tuple[Topic, ...], qrels: Qrels, bounds: tuple[float, float, int]
) -> list[tuple[str, list[Record]]]:
    """The subjects with most topics, each by its word."""
    low, high, number_of_subjects = bounds
    holding: dict[str, list[int]] = {}
    for number, (_, item) in enumerate(records):
        if isinstance(item, Document):
            for term in set(analyze([item.contents])[0]):
                holding.setdefault(term, []).append(number)
    least, most = low * len(records), high * len(records)
    counted: list[tuple[int, str]] = []
    for term, numbers in holding.items():
        if least <= len(numbers) <= most and term.isalpha() and len(term) > 4:
            docids = {records[number][1].docid for number in numbers}
            whole = sum(all(docid in docids for docid in relevant(qrels, topic.qid)) for topic in topics)
            if whole >= LEAST_TOPICS:
                counted.append((whole, term))
    chosen = sorted(counted, key=lambda pair: (-pair[0], pair[1]))[:number_of_subjects]
    return [(term, [records[number] for number in holding[term]]) for _, term in chosen]


def relevant(qrels: Qrels, qid: str) -> list[str]:
    return [docid for docid, grade in qrels[qid].items() if grade > 0]


def indexed(records: list[Record], store: Path, work: Path, name: str) -> Path:
    build_index(lambda: records, work / f"{name}-base", progress=False)
    expand_index(work / f"{name}-base", store, work / name, progress=False)
    return work / name


def measure(subject: Subject, index: Index, settings: CompileSettings) -> Evaluation:
    rankings = {
        topic.qid: index.search(compile_sketch(topic, subject.sketches.get(topic.qid), index, settings), 100)
        for topic in subject.topics
    }
    judged = {topic.qid: subject.qrels[topic.qid] for topic in subject.topics}
    return evaluate(judged, Run(subject.name, rankings), [MEASURE])


def rows(subject: Subject) -> Iterator[Row]:
    with Index(subject.index) as index:
        found = {
            (gate, tau, power): measure(subject, index, CompileSettings(gate=gate, max_df_ratio=tau, gate_power=power))
            for gate, tau, power in GATES
        }
    base = found[GATES[0]].per_topic[MEASURE]
    for (gate, tau, power), evaluation in found.items():
        difference = compare(evaluation.per_topic[MEASURE], base)
        yield {
            "collection": subject.name,
            "topics": evaluation.topics,
            "gate": gate,
            "tau": tau,
            "power": power if gate in ("auto", "soft") else None,
            MEASURE: evaluation.mean[MEASURE],
            "against window 0.05": f"{difference.difference:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}]",
        }


def main() -> None:
    parser = argparse.ArgumentParser(description="the query-side gate on every collection at hand")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    report = Report("query_gate", {"measure": MEASURE, "interval": "95 %, paired bootstrap"})
    with tempfile.TemporaryDirectory() as folder:
        for subject in subjects(Path(folder)):
            say(subject.name)
            report.rows += rows(subject)
            if not subject.name.startswith("scifact:"):
                report.rows += rows(subject.noisy())
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
