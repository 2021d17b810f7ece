"""Exact search: the k documents of the largest inner product with a topic, by brute force in blocks.

A matrix product of 32-bit floats is fast, but its last bits depend on the shape of the block and on the library, so
that equal vectors may get unequal scores. It serves to leave out what cannot be among the first k; what may be, by a
bound on its error, is scored again in 64-bit floats, one pair at a time. The ranking is therefore a function of the
vectors alone: scores descending, equal scores by docid.
"""

# Some of numpy's own signatures are partly unknown to the type checker.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sira.dense.encoder import Vectors
from sira.dense.vectors import Shard
from sira.records import Ranking

BLOCK_TOPICS = 256

Numbers = NDArray[np.int64]
Scores = NDArray[np.float64]


def docid_order(docids: Sequence[str]) -> Numbers:
    """The place of each docid among all of them when sorted by code point: it decides between equal scores."""
    order = np.empty(len(docids), np.int64)
    order[sorted(range(len(docids)), key=docids.__getitem__)] = np.arange(len(docids))
    return order


def exact_scores(topic: Vectors, documents: Shard) -> Scores:
    """Inner products of one vector with each row, in 64-bit floats: the same for a pair whatever stands beside it."""
    return (documents.astype(np.float64) * topic.astype(np.float64)).sum(axis=1)


class TopK:
    """The best k of one topic so far: numbers of documents and scores, best first."""

    __slots__ = ("k", "numbers", "scores")

    def __init__(self, k: int) -> None:
        self.k = k
        self.numbers: Numbers = np.empty(0, np.int64)
        self.scores: Scores = np.empty(0, np.float64)

    @property
    def bound(self) -> float:
        """The score below which no document gets in any more."""
        return float(self.scores[-1]) if len(self.scores) == self.k else -np.inf

    def add(self, numbers: Numbers, scores: Scores, order: Numbers) -> None:
        numbers, scores = np.concatenate((self.numbers, numbers)), np.concatenate((self.scores, scores))
        best = np.lexsort((order[numbers], -scores))[: self.k]
        self.numbers, self.scores = numbers[best], scores[best]


def search_exact(topics: Vectors, shards: Iterable[Shard], docids: tuple[str, ...], k: int) -> list[Ranking]:
    """The ranking of each topic. In memory stand one shard, its scores for BLOCK_TOPICS topics, and k hits a topic."""
    order = docid_order(docids)
    found = [TopK(k) for _ in topics]
    lengths = np.linalg.norm(topics.astype(np.float64), axis=1)
    start = 0
    for stored in shards:
        documents = np.ascontiguousarray(stored, np.float32)
        error = error_bound(documents)
        for first in range(0, len(topics), BLOCK_TOPICS):
            block = slice(first, first + BLOCK_TOPICS)
            rough = topics[block] @ documents.T
            slack = error * lengths[block]
            bounds = np.array([top.bound for top in found[block]]) - slack
            for row in np.flatnonzero(rough.max(axis=1) >= bounds):
                chosen = np.flatnonzero(rough[row] >= bounds[row])
                if len(chosen) > k:
                    chosen = chosen[rough[row][chosen] >= _kth(rough[row][chosen], k) - 2 * slack[row]]
                scores = exact_scores(topics[first + row], documents[chosen])
                found[first + row].add(chosen + start, scores, order)
        start += len(documents)
    return [ranking_of(top, docids) for top in found]


def ranking_of(top: TopK, docids: tuple[str, ...]) -> Ranking:
    scores: list[float] = top.scores.tolist()
    numbers: list[int] = top.numbers.tolist()
    return Ranking(tuple(docids[number] for number in numbers), tuple(scores))


def _kth(scores: NDArray[Any], k: int) -> float:
    """The k-th largest of more than k scores."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def error_bound(documents: Vectors) -> float:
    """By how much a 32-bit inner product of these documents may be off, for a topic of length 1.

    n u / (1 - n u) times the product of lengths, u = 2^-24, whatever the order of summation (Higham, Accuracy and
    Stability of Numerical Algorithms, section 3.1); twice that, for the bound is compared in 32 bits too.
    """
    steps = (documents.shape[1] + 2) * 2.0**-24
    longest = float(np.sqrt(np.einsum("ij,ij->i", documents, documents).max())) * (1 + steps)
    return 2 * steps / (1 - steps) * longest
