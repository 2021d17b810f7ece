"""Opening the collections that a run is asked for, with all checks that need no index and no model."""

from __future__ import annotations

from sira.evaluate.asking import check_live_sketches
from sira.evaluate.config import Experiment
from sira.evaluate.filters import Wanted
from sira.evaluate.inputs import Inputs, check_places, open_inputs
from sira.evaluate.tune_data import check_development
from sira.evaluate.work import used_sketches


def open_wanted(experiment: Experiment, todo: Wanted) -> dict[str, Inputs]:
    """The collections of development and those that are asked for, checked as far as it needs no index.

    Raises InputError for what cannot be used, a test split that is marked as development among it.
    """
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
