"""Counting in bounded memory: distributions of small numbers, and how often each of many millions of texts occurs."""

# numpy's own signatures of concatenate, split and others are partly unknown to the type checker.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HELD = 1 << 22
"""Digests held in memory (8 bytes each, twice that while they are sorted) before they go to the disk."""
PARTITION_BITS = 6
TIES = 10_000
"""The most candidates for the most common texts: beyond it, which texts of the last equal count are listed is settled
by their digests (arbitrary, the same each time)."""
_BATCH = 1 << 16


def digest(text: str) -> bytes:
    """64 bits of BLAKE2b. Among 10 million texts two share one with a probability of 3 in a million."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


@dataclass(frozen=True, slots=True)
class Distribution:
    """How many items have each value: value -> items, by value."""

    counts: Mapping[int, int]

    @classmethod
    def of(cls, counter: Mapping[int, int]) -> Distribution:
        return cls(dict(sorted(counter.items())))

    @property
    def items(self) -> int:
        return sum(self.counts.values())

    @property
    def sum(self) -> int:
        return sum(value * items for value, items in self.counts.items())

    @property
    def mean(self) -> float | None:
        """None without items."""
        return self.sum / self.items if self.counts else None

    def percentile(self, percent: int) -> int | None:
        """The nearest rank: the smallest value that at least `percent` % of the items do not exceed. None without."""
        needed, seen = self.items * percent, 0
        for value, items in self.counts.items():
            seen += items
            if seen * 100 >= needed:
                return value
        return None


@dataclass(frozen=True, slots=True)
class Repetition:
    """How often texts occur. `over` texts occur more often than the bound, and `over_occurrences` of all are theirs.

    `common` holds the digests of the most frequent texts that occur at least twice, with their counts: those from the
    count of the last one wanted upwards, ties included.
    """

    occurrences: int
    distinct: int
    over: int
    over_occurrences: int
    common: Mapping[bytes, int]


class DigestCounts:
    """Counts texts exactly, up to collisions of their 64-bit digests.

    Digests are gathered in memory, and past HELD of them sorted and spilled into a folder by their first bits (8 bytes
    a text on the disk); the partitions are then counted one after the other.
    """

    def __init__(self, folder: Path, held: int = HELD) -> None:
        self._folder, self._limit = folder, held
        self._waiting: list[bytes] = []
        self._arrays: list[NDArray[np.uint64]] = []
        self._held = 0

    def add(self, texts: Iterable[str]) -> None:
        """Count each of these texts once more."""
        self._waiting += map(digest, texts)
        if len(self._waiting) >= _BATCH:
            self._gather()

    def repetition(self, top: int, bound: int) -> Repetition:
        """The counts of all that was added; `top` is the number of common texts wanted."""
        occurrences = distinct = over = over_occurrences = 0
        values, counts = np.empty(0, np.uint64), np.empty(0, np.int64)
        least = 2
        for part in self._partitions():
            starts = np.flatnonzero(np.concatenate(([True], part[1:] != part[:-1])))
            runs = np.diff(starts, append=len(part))
            occurrences, distinct = occurrences + len(part), distinct + len(runs)
            above = runs > bound
            over, over_occurrences = over + int(above.sum()), over_occurrences + int(runs[above].sum())
            if top:
                kept = runs >= least
                values = np.concatenate((values, part[starts[kept]]))
                counts = np.concatenate((counts, runs[kept]))
                order = np.lexsort((values, -counts))[:TIES]
                values, counts = values[order], counts[order]
                least = max(least, int(counts[top - 1])) if len(counts) >= top else least
        common = {int(v).to_bytes(8, "little"): int(c) for v, c in zip(values, counts, strict=True) if c >= least}
        return Repetition(occurrences, distinct, over, over_occurrences, common)

    def _gather(self) -> None:
        if self._waiting:
            self._arrays.append(np.frombuffer(b"".join(self._waiting), "<u8").astype(np.uint64, copy=False))
            self._held += len(self._waiting)
            self._waiting = []
        if self._held > self._limit:
            for file, part in self._sorted():
                with file.open("ab") as stream:
                    part.tofile(stream)
            self._arrays, self._held = [], 0

    def _sorted(self) -> Iterator[tuple[Path, NDArray[np.uint64]]]:
        """What is held, cut by the first bits: the file of each partition and its digests, ascending."""
        values = np.concatenate((np.empty(0, np.uint64), *self._arrays))
        values.sort()
        borders = np.arange(1, 1 << PARTITION_BITS, dtype=np.uint64) << np.uint64(64 - PARTITION_BITS)
        for number, part in enumerate(np.split(values, np.searchsorted(values, borders))):
            yield self._folder / f"{number:02}.digests", part

    def _partitions(self) -> Iterator[NDArray[np.uint64]]:
        """All that was added, a partition at a time, ascending; none is empty."""
        self._gather()
        for file, part in self._sorted():
            if file.exists():
                part = np.concatenate((part, np.fromfile(file, np.uint64)))
                part.sort()
            if len(part):
                yield part


def tally(counter: Counter[str]) -> dict[str, int]:
    """By count, the largest first, then by name."""
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
