"""The document-side gate on development collections: nDCG@10 by tau, alone and with the sketches.

    python -m benchmarks.document_gate

The demonstration's collection is always there; hotpotqa-100 and musique-100 where SIRA_TEST_DATA names their folder.
These are the figures of docs/decisions/0003.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks._measure import Report, Row, say
from sira.compile import CompileSettings, compile_sketch
from sira.compile.sketches import read_sketches
from sira.corpora.collection import open_collection
from sira.demo.data import PHRASES, demo_indexes, load_demo
from sira.evaluate.metrics import Evaluation, evaluate
from sira.evaluate.significance import compare
from sira.expand.gate import GateSettings
from sira.expand.indexing import expand_index
from sira.lucene.reader import Index
from sira.lucene.writer import build_index
from sira.records import Qrels, Run, Sketch, Topic

TAUS = (0.02, 0.05, 0.1, 0.2, 1.0)
MEASURE = "nDCG@10"


@dataclass(frozen=True, slots=True)
class Development:
    """A collection to choose defaults on, with its index without expansions."""

    name: str
    base: Path
    store: Path
    topics: tuple[Topic, ...]
    qrels: Qrels
    sketches: Mapping[str, Sketch]


def collections(work: Path) -> Iterator[Development]:
    demo = load_demo()
    plain, _ = demo_indexes(demo, work, progress=False)
    yield Development("stdlib", plain, PHRASES, demo.topics, demo.qrels, demo.sketches)
    data = os.environ.get("SIRA_TEST_DATA")
    for name in ("hotpotqa-100", "musique-100") if data else ():
        folder = Path(str(data)) / name
        collection = open_collection(f"beir:{folder}", "dev")
        build_index(collection.documents, work / name, progress=False)
        sketches = read_sketches(folder / "query-sketches.jsonl")
        store = folder / "document-phrases.jsonl"
        yield Development(name, work / name, store, collection.topics, collection.qrels, sketches)


def measure(collection: Development, index: Index, *, sketched: bool) -> Evaluation:
    settings = CompileSettings()
    rankings = {
        topic.qid: index.search(
            compile_sketch(topic, collection.sketches.get(topic.qid) if sketched else None, index, settings), 100
        )
        for topic in collection.topics
    }
    return evaluate(collection.qrels, Run(collection.name, rankings), [MEASURE])


def rows(collection: Development, work: Path) -> Iterator[Row]:
    found: dict[tuple[float, bool], Evaluation] = {}
    for tau in TAUS:
        expanded = work / "expanded"
        settings = GateSettings(max_df_ratio=tau)
        expand_index(collection.base, collection.store, expanded, settings, overwrite=True, progress=False)
        with Index(expanded) as index:
            for sketched in (False, True):
                found[tau, sketched] = measure(collection, index, sketched=sketched)
    for tau in TAUS:
        row: Row = {"collection": collection.name, "topics": found[tau, False].topics, "tau": tau}
        for sketched in (False, True):
            values = [item.per_topic[MEASURE] for item in (found[tau, sketched], found[0.05, sketched])]
            difference = compare(values[0], values[1])
            side = "both" if sketched else "alone"
            row[side] = found[tau, sketched].mean[MEASURE]
            row[f"{side}, against 0.05"] = (
                f"{difference.difference:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
            )
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description="the document-side gate on development collections")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    report = Report("document_gate", {"measure": MEASURE, "interval": "95 %, paired bootstrap"})
    with tempfile.TemporaryDirectory() as folder:
        for collection in collections(Path(folder)):
            say(collection.name)
            report.rows += rows(collection, Path(folder))
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
