"""The few array operations of a shard's bookkeeping: as Python integers, rows would take ten times the room."""

# numpy's own signatures of frombuffer, unique and argmax are partly unknown to the type checker.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


def hashes(values: array[int]) -> Hashes:
    """A growing array of type Q, as numpy sees it; the array must not grow afterwards."""
    return np.frombuffer(values, dtype=np.uint64)


def first_of_each(values: Hashes) -> Mask:
    """Marks the first occurrence of each value."""
    ordered = np.sort(values)
    if not (ordered[1:] == ordered[:-1]).any():  # as nearly always: without the arrays that finding the first takes
        return np.ones(len(values), dtype=np.bool_)
    mask = np.zeros(len(values), dtype=np.bool_)
    mask[np.unique(values, return_index=True)[1]] = True
    return mask


def find(values: Hashes, among: Hashes) -> npt.NDArray[np.intp]:
    """For each of `values` its place in `among` (distinct values in any order), or -1."""
    if not len(among):
        return np.full(len(values), -1, dtype=np.intp)
    order = np.argsort(among)
    places = np.searchsorted(among, values, sorter=order)
    places[places == len(order)] = 0
    places = order[places]
    places[among[places] != values] = -1
    return places


def first_true(mask: Mask) -> int:
    return int(np.argmax(mask))


def where_marked(values: Hashes, mask: Mask) -> Hashes:
    """The marked values; the same array where all are."""
    return values if mask.all() else values[mask]


def count(mask: Mask) -> int:
    return int(np.count_nonzero(mask))


def where(mask: Mask) -> npt.NDArray[np.intp]:
    """The places that a mask marks."""
    return np.flatnonzero(mask)
