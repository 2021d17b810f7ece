"""Finishing the cells of one collection: what is there and up to date stays, the rest is searched."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict

from sira.errors import SiraError
from sira.evaluate.agent_job import EXPORTS
from sira.evaluate.asking import open_reranker
from sira.evaluate.cells import SUFFIXES, Cell, marker_of, stored_run, write_cell
from sira.evaluate.facts import Facts
from sira.evaluate.fingerprint import file_digest
from sira.evaluate.indexes import Variant
from sira.evaluate.inputs import Inputs, of_no_document, of_no_topic, sketch_usage
from sira.evaluate.searching import Searched, SearchWork
from sira.evaluate.system_config import SystemConfig
from sira.llm import Usage
from sira.lucene.reader import Index
from sira.records import Sketch
from sira.search.fusion import fuse_runs
from sira.systems.agents.table import AGENTS
from sira.systems.table import SystemOptions, make_system
from sira.systems.texts import Texts

_log = logging.getLogger("sira.evaluate")


def finished_cells(facts: Facts) -> dict[str, Cell]:
    """The cells of the collection that are finished and up to date, by system, in the order of the systems; those that
    the next run does anew for unanswered calls among them.

    One of which that cannot be told, since a file or a local model is not there, is none of them; a warning says so.
    """
    done: dict[str, Cell] = {}
    for system in facts.experiment.systems:
        marker = marker_of(facts.out, facts.inputs.config.name, system.name)
        if not marker.exists():
            continue
        try:
            cell = facts.finished(system, done)
        except SiraError as error:
            _log.warning("%s %s: is left out: %s", facts.inputs.config.name, system.name, error)
            continue
        if cell is not None:
            done[system.name] = cell
    return done


def run_cells(
    facts: Facts, names: Collection[str], session: str, *, jobs: int = 1, progress: bool = True
) -> Iterator[tuple[Cell, bool]]:
    """Finish the cells of these systems, in the order of the experiment; with each, whether it was finished before.

    The parts of a fused system must be among the names. `jobs` is told with the times.
    """
    systems = [item for item in facts.experiment.systems if item.name in names]
    facts.check(systems)
    (facts.out / "runs" / facts.inputs.config.name).mkdir(parents=True, exist_ok=True)
    done: dict[str, Cell] = {}
    for system in systems:
        known = facts.finished(system, done)
        known = None if known is not None and known.unanswered else known
        done[system.name] = known or _finish(facts, system, done, (session, jobs), progress=progress)
        yield done[system.name], known is not None


def _finish(
    facts: Facts, config: SystemConfig, done: dict[str, Cell], timed: tuple[str, int], *, progress: bool
) -> Cell:
    inputs, out, store, variant = facts.inputs, facts.out, facts.store, facts.variant(config)
    fingerprint, folder = facts.fingerprint(config, done), out / "runs" / inputs.config.name
    marker_of(out, inputs.config.name, config.name).unlink(missing_ok=True)
    sketches = None if config.sketches is None else inputs.sketches[config.sketches]
    run = facts.run(config)[1] if config.run else None
    if config.of:
        runs = [stored_run(out, done[name], inputs) for name in config.of]
        run = fuse_runs(runs, config.method, config.params, norm=config.norm, name=config.name).run
    with Index(store.get(variant)) as opened, ExitStack() as stack:
        texts = facts.texts(config)[1] if config.replies else None
        left_out = [] if texts is None else of_no_topic(texts, "texts", inputs)
        if run is not None and config.run:
            left_out = [*of_no_topic(run.rankings, "run", inputs), *of_no_document(run, inputs, opened)]
        job = facts.agent(config) if config.kind in AGENTS else None
        if config.llm and job is None:
            texts = facts.job(config).write(inputs, opened, config.settings().scoring, out)
        options = SystemOptions(
            facts.compiler(config),
            config.search(),
            sketches,
            config.shuffle_sketches,
            run,
            texts,
            config.feedback.settings(),
            _sketch_usage(inputs, config),
            own=not inputs.ignore_self_hits,
            agent=None if job is None else job.settings,
            generator=None if job is None else stack.enter_context(closing(job.open(out))),
            exports=out / EXPORTS,
            progress=progress,
        )
        system = make_system(config.kind, options)
        generator = stack.enter_context(closing(open_reranker(config.rerank, out))) if config.rerank else None
        asked_together = None if job is None else job.model.concurrency
        work = SearchWork(facts.experiment.depth, inputs, system, opened, config.rerank, generator, asked_together)
        searched = work.search(folder / config.name, progress=progress)
    given = texts if sketches is None else sketches
    parts = [done[name] for name in config.of]
    names = [f"{config.name}{suffix}" for suffix in SUFFIXES]
    session, jobs = timed
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
        spent=_spent(searched),
        searches=searched.tally.searches + sum(part.searches for part in parts),
        compile_ms=searched.compile_ms,
        search_ms=searched.search_ms,
        index=store.path(variant).name,
        index_bytes=max([store.size(variant), *(part.index_bytes for part in parts)]),
        plain_bytes=store.size(Variant("plain", inputs.config.gate)),
        session=session,
        jobs=jobs,
        how=dict(searched.tally.to_json()),
        left_out=left_out,
        unanswered=searched.tally.unanswered
        + (facts.job(config).unanswered(texts or {}) if config.llm and job is None else 0),
    )
    write_cell(cell, out)
    return cell


def _spent(searched: Searched) -> dict[str, dict[str, int]]:
    """Calls and tokens by what they were for, where there were calls; `untold`: 1 where some have no known tokens."""
    tokens, own_tokens = asdict(searched.usage), asdict(searched.own_usage)
    rerank_tokens = {name: count - own_tokens[name] for name, count in tokens.items()}
    found = {
        "own": {"calls": searched.own_calls, **own_tokens, "untold": int(searched.own_untold)},
        "rerank": {
            "calls": searched.llm_calls - searched.own_calls,
            **rerank_tokens,
            "untold": int(not any(rerank_tokens.values())),
        },
    }
    return {name: spent for name, spent in found.items() if spent["calls"]}


def _says_nothing(given: Sketch | Texts | None) -> bool:
    """Whether a topic is searched as plain BM25 for want of a sketch or a text."""
    if isinstance(given, Texts):
        return not given.texts
    return given is None or not (given.phrases or given.facets or given.ranges or given.searches)


def _sketch_usage(inputs: Inputs, system: SystemConfig) -> dict[str, Usage]:
    path = inputs.config.sketches.get(system.sketches) if system.sketches is not None else None
    return sketch_usage(path) if isinstance(path, str) else {}
