"""Which cells of an experiment one run is asked for: by names of systems and of collections."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sira.errors import InputError
from sira.evaluate.config import Experiment


@dataclass(frozen=True, slots=True)
class Wanted:
    """The systems to run by collection, in the order of the file; `first` are those by which a grid selects, on
    collections of development, which have to be run before the others. `also` says what is run beside what was asked
    for, a line each."""

    systems: Mapping[str, frozenset[str]]
    first: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    also: tuple[str, ...] = ()


def wanted(
    experiment: Experiment, systems: Sequence[str] | None = None, collections: Sequence[str] | None = None
) -> Wanted:
    """Everything (None), or what is asked for by name with what that takes: the baseline, the parts of fused systems,
    and the rows by which a grid selects. Raises InputError for an unknown name, listing those that are known."""
    candidates = {grid.system: frozenset(grid.rows()) for grid in experiment.selecting}
    every = [item.name for item in experiment.systems]
    asked = _known("--systems", "systems", systems, every)
    chosen = _known("--collections", "collections", collections, [item.name for item in experiment.collections])
    with_parts = _with_parts(experiment, {*asked, experiment.baseline})
    bases = [base for base in candidates if base in with_parts]
    by_bases = _with_parts(experiment, {name for base in bases for name in candidates[base]})
    rows = frozenset(name for names in candidates.values() for name in names)
    development = [item.name for item in experiment.collections if item.development]
    found: dict[str, frozenset[str]] = {}
    for item in experiment.collections:
        if item.name in chosen:
            found[item.name] = with_parts | by_bases if item.development else with_parts - rows
        elif item.development and by_bases:
            found[item.name] = by_bases
    also = _also(experiment, with_parts - frozenset(asked)) if systems is not None else []
    if by_bases and (more := [name for name in development if name not in chosen]):
        also.append(f"{', '.join(more)}: the rows by which a grid selects are searched there")
    return Wanted(found, dict.fromkeys(development, by_bases) if by_bases else {}, tuple(also))


def _known(option: str, what: str, names: Sequence[str] | None, known: Sequence[str]) -> Collection[str]:
    if names is None:
        return known
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"{option} {unknown[0]!r}: the experiment has the {what} {', '.join(known)}")
    if not names:
        raise InputError(f"{option}: name one or more of {', '.join(known)}")
    return names


def _with_parts(experiment: Experiment, names: Iterable[str]) -> frozenset[str]:
    """The systems and the parts of those that are fused; parts stand before what is fused of them."""
    found = set(names)
    for system in reversed(experiment.systems):
        if system.name in found:
            found |= set(system.of)
    return frozenset(found)


def _also(experiment: Experiment, names: frozenset[str]) -> list[str]:
    parts = [item.name for item in experiment.systems if item.name in names - {experiment.baseline}]
    lines = [f"{experiment.baseline}: the baseline, is run too"] if experiment.baseline in names else []
    return [*lines, f"{', '.join(parts)}: parts of fused systems, are run too"] if parts else lines
