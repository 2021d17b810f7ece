"""What decides the ranking of each cell of one collection, as fingerprints; nothing is indexed or searched for them.

What a figure is printed with or compared to (prices, marks of development, macros, filters) is none of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sira.categories.graph import MANIFEST
from sira.evaluate.agent_job import AgentJob
from sira.evaluate.asking import TextJob, reranker_facts
from sira.evaluate.cells import Cell, known_cell
from sira.evaluate.config import Experiment
from sira.evaluate.fingerprint import code_digest, digest, file_digest
from sira.evaluate.indexes import IndexStore, Variant
from sira.evaluate.inputs import Inputs, imported_run, of_collection, recorded_texts
from sira.evaluate.system_config import SystemConfig
from sira.policy import DEFAULT_POLICY
from sira.records import Run
from sira.systems import Compiler
from sira.systems.agents.table import AGENTS
from sira.systems.texts import Texts


class Facts:
    """The inputs of the cells of one collection, each read once, when it is first asked for."""

    def __init__(self, experiment: Experiment, inputs: Inputs, out: Path, store: IndexStore) -> None:
        self.experiment, self.inputs, self.out, self.store = experiment, inputs, out, store
        self._runs: dict[str, tuple[Path, Run]] = {}
        self._texts: dict[str, tuple[Path, dict[str, Texts]]] = {}
        self._jobs: dict[str, TextJob] = {}
        self._agents: dict[str, AgentJob] = {}
        self._compilers: dict[str, Compiler] = {}

    def variant(self, system: SystemConfig) -> Variant:
        return Variant(system.documents, system.gate or self.inputs.config.gate)

    def run(self, system: SystemConfig) -> tuple[Path, Run]:
        """The run that a system of kind `run` answers with, and where it lies."""
        if system.name not in self._runs:
            assert system.run is not None
            self._runs[system.name] = imported_run(system.run, system.name, self.inputs)
        return self._runs[system.name]

    def texts(self, system: SystemConfig) -> tuple[Path, dict[str, Texts]]:
        """The recorded texts of a system, and where they lie."""
        if system.name not in self._texts:
            assert system.replies is not None
            self._texts[system.name] = recorded_texts(system.replies, self.inputs)
        return self._texts[system.name]

    def job(self, system: SystemConfig) -> TextJob:
        """How a system's texts are asked for."""
        if system.name not in self._jobs:
            self._jobs[system.name] = TextJob.of(system)
        return self._jobs[system.name]

    def agent(self, system: SystemConfig) -> AgentJob:
        """How an agent goes about it."""
        if system.name not in self._agents:
            self._agents[system.name] = AgentJob.of(system, own=not self.inputs.ignore_self_hits)
        return self._agents[system.name]

    def compiler(self, system: SystemConfig) -> Compiler:
        if system.name not in self._compilers:
            self._compilers[system.name] = system.compiler()
        return self._compilers[system.name]

    def check(self, systems: Iterable[SystemConfig]) -> None:
        """Raises InputError for a file that cannot be used, before the first of these systems is searched with."""
        for system in systems:
            self._given(system)
            self.compiler(system)

    def fingerprint(self, system: SystemConfig, done: Mapping[str, Cell]) -> str:
        """Over all that decides the ranking. `done` has the finished cells of the parts of a fused system.

        Raises InputError for a file that cannot be used, EnvironmentFault for a local model that is not there.
        """
        facts = facts_of(self.experiment, self.inputs, system) | {
            "index": self.store.path(self.variant(system)).name,
            # A model that is asked again may say something else under the same fingerprint.
            "of": [(done[name].fingerprint, done[name].files[f"{name}.trec"]) for name in system.of],
            **self._given(system),
        }
        return digest(facts)

    def _given(self, system: SystemConfig) -> dict[str, Any]:
        return {
            "run": file_digest(self.run(system)[0]) if system.run else None,
            "rerank": reranker_facts(system.rerank) if system.rerank else None,
            "texts": file_digest(self.texts(system)[0]) if system.replies else None,
            "asked": self._asked(system) if system.llm else None,
        }

    def _asked(self, system: SystemConfig) -> dict[str, object]:
        return self.agent(system).facts() if system.kind in AGENTS else self.job(system).facts()

    def finished(self, system: SystemConfig, done: Mapping[str, Cell]) -> Cell | None:
        """The cell, where it is finished and up to date, and so are its parts, which `done` has."""
        if any(name not in done for name in system.of):
            return None
        if system.sketches is not None and system.sketches not in self.inputs.sketches:
            return None  # asked of a model, and not there yet
        return known_cell(self.out, self.inputs.config.name, system.name, self.fingerprint(system, done))


_BESIDE = {"run", "rerank", "policy", "categories", "replies", "llm", "prompt", "agent"}


def facts_of(experiment: Experiment, inputs: Inputs, system: SystemConfig) -> dict[str, Any]:
    """What decides the ranking, but for files beside the TOML: these count by what they hold, not by where they lie."""
    sketches = None
    if system.sketches is not None:
        sketches = {qid: asdict(sketch) for qid, sketch in inputs.sketches[system.sketches].items()}
    return {
        "system": system.model_dump(exclude=_BESIDE),
        **{name: file_digest(path) for name, path in _checking(system)},
        "settings": asdict(system.settings()),
        "topics": [(topic.qid, topic.text) for topic in inputs.topics],
        "sketches": sketches,
        "depth": experiment.depth,
        "ignore_self_hits": inputs.ignore_self_hits,
        "code": code_digest(),
    }


def _checking(system: SystemConfig) -> Iterator[tuple[str, Path]]:
    """The files that decide what of a sketch is dropped."""
    if system.policy is not None:
        yield "policy", DEFAULT_POLICY if system.policy == "default" else Path(system.policy)
    if system.categories is not None:
        yield "categories", Path(system.categories) / MANIFEST


def resolved(experiment: Experiment, inputs: Iterable[Inputs]) -> dict[str, Any]:
    """Every setting with its value, for the results: what the file says, and what its silence means."""
    return {
        "experiment": experiment.model_dump(mode="json"),
        "systems": {config.name: asdict(config.settings()) for config in experiment.systems},
        "collections": {item.config.name: _files(experiment, item) for item in inputs},
        "code": code_digest(),
    }


def _files(experiment: Experiment, inputs: Inputs) -> dict[str, Any]:
    config = inputs.config
    files = {
        "expansions": config.expansions,
        **{f"sketches.{name}": path for name, path in config.sketch_files().items()},
        **{
            f"systems.{item.name}": of_collection(place, config.name)
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
