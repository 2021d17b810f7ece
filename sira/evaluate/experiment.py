"""Running an experiment: one cell a collection and system, each finished on disk before the next begins.

A cell is done when its JSON file is there, which carries the fingerprint of everything that decides its ranking. So a
killed run goes on with the first cell that is missing, and a changed setting redoes just the cells it touches.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from sira import __version__
from sira.compile.sketches import read_sketches
from sira.corpora.audit import Audit, audit
from sira.corpora.collection import Collection, open_collection
from sira.corpora.files import replacing
from sira.corpora.trec import read_run
from sira.corpora.trec_writer import RunWriter
from sira.errors import InputError
from sira.evaluate.config import CollectionConfig, Experiment, SystemConfig
from sira.evaluate.indexes import IndexStore, Variant
from sira.lucene.reader import Index
from sira.program import Program, program_to_json
from sira.records import Document, Ranking, Run, Sketch, Topic
from sira.systems import SystemOptions, make_system


@dataclass(frozen=True, slots=True)
class Cell:
    """What is stored of one collection under one system, beside its run file. Times in milliseconds."""

    collection: str
    system: str
    fingerprint: str
    topics: int
    zero_results: int
    unsketched: int
    compile_ms: list[float]
    search_ms: list[float]
    llm_calls: int
    index: str
    index_bytes: int
    base_bytes: int


@dataclass(frozen=True, slots=True)
class Inputs:
    """An opened collection with its replies."""

    config: CollectionConfig
    collection: Collection
    sketches: Mapping[str, Mapping[str, Sketch]]
    ignore_self_hits: bool


def open_inputs(config: CollectionConfig) -> Inputs:
    """Open a collection of an experiment. Raises InputError where it has no topics or no judgments."""
    collection = open_collection(config.source, config.split)
    if not collection.topics:
        raise InputError(
            f"collection {config.name!r}: {config.source} has no topics: name a source with topics and qrels"
        )
    if not collection.qrels:
        raise InputError(f"collection {config.name!r}: {config.source} has no judgments: nothing can be evaluated")
    sketches = {name: read_sketches(path) for name, path in config.sketches.items()}
    self_hits = collection.ignore_self_hits if config.ignore_self_hits is None else config.ignore_self_hits
    return Inputs(config, collection, sketches, self_hits)


def audit_inputs(inputs: Inputs) -> Audit:
    docids = (record.docid for _, record in inputs.collection.documents() if isinstance(record, Document))
    return audit(docids, inputs.collection.topics, inputs.collection.qrels)


def run_cells(experiment: Experiment, inputs: Inputs, out: Path, *, progress: bool = True) -> Iterator[Cell]:
    """Finish every cell of one collection, in the order of the systems."""
    store = IndexStore(out / "indexes", inputs.config, inputs.collection, progress=progress)
    for system in experiment.systems:
        yield _cell(experiment, inputs, system, store, out, progress=progress)


def _variant(system: SystemConfig, collection: CollectionConfig) -> Variant:
    return Variant(system.documents, system.gate or collection.gate)


def _judged(inputs: Inputs) -> list[Topic]:
    return [topic for topic in inputs.collection.topics if topic.qid in inputs.collection.qrels]


def _cell(
    experiment: Experiment, inputs: Inputs, system: SystemConfig, store: IndexStore, out: Path, *, progress: bool
) -> Cell:
    variant = _variant(system, inputs.config)
    folder = store.path(variant)
    fingerprint = _fingerprint(experiment, inputs, system, folder.name)
    base = out / "runs" / inputs.config.name
    marker, run_file = base / f"{system.name}.json", base / f"{system.name}.trec"
    known = _known(marker, fingerprint) if run_file.is_file() else None
    if known is not None:
        return known
    base.mkdir(parents=True, exist_ok=True)
    marker.unlink(missing_ok=True)
    with Index(store.get(variant)) as index:
        searched = _search(experiment.depth, inputs, system, index, run_file, progress=progress)
    cell = Cell(
        collection=inputs.config.name,
        system=system.name,
        fingerprint=fingerprint,
        topics=len(_judged(inputs)),
        zero_results=searched.zero_results,
        unsketched=searched.unsketched,
        compile_ms=searched.compile_ms,
        search_ms=searched.search_ms,
        llm_calls=searched.llm_calls,
        index=folder.name,
        index_bytes=store.size(variant),
        base_bytes=store.base_size(),
    )
    with replacing(marker) as stream:
        json.dump(asdict(cell), stream)
    return cell


@dataclass(slots=True)
class _Searched:
    """Counts while the topics of a cell are searched."""

    llm_calls: int
    unsketched: int
    zero_results: int = 0
    compile_ms: list[float] = field(default_factory=list[float])
    search_ms: list[float] = field(default_factory=list[float])


def _search(
    depth: int, inputs: Inputs, config: SystemConfig, index: Index, run_file: Path, *, progress: bool
) -> _Searched:
    sketches = None if config.sketches is None else inputs.sketches[config.sketches]
    system = make_system(config.kind, SystemOptions(config.settings(), sketches, config.shuffle_sketches))
    topics = _judged(inputs)
    fetched = depth + 1 if inputs.ignore_self_hits else depth
    unsketched = 0 if sketches is None else sum(topic.qid not in sketches for topic in topics)
    done = _Searched(llm_calls=system.llm_calls * len(topics), unsketched=unsketched)
    for topic in topics[:10]:  # Java compiles its hot paths on the first searches, which are not this system's cost
        index.search(system.program(topic, index), fetched)
    bar = tqdm(topics, desc=f"{inputs.config.name} {config.name}", unit=" topics", disable=not progress, leave=False)
    with (
        RunWriter(run_file, config.name) as writer,
        replacing(run_file.with_suffix(".programs.jsonl")) as programs,
    ):
        for topic in bar:
            start = time.perf_counter()
            program = system.program(topic, index)
            compiled = time.perf_counter()
            ranking = index.search(program, fetched)
            searched = time.perf_counter()
            done.compile_ms.append(1000 * (compiled - start))
            done.search_ms.append(1000 * (searched - compiled))
            ranking = _cut(ranking, topic.qid, depth, self_hits=inputs.ignore_self_hits)
            done.zero_results += not ranking
            writer.write(topic.qid, ranking)
            programs.write(_line(program))
    return done


def _cut(ranking: Ranking, qid: str, depth: int, *, self_hits: bool) -> Ranking:
    return (ranking.without(qid) if self_hits else ranking).top(depth)


def _line(program: Program) -> str:
    return json.dumps(program_to_json(program), ensure_ascii=False) + "\n"


def _known(marker: Path, fingerprint: str) -> Cell | None:
    try:
        data = json.loads(marker.read_text(encoding="utf-8"))
        return Cell(**data) if data["fingerprint"] == fingerprint else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _fingerprint(experiment: Experiment, inputs: Inputs, system: SystemConfig, index: str) -> str:
    """SHA-256 over all that decides a ranking: system, index, topics, sketches, depth, version."""
    sketches = None
    if system.sketches is not None:
        sketches = {qid: asdict(sketch) for qid, sketch in inputs.sketches[system.sketches].items()}
    facts: dict[str, Any] = {
        "system": system.model_dump(),
        "index": index,
        "topics": [(topic.qid, topic.text) for topic in _judged(inputs)],
        "sketches": sketches,
        "depth": experiment.depth,
        "ignore_self_hits": inputs.ignore_self_hits,
        "sira": __version__,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def stored_run(out: Path, cell: Cell, inputs: Inputs) -> Run:
    """The run of a finished cell; a judged topic without hits has an empty ranking (it was searched, not forgotten)."""
    run = read_run(out / "runs" / cell.collection / f"{cell.system}.trec", cell.system)
    return Run(run.name, {topic.qid: run.rankings.get(topic.qid, Ranking()) for topic in _judged(inputs)})
