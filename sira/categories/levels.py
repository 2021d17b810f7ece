"""Breadth-first levels below the roots, and the final marks of the categories."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from sira.categories.arrays import Array, Strings, load, save
from sira.categories.parts import HIDDEN, MAINTENANCE
from sira.categories.rules import Rules

UNREACHED = -1


def neighbours(starts: Array, lists: Array, nodes: Array) -> Array:
    """The lists of the nodes, one after the other."""
    begins = np.asarray(starts[nodes])
    sizes = np.asarray(starts[nodes + 1]) - begins
    total = int(sizes.sum())
    if total == 0:
        return np.empty(0, np.int64)
    offsets = np.repeat(begins - (np.cumsum(sizes) - sizes), sizes) + np.arange(total)
    return np.asarray(lists[offsets]).astype(np.int64)


def breadth_first(starts: Array, lists: Array, roots: Sequence[int]) -> Array:
    """The level of each node: 0 for the roots, else 1 more than that of its nearest parent; -1 if out of reach.

    Cycles do no harm: a node keeps the level at which it was met first.
    """
    levels = np.full(len(starts) - 1, UNREACHED, np.int32)
    front, level = np.unique(np.array(roots, np.int64)), 0
    while len(front):
        levels[front] = level
        found = np.unique(neighbours(starts, lists, front))
        front = found[levels[found] == UNREACHED]
        level += 1
    return levels


def write_levels(
    graph: Path, folder: Path, roots: Sequence[int], rules: Rules, number: Callable[[str], int | None]
) -> dict[str, int]:
    """Write levels and marks of a graph into the folder; what was found, by kind. `number` finds a name's category."""
    starts, lists = np.array(load(graph / "children_starts.i8")), load(graph / "children.i4")
    levels = breadth_first(starts, lists, roots)
    marks = np.array(load(graph / "marks.u1"))
    for name in rules.file.hidden_parents:
        parent = number(name)
        if parent is not None:
            marks[neighbours(starts, lists, np.array([parent]))] |= HIDDEN
    for index, name in enumerate(Strings(graph / "names")):
        if rules.is_maintenance(name.decode()):
            marks[index] |= MAINTENANCE
    save(folder / "levels.i4", levels)
    save(folder / "marks.u1", marks)
    return {
        "reached": int(np.count_nonzero(levels >= 0)),
        "deepest level": int(levels.max(initial=UNREACHED)),
        "hidden": int(np.count_nonzero(marks & HIDDEN)),
        "maintenance": int(np.count_nonzero(marks & MAINTENANCE)),
    }
