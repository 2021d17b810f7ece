"""The cells of an experiment: one collection under one system, finished on disk before the next begins.

A cell is done when its JSON file is there. It carries the fingerprint of everything that decides its ranking, and the
hashes of the files it wrote. So a killed run goes on with the first cell that is missing, a changed setting redoes just
the cells it touches, and a damaged file is not taken for a result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sira.categories.graph import MANIFEST
from sira.corpora.files import replacing
from sira.corpora.trec import read_run
from sira.evaluate.asking import TextJob, open_reranker, reranker_facts
from sira.evaluate.config import Experiment
from sira.evaluate.fingerprint import code_digest, digest, file_digest
from sira.evaluate.indexes import IndexStore, Variant
from sira.evaluate.inputs import (
    Inputs,
    imported_run,
    of_collection,
    of_no_document,
    of_no_topic,
    recorded_texts,
    sketch_usage,
)
from sira.evaluate.searching import SearchWork
from sira.evaluate.system_config import SystemConfig
from sira.llm import Usage
from sira.lucene.reader import Index
from sira.policy import DEFAULT_POLICY
from sira.records import Ranking, Run, Sketch
from sira.search.fusion import fuse_runs
from sira.systems.table import SystemOptions, make_system
from sira.systems.texts import Texts


@dataclass(frozen=True, slots=True)
class Cell:
    """What is stored of one cell beside its run. Times in milliseconds a topic, taken in `session`; `how` counts how
    the topics were answered (sira.systems.Tally). Calls, tokens (`usage`) and searches of a fused system are those of
    its parts; `untold` says that some of its calls have no known tokens. `unsketched` topics have no sketch or text, or
    one that holds nothing; `left_out` tells of what its run or store has that is not of the collection. A cell with
    `unanswered` calls, which asking the model again may mend, is done anew by the next run."""

    collection: str
    system: str
    fingerprint: str
    files: dict[str, str]
    topics: int
    zero_results: int
    unsketched: int
    self_hits: int
    llm_calls: int
    usage: dict[str, int]
    untold: bool
    searches: int
    compile_ms: list[float]
    search_ms: list[float]
    index: str
    index_bytes: int
    plain_bytes: int
    session: str
    how: dict[str, Any]
    left_out: list[str]
    unanswered: int


def run_cells(
    experiment: Experiment, inputs: Inputs, out: Path, session: str, *, progress: bool = True
) -> Iterator[Cell]:
    """Finish every cell of one collection, in the order of the systems."""
    store = IndexStore(out / "indexes", inputs.config, inputs.collection, progress=progress)
    folder = out / "runs" / inputs.config.name
    folder.mkdir(parents=True, exist_ok=True)
    imported = {item.name: imported_run(item.run, item.name, inputs) for item in experiment.systems if item.run}
    stores = {item.name: recorded_texts(item.replies, inputs) for item in experiment.systems if item.replies}
    jobs = {item.name: TextJob.of(item) for item in experiment.systems if item.llm}
    compilers = {item.name: item.compiler() for item in experiment.systems}
    rerankers = {item.name: reranker_facts(item.rerank) for item in experiment.systems if item.rerank}
    done: dict[str, Cell] = {}
    for config in experiment.systems:
        variant = Variant(config.documents, config.gate or inputs.config.gate)
        index = store.path(variant)
        facts = facts_of(experiment, inputs, config) | {
            "index": index.name,
            "run": file_digest(imported[config.name][0]) if config.run else None,
            # A model that is asked again may say something else under the same fingerprint.
            "of": [(done[name].fingerprint, done[name].files[f"{name}.trec"]) for name in config.of],
            "rerank": rerankers.get(config.name),
            "texts": file_digest(stores[config.name][0]) if config.replies else None,
            "asked": jobs[config.name].facts() if config.llm else None,
        }
        fingerprint = digest(facts)
        marker = folder / f"{config.name}.json"
        known = _known(marker, fingerprint)
        if known is not None:
            done[config.name] = known
            yield known
            continue
        marker.unlink(missing_ok=True)
        sketches = None if config.sketches is None else inputs.sketches[config.sketches]
        run = imported[config.name][1] if config.run else None
        if config.of:
            runs = [stored_run(out, done[name], inputs) for name in config.of]
            run = fuse_runs(runs, config.method, config.params, norm=config.norm, name=config.name).run
        with Index(store.get(variant)) as opened, ExitStack() as stack:
            texts = stores[config.name][1] if config.replies else None
            left_out = [] if texts is None else of_no_topic(texts, "texts", inputs)
            if run is not None and config.run:
                left_out = [*of_no_topic(run.rankings, "run", inputs), *of_no_document(run, inputs, opened)]
            if config.llm:
                texts = jobs[config.name].write(inputs, opened, config.settings().scoring, out)
            options = SystemOptions(
                compilers[config.name],
                config.search(),
                sketches,
                config.shuffle_sketches,
                run,
                texts,
                config.feedback.settings(),
                _sketch_usage(inputs, config),
                own=not inputs.ignore_self_hits,
            )
            system = make_system(config.kind, options)
            generator = stack.enter_context(closing(open_reranker(config.rerank, out))) if config.rerank else None
            work = SearchWork(experiment.depth, inputs, system, opened, config.rerank, generator)
            searched = work.search(folder / config.name, progress=progress)
        given = texts if sketches is None else sketches
        parts = [done[name] for name in config.of]
        names = [f"{config.name}{suffix}" for suffix in (".trec", ".scores.f32", ".programs.jsonl", ".notes.jsonl")]
        cell = Cell(
            collection=inputs.config.name,
            system=config.name,
            fingerprint=fingerprint,
            files={name: file_digest(folder / name) for name in names if (folder / name).exists()},
            topics=len(inputs.topics),
            zero_results=searched.zero_results,
            unsketched=0 if given is None else sum(_says_nothing(given.get(topic.qid)) for topic in inputs.topics),
            self_hits=searched.self_hits,
            llm_calls=searched.llm_calls + sum(part.llm_calls for part in parts),
            usage=asdict(sum((Usage(**part.usage) for part in parts), searched.usage)),
            untold=searched.untold or any(part.untold for part in parts),
            searches=searched.tally.searches + sum(part.searches for part in parts),
            compile_ms=searched.compile_ms,
            search_ms=searched.search_ms,
            index=index.name,
            index_bytes=store.size(variant),
            plain_bytes=store.size(Variant("plain", inputs.config.gate)),
            session=session,
            how=dict(searched.tally.to_json()),
            left_out=left_out,
            unanswered=jobs[config.name].unanswered(texts or {}) if config.llm else 0,
        )
        with replacing(marker) as stream:
            json.dump(asdict(cell), stream)
        done[config.name] = cell
        yield cell


def _says_nothing(given: Sketch | Texts | None) -> bool:
    """Whether a topic is searched as plain BM25 for want of a sketch or a text."""
    if isinstance(given, Texts):
        return not given.texts
    return given is None or not (given.phrases or given.facets or given.ranges or given.searches)


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
    return cell if whole and cell.fingerprint == fingerprint and not cell.unanswered else None


def facts_of(experiment: Experiment, inputs: Inputs, system: SystemConfig) -> dict[str, Any]:
    """What decides the ranking, but for files beside the TOML: these count by what they hold, not by where they lie."""
    sketches = None
    if system.sketches is not None:
        sketches = {qid: asdict(sketch) for qid, sketch in inputs.sketches[system.sketches].items()}
    return {
        "system": system.model_dump(exclude={"run", "rerank", "policy", "categories", "replies", "llm", "prompt"}),
        **{name: file_digest(path) for name, path in _checking(system)},
        "settings": asdict(system.settings()),
        "topics": [(topic.qid, topic.text) for topic in inputs.topics],
        "sketches": sketches,
        "depth": experiment.depth,
        "ignore_self_hits": inputs.ignore_self_hits,
        "code": code_digest(),
    }


def _sketch_usage(inputs: Inputs, system: SystemConfig) -> dict[str, Usage]:
    path = inputs.config.sketches.get(system.sketches) if system.sketches is not None else None
    return sketch_usage(path) if isinstance(path, str) else {}


def _checking(system: SystemConfig) -> Iterator[tuple[str, Path]]:
    """The files that decide what of a sketch is dropped."""
    if system.policy is not None:
        yield "policy", DEFAULT_POLICY if system.policy == "default" else Path(system.policy)
    if system.categories is not None:
        yield "categories", Path(system.categories) / MANIFEST


def resolved(experiment: Experiment, inputs: list[Inputs]) -> dict[str, Any]:
    """Every setting with its value, for the results: what the file says, and what its silence means."""
    return {
        "experiment": experiment.model_dump(mode="json"),
        "systems": {config.name: asdict(config.settings()) for config in experiment.systems},
        "collections": {item.config.name: _facts(experiment, item) for item in inputs},
        "code": code_digest(),
    }


def _facts(experiment: Experiment, inputs: Inputs) -> dict[str, Any]:
    config = inputs.config
    files = {
        "expansions": config.expansions,
        **{f"sketches.{name}": path for name, path in config.sketch_files().items()},
        **{
            f"systems.{item.name}": of_collection(place, inputs)
            for item in experiment.systems
            if (place := item.run or item.replies)
        },
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
