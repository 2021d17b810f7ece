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
    mask = np.zeros(len(values), dtype=np.bool_)
    mask[np.unique(values, return_index=True)[1]] = True
    return mask


def find(values: Hashes, among: Hashes) -> npt.NDArray[np.intp]:
    """For each of `values` its place in `among` (distinct values in any order), or -1."""
    if not len(among):
        return np.full(len(values), -1, dtype=np.intp)
    order = np.argsort(among, kind="stable")
    at = np.searchsorted(among[order], values)
    at[at == len(order)] = 0
    places = order[at]
    places[among[places] != values] = -1
    return places


def first_true(mask: Mask) -> int:
    return int(np.argmax(mask))


def count(mask: Mask) -> int:
    return int(np.count_nonzero(mask))


def where(mask: Mask) -> npt.NDArray[np.intp]:
    """The places that a mask marks."""
    return np.flatnonzero(mask)
