"""Opening the collections that a run is asked for, with all checks that need no index and no model."""

from __future__ import annotations

from collections.abc import Iterable

from sira.errors import InputError
from sira.evaluate.agent_job import AgentJob
from sira.evaluate.asking import TextJob, check_live_sketches
from sira.evaluate.config import Experiment
from sira.evaluate.filters import Wanted
from sira.evaluate.inputs import Inputs, check_places, open_inputs
from sira.evaluate.system_config import SystemConfig
from sira.evaluate.tune_data import check_development
from sira.evaluate.work import used_sketches
from sira.llm.settings import read_model
from sira.systems.agents.table import AGENTS


def open_wanted(experiment: Experiment, todo: Wanted) -> dict[str, Inputs]:
    """The collections of development and those that are asked for, checked as far as it needs no index.

    Raises InputError for what cannot be used, a test split that is marked as development among it.
    """
    asked = frozenset(name for names in (*todo.systems.values(), *todo.first.values()) for name in names)
    _check_files([item for item in experiment.systems if item.name in asked])
    selecting = bool(todo.first)
    opened: dict[str, Inputs] = {}
    for config in experiment.collections:
        if config.name in todo.systems or (selecting and config.development):
            inputs = open_inputs(config)
            names = todo.systems.get(config.name, frozenset())
            check_live_sketches(inputs, used_sketches(experiment, names))
            check_places([item for item in experiment.systems if item.name in names], inputs)
            opened[config.name] = inputs
            if config.development:
                check_development(inputs, declared=True)
    return opened


def _check_files(systems: Iterable[SystemConfig]) -> None:
    """Raises InputError for a file that cannot be used in any collection: a policy, a category graph, the file of a
    model, a prompt."""
    for system in systems:
        if system.llm is not None:
            (AgentJob if system.kind in AGENTS else TextJob).of(system)
        try:
            system.compiler()
            if system.rerank is not None:
                read_model(system.rerank.llm)
        except InputError as error:
            raise InputError(f"system {system.name!r}: {error}") from None
