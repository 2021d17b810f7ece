"""The cells of an experiment: one collection under one system, finished on disk before the next begins.

A cell is done when its JSON file is there. It carries the fingerprint of everything that decides its ranking, and the
hashes of the files it wrote. So a killed run goes on with the first cell that is missing, a changed setting redoes just
the cells it touches, and a damaged file is not taken for a result.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from sira.corpora.files import replacing
from sira.corpora.trec import read_run
from sira.corpora.trec_writer import RunWriter
from sira.evaluate.config import CollectionConfig, Experiment, SystemConfig
from sira.evaluate.fingerprint import code_digest, digest, file_digest
from sira.evaluate.indexes import IndexStore, Variant
from sira.evaluate.inputs import Inputs
from sira.lucene.reader import Index
from sira.program import program_to_json
from sira.records import Ranking, Run, Sketch
from sira.systems import System, SystemOptions, make_system

WARM_UP, WARM_UP_S = 200, 3.0
"""Searches, and seconds at most, before a cell is timed: Java compiles its hot paths on the first ones, which are no
system's own cost."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is stored of one cell beside its run. Times in milliseconds a topic, taken in `session`."""

    collection: str
    system: str
    fingerprint: str
    files: dict[str, str]
    topics: int
    zero_results: int
    unsketched: int
    self_hits: int
    llm_calls: int
    compile_ms: list[float]
    search_ms: list[float]
    index: str
    index_bytes: int
    plain_bytes: int
    session: str


@dataclass(slots=True)
class _Searched:
    """Counts while the topics of a cell are searched."""

    zero_results: int = 0
    self_hits: int = 0
    compile_ms: list[float] = field(default_factory=list[float])
    search_ms: list[float] = field(default_factory=list[float])


def run_cells(
    experiment: Experiment, inputs: Inputs, out: Path, session: str, *, progress: bool = True
) -> Iterator[Cell]:
    """Finish every cell of one collection, in the order of the systems."""
    store = IndexStore(out / "indexes", inputs.config, inputs.collection, progress=progress)
    folder = out / "runs" / inputs.config.name
    folder.mkdir(parents=True, exist_ok=True)
    for config in experiment.systems:
        variant = Variant(config.documents, config.gate or inputs.config.gate)
        index = store.path(variant)
        fingerprint = _fingerprint(experiment, inputs, config, index.name)
        marker = folder / f"{config.name}.json"
        known = _known(marker, fingerprint)
        if known is not None:
            yield known
            continue
        marker.unlink(missing_ok=True)
        sketches = None if config.sketches is None else inputs.sketches[config.sketches]
        system = make_system(config.kind, SystemOptions(config.settings(), sketches, config.shuffle_sketches))
        with Index(store.get(variant)) as opened:
            searched = _search(experiment.depth, inputs, system, opened, folder / config.name, progress=progress)
        unsketched = 0 if sketches is None else sum(topic.qid not in sketches for topic in inputs.topics)
        names = [f"{config.name}{suffix}" for suffix in (".trec", ".scores.f32", ".programs.jsonl")]
        cell = Cell(
            collection=inputs.config.name,
            system=config.name,
            fingerprint=fingerprint,
            files={name: file_digest(folder / name) for name in names},
            topics=len(inputs.topics),
            zero_results=searched.zero_results,
            unsketched=unsketched,
            self_hits=searched.self_hits,
            llm_calls=system.llm_calls * _replies(inputs, sketches),
            compile_ms=searched.compile_ms,
            search_ms=searched.search_ms,
            index=index.name,
            index_bytes=store.size(variant),
            plain_bytes=store.size(Variant("plain", inputs.config.gate)),
            session=session,
        )
        with replacing(marker) as stream:
            json.dump(asdict(cell), stream)
        yield cell


