"""`sira run --dry-run`: the cells of an experiment with the calls, tokens and price that they will take.

No model is opened, no index built, nothing searched or written. Whether a cell is finished is told by the fingerprint
that a run would give it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sira.evaluate.asking import with_kept_sketches
from sira.evaluate.cells import Cell
from sira.evaluate.config import Experiment, LiveSketches
from sira.evaluate.expected import EXPECTED, Asking, Calls, nothing, reranking, sketches
from sira.evaluate.facts import Facts
from sira.evaluate.filters import wanted
from sira.evaluate.finishing import finished_cells
from sira.evaluate.indexes import IndexStore
from sira.evaluate.inputs import Inputs
from sira.evaluate.opening import open_wanted
from sira.evaluate.pricing import Amount, added, spent_at
from sira.evaluate.selection import Choice, choose, on_collection
from sira.evaluate.system_config import SystemConfig
from sira.evaluate.work import used_sketches
from sira.llm import Usage
from sira.llm.prices import price_of
from sira.tables import text_table


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One cell. `calls` are to be made, `held` replies lie in the results folder; of the calls `unseen` have prompts
    that are not known before a search, so that some of their replies may be held too. Tokens and price are of the
    calls, at most; the price is None where it is not known."""

    collection: str
    system: str
    topics: int
    finished: bool
    calls: int
    held: int
    unseen: int
    usage: Usage
    price: Amount | None


@dataclass(frozen=True, slots=True)
class Plan:
    """All cells that would be looked at, in the order of collections and systems; `notes`, a line each."""

    rows: tuple[PlanRow, ...]
    notes: tuple[str, ...]


def plan_experiment(
    experiment: Experiment,
    out: Path | None = None,
    *,
    systems: Sequence[str] | None = None,
    collections: Sequence[str] | None = None,
) -> Plan:
    """Count what `run_experiment` would ask; without `out` as in a new folder. Raises InputError as that does."""
    todo = wanted(experiment, systems, collections)
    opened = open_wanted(experiment, todo)
    folder = _Folder(experiment, out, opened)
    choices = folder.choices()
    rows: list[PlanRow] = []
    for name, names in todo.systems.items():
        rows += _rows(experiment, opened[name], names, (folder.finished(name, choices), out))
    notes = [*todo.also]
    notes += [
        f"{grid.system}: one row is selected when all of them are finished on development; the others cost as much"
        for grid in experiment.selecting
        if grid.system not in choices and any(grid.system in names for names in todo.systems.values())
    ]
    asked = {name for names in todo.systems.values() for name in names}
    notes += [
        f'{system.name}: what kind = "{system.kind}" asks its model is not counted'
        for system in experiment.systems
        if system.name in asked and system.kind not in EXPECTED
    ]
    return Plan(tuple(rows), tuple(notes))


@dataclass(slots=True)
class _Folder:
    """What a results folder holds; nothing without one."""

    experiment: Experiment
    out: Path | None
    opened: Mapping[str, Inputs]
    stores: dict[str, IndexStore] = field(default_factory=dict[str, IndexStore])

    def choices(self) -> Mapping[str, Choice]:
        if self.out is None or not self.experiment.selecting:
            return {}
        names = [item.name for item in self.experiment.collections if item.development and item.name in self.opened]
        return choose(self.experiment, [(self.opened[name], self.finished(name, {})) for name in names], self.out)

    def finished(self, name: str, choices: Mapping[str, Choice]) -> Mapping[str, Cell]:
        """The finished cells of a collection by system."""
        if self.out is None or not any((self.out / "runs" / name).glob("*.json")):
            return {}
        opened = self.opened[name]
        if name not in self.stores:
            self.stores[name] = IndexStore(self.out / "indexes", opened.config, opened.collection, progress=False)
        view = on_collection(self.experiment, name, choices)
        inputs = with_kept_sketches(opened, used_sketches(view), self.out)
        return finished_cells(Facts(view, inputs, self.out, self.stores[name]))


def _rows(
    experiment: Experiment, inputs: Inputs, names: frozenset[str], there: tuple[Mapping[str, Cell], Path | None]
) -> Iterator[PlanRow]:
    finished, out = there
    replies = None if out is None else out / "replies"
    counted: set[str] = set()
    for system in experiment.systems:
        if system.name not in names:
            continue
        done = system.name in finished and not finished[system.name].unanswered
        found: list[Calls] = []
        asked = None if system.sketches is None else inputs.config.sketches[system.sketches]
        # A run asks for the sketches of finished cells too, all of which it then holds.
        if isinstance(asked, LiveSketches) and system.sketches not in counted:
            counted.add(str(system.sketches))
            found.append(sketches(asked, inputs.topics, replies))
        if not done:
            found += _own(system, inputs, replies)
        yield _row(inputs, system.name, done, found)


def _own(system: SystemConfig, inputs: Inputs, replies: Path | None) -> Iterator[Calls]:
    yield from EXPECTED.get(system.kind, nothing)(Asking(system, inputs.topics, replies))
    if system.rerank is not None:
        yield reranking(system.rerank, inputs.topics)


def _row(inputs: Inputs, system: str, done: bool, found: Iterable[Calls]) -> PlanRow:
    found = list(found)
    return PlanRow(
        inputs.config.name,
        system,
        len(inputs.topics),
        done,
        sum(item.calls for item in found),
        sum(item.held for item in found),
        sum(item.unseen for item in found),
        sum((item.usage for item in found), Usage()),
        added(spent_at(item.usage, price_of(item.model)) for item in found if item.calls),
    )


def plan_text(plan: Plan) -> str:
    """The plan as a table with a total, and what must be known to read it."""
    rows = [
        [
            row.collection,
            row.system,
            str(row.topics),
            "finished" if row.finished else "to run",
            str(row.calls),
            str(row.held) + ("+?" if row.unseen else ""),
            str(row.usage.prompt_tokens),
            str(row.usage.completion_tokens),
            "-" if row.price is None else str(row.price),
        ]
        for row in plan.rows
    ]
    usage = sum((row.usage for row in plan.rows), Usage())
    unknown = sum(row.price is None for row in plan.rows)
    price = added(row.price for row in plan.rows if row.price is not None)
    told = "-" if price is None else str(price) + (f", {unknown} not known" if unknown else "")
    total = [
        "total",
        f"{len(plan.rows)} cells",
        "",
        f"{sum(not row.finished for row in plan.rows)} to run",
        str(sum(row.calls for row in plan.rows)),
        str(sum(row.held for row in plan.rows)) + ("+?" if any(row.unseen for row in plan.rows) else ""),
        str(usage.prompt_tokens),
        str(usage.completion_tokens),
        told,
    ]
    head = ["collection", "system", "topics", "state", "calls", "held", "tokens in", "tokens out", "price"]
    lines = [
        "Calls are to be made; held replies lie in the results folder. Tokens in: characters of the prompts / 4, "
        "documents at their cut; tokens out: the bound of the replies.",
        *(["+?: prompts that need a search first; all count as calls."] if any(r.unseen for r in plan.rows) else []),
        *(["-: the price of the model is not known: set [model.price] in its file."] if unknown else []),
        *plan.notes,
    ]
    return text_table(head, [*rows, total]) + "\n" + "".join(f"{line}\n" for line in lines)
