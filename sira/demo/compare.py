"""The four systems of the demonstration, measured on its questions."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tqdm import tqdm

from sira.compile import CompileSettings, compile_sketch
from sira.demo.data import DemoCollection
from sira.evaluate.metrics import Evaluation, evaluate
from sira.lucene.reader import Index
from sira.program import Program
from sira.records import Ranking, Run, Sketch, Topic

DEPTH = 100
MEASURES = ("nDCG@10", "Recall@10")


@dataclass(frozen=True, slots=True)
class DemoSystem:
    """A label, the index it searches, and whether it has the sketches."""

    label: str
    index: Index
    sketches: Mapping[str, Sketch]

    def program(self, topic: Topic) -> Program:
        return compile_sketch(topic, self.sketches.get(topic.qid), self.index, CompileSettings())

    def search(self, topic: Topic, k: int = DEPTH) -> Ranking:
        return self.index.search(self.program(topic), k)


@dataclass(frozen=True, slots=True)
class Measured:
    system: DemoSystem
    run: Run
    evaluation: Evaluation
    milliseconds: float


def demo_systems(plain: Index, expanded: Index, sketches: Mapping[str, Sketch]) -> tuple[DemoSystem, ...]:
    return (
        DemoSystem("BM25", plain, {}),
        DemoSystem("+ document phrases", expanded, {}),
        DemoSystem("+ query sketch", plain, sketches),
        DemoSystem("both", expanded, sketches),
    )


def measure(systems: tuple[DemoSystem, ...], collection: DemoCollection, *, progress: bool) -> Iterator[Measured]:
    for system in systems:
        for topic in collection.topics[:20]:  # Java's first searches compile its hot paths: not this system's cost
            system.search(topic)
        rankings: dict[str, Ranking] = {}
        times: list[float] = []
        for topic in tqdm(collection.topics, desc=system.label, unit=" topics", disable=not progress, leave=False):
            start = time.perf_counter()
            rankings[topic.qid] = system.search(topic)
            times.append(1000 * (time.perf_counter() - start))
        run = Run(system.label, rankings)
        yield Measured(system, run, evaluate(collection.qrels, run, MEASURES), statistics.median(times))


def largest_change(measured: list[Measured], collection: DemoCollection, *, gain: bool) -> Topic | None:
    """The topic whose nDCG@10 rises (or falls) most from the first system to the last; None if none does."""
    before, after = measured[0].evaluation.per_topic["nDCG@10"], measured[-1].evaluation.per_topic["nDCG@10"]
    sign = 1 if gain else -1
    best = max(collection.topics, key=lambda topic: sign * (after[topic.qid] - before[topic.qid]))
    return best if sign * (after[best.qid] - before[best.qid]) > 0 else None