def _search(depth: int, inputs: Inputs, system: System, index: Index, base: Path, *, progress: bool) -> _Searched:
    """Search every topic and write run, scores and programs beside each other."""
    fetched = depth + 1 if inputs.ignore_self_hits else depth
    warm = time.perf_counter() + WARM_UP_S
    for topic in islice(cycle(inputs.topics), WARM_UP):
        if time.perf_counter() > warm:
            break
        index.search(system.program(topic, index), fetched)
    done = _Searched()
    scores: list[float] = []
    title = f"{inputs.config.name} {base.name}"
    bar = tqdm(inputs.topics, desc=title, unit=" topics", disable=not progress, leave=False)
    with (
        RunWriter(base.with_name(f"{base.name}.trec"), base.name) as writer,
        replacing(base.with_name(f"{base.name}.programs.jsonl")) as programs,
    ):
        for topic in bar:
            start = time.perf_counter()
            program = system.program(topic, index)
            compiled = time.perf_counter()
            found = index.search(program, fetched)
            searched = time.perf_counter()
            done.compile_ms.append(1000 * (compiled - start))
            done.search_ms.append(1000 * (searched - compiled))
            ranking = (found.without(topic.qid) if inputs.ignore_self_hits else found).top(depth)
            done.self_hits += inputs.ignore_self_hits and topic.qid in found.docids
            done.zero_results += not ranking
            writer.write(topic.qid, ranking)
            scores += ranking.scores
            programs.write(json.dumps(program_to_json(program), ensure_ascii=False) + "\n")
    np.array(scores, np.float32).tofile(base.with_name(f"{base.name}.scores.f32"))
    return done


def stored_run(out: Path, cell: Cell, inputs: Inputs) -> Run:
    """The run of a finished cell with its true scores: in a run file's strictly decreasing ones no tie is left.

    A judged topic without hits has an empty ranking: it was searched, not forgotten.
    """
    folder = out / "runs" / cell.collection
    run = read_run(folder / f"{cell.system}.trec", cell.system)
    scores = np.fromfile(folder / f"{cell.system}.scores.f32", np.float32).tolist()
    rankings: dict[str, Ranking] = {}
    at = 0
    for qid, ranking in run.rankings.items():
        rankings[qid] = Ranking(ranking.docids, tuple(scores[at : at + len(ranking)]))
        at += len(ranking)
    return Run(run.name, {topic.qid: rankings.get(topic.qid, Ranking()) for topic in inputs.topics})


def _known(marker: Path, fingerprint: str) -> Cell | None:
    """The finished cell, if it is of this fingerprint and its files are as they were written."""
    try:
        data = json.loads(marker.read_text(encoding="utf-8"))
        cell = Cell(**data)
        whole = all(file_digest(marker.with_name(name)) == known for name, known in cell.files.items())
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return cell if whole and cell.fingerprint == fingerprint else None


def _fingerprint(experiment: Experiment, inputs: Inputs, system: SystemConfig, index: str) -> str:
    sketches = None
    if system.sketches is not None:
        sketches = {qid: asdict(sketch) for qid, sketch in inputs.sketches[system.sketches].items()}
    facts: Mapping[str, Any] = {
        "system": system.model_dump(),
        "settings": asdict(system.settings()),
        "index": index,
        "topics": [(topic.qid, topic.text) for topic in inputs.topics],
        "sketches": sketches,
        "depth": experiment.depth,
        "ignore_self_hits": inputs.ignore_self_hits,
        "code": code_digest(),
    }
    return digest(facts)


def resolved(experiment: Experiment, inputs: list[Inputs]) -> dict[str, Any]:
    """Every setting with its value, for the results: what the file says, and what its silence means."""
    return {
        "experiment": experiment.model_dump(mode="json"),
        "systems": {config.name: asdict(config.settings()) for config in experiment.systems},
        "collections": {item.config.name: _facts(item.config, item) for item in inputs},
        "code": code_digest(),
    }


def _replies(inputs: Inputs, sketches: Mapping[str, Sketch] | None) -> int:
    """The replies that the sketches of the topics are of; without sketches one a topic."""
    if sketches is None:
        return len(inputs.topics)
    return sum(sketches[topic.qid].samples for topic in inputs.topics if topic.qid in sketches)


def _facts(config: CollectionConfig, inputs: Inputs) -> dict[str, Any]:
    files = {
        "expansions": config.expansions,
        **{f"sketches.{name}": path for name, path in config.sketch_files().items()},
    }
    return {
        "name": inputs.collection.name,
        "split": inputs.collection.split,
        "text_rule": inputs.collection.text_rule,
        "ignore_self_hits": inputs.ignore_self_hits,
        "topics": len(inputs.topics),
        "gate": config.gate.model_dump(),
        "sha256": {name: file_digest(Path(path)) for name, path in files.items() if path and Path(path).is_file()},
    }
