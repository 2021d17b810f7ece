"""Near-duplicates: texts whose shingles of analysed words are mostly the same (Broder 1997)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

SHINGLE_WORDS = 4
FOLD_WORDS, FOLD_CHARACTERS = 1_000, 8_000
"""Of each text: what differs only behind that is folded, too."""
SAMPLED = 80
"""Of a text of so many shingles, one in eight is looked up."""
LEAST_SHINGLES = 8
"""A text of fewer is like another only if all are the same."""


class Shingles(NamedTuple):
    """Of one text: all of them, and those by which it is looked up."""

    all: frozenset[int]
    some: Sequence[int]


def shingles(terms: Sequence[Hashable]) -> Shingles:
    """The hashed runs of four terms; of a shorter text all terms as one. They are compared within one process only."""
    if len(terms) <= SHINGLE_WORDS:
        own = frozenset([hash(tuple(terms))]) if terms else frozenset[int]()
    else:
        columns = (terms[place:] for place in range(SHINGLE_WORDS))
        own = frozenset(map(hash, zip(*columns, strict=False)))
    return Shingles(own, _some(own))


class ShownTexts:
    """The hits of one ranking that were shown, by their shingles.

    Long texts are looked up by every eighth shingle and compared by all: that two of a similarity of 0.8 share none of
    them has a chance below one in a million.
    """

    def __init__(self) -> None:
        self._shown: dict[str, tuple[int, frozenset[int]]] = {}
        self._holders: dict[int, list[str]] = {}

    def __contains__(self, docid: str) -> bool:
        return docid in self._shown

    def add(self, docid: str, rank: int, own: Shingles) -> None:
        if docid not in self._shown:
            self._shown[docid] = rank, own.all
            for shingle in own.some:
                self._holders.setdefault(shingle, []).append(docid)

    def duplicate_of(self, rank: int, wanted: Shingles, least: float) -> str | None:
        """The docid of the best hit of better rank whose share of common shingles (Jaccard) is at least `least`."""
        own = wanted.all
        bar = 1.0 if len(own) < LEAST_SHINGLES else least
        holders = self._holders
        likely = {docid for shingle in wanted.some if shingle in holders for docid in holders[shingle]}
        alike: list[tuple[int, str]] = []
        for docid in likely:
            other_rank, other = self._shown[docid]
            common = len(own & other)
            if other_rank < rank and common >= bar * (len(own) + len(other) - common):
                alike.append((other_rank, docid))
        return min(alike)[1] if alike else None


def _some(own: frozenset[int]) -> Sequence[int]:
    # texts on both sides of the border share eighths, too: whoever is above looks for these alone
    return tuple(own) if len(own) < SAMPLED else [shingle for shingle in own if not shingle & 7]
