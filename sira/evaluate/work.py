"""The work on one collection: its sketches asked for, its cells finished, its hits counted, its corpus audited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sira.corpora.audit import Audit
from sira.errors import EnvironmentFault
from sira.evaluate.asking import with_live_sketches
from sira.evaluate.config import Experiment
from sira.evaluate.facts import Facts
from sira.evaluate.fingerprint import code_digest
from sira.evaluate.finishing import run_cells
from sira.evaluate.hits import count_hits
from sira.evaluate.indexes import IndexStore
from sira.evaluate.inputs import Inputs, audit_inputs, open_inputs

Tell = Callable[[str], None]
"""Takes a line for each finished cell."""


@dataclass(frozen=True, slots=True)
class Task:
    """What one process does: the systems `names` of one collection of an experiment, as that collection has them.

    `jobs` tasks are at work at once. `audit`: whether the corpus is audited too. `code` is the digest of the code that
    the run began with.
    """

    experiment: Experiment
    collection: str
    names: frozenset[str]
    out: Path
    session: str
    jobs: int = 1
    audit: bool = True
    progress: bool = True
    code: str = field(default_factory=code_digest)


def used_sketches(experiment: Experiment, names: frozenset[str] | None = None) -> set[str]:
    """The names of sketches that these systems (None: all) search with."""
    systems = experiment.systems if names is None else [item for item in experiment.systems if item.name in names]
    return {system.sketches for system in systems if system.sketches is not None}


def work_on(task: Task, tell: Tell, inputs: Inputs | None = None, store: IndexStore | None = None) -> Audit | None:
    """Finish what is missing; `inputs` and `store` are those of the collection, where they are open already. Raises as
    `run_experiment`, and EnvironmentFault where the code is another one than the run began with."""
    if code_digest() != task.code:
        raise EnvironmentFault("the code of sira changed while the run was at work: start it again, it goes on")
    opened = inputs or open_inputs(task.experiment.collection(task.collection))
    store = store or IndexStore(task.out / "indexes", opened.config, opened.collection, progress=task.progress)
    used = used_sketches(task.experiment, task.names)
    opened = with_live_sketches(opened, used, task.out, progress=task.progress)
    facts = Facts(task.experiment, opened, task.out, store)
    cells = run_cells(facts, task.names, task.session, jobs=task.jobs, progress=task.progress)
    count = sum(system.name in task.names for system in task.experiment.systems)
    for number, (cell, known) in enumerate(cells, start=1):
        count_hits(cell, opened.qrels, task.out, progress=task.progress)
        tell(f"{task.collection} {cell.system}: {'was finished' if known else 'finished'} ({number} of {count})")
    return audit_inputs(opened) if task.audit else None
