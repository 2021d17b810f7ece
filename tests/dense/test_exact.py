"""Exact search equals brute force, ties and all, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest

from sira.dense import exact
from sira.dense.encoder import Vectors
from sira.dense.exact import docid_order, search_exact
from sira.records import Ranking


def brute_force(topics: Vectors, documents: Vectors, docids: tuple[str, ...], k: int) -> list[Ranking]:
    wide = documents.astype(np.float64)
    return [
        Ranking.from_scores(dict(zip(docids, (wide * topic.astype(np.float64)).sum(axis=1), strict=True))).top(k)
        for topic in topics
    ]


def sample(seed: int, documents: int, dimension: int = 24) -> tuple[Vectors, Vectors, tuple[str, ...]]:
    """Topics, documents of which many are equal, and docids whose order is not that of the corpus."""
    rng = np.random.default_rng(seed)
    distinct = rng.standard_normal((max(1, documents // 3), dimension)).astype(np.float32)
    found = distinct[rng.integers(0, len(distinct), documents)]
    docids = tuple(f"d{number}" for number in rng.permutation(documents))
    return rng.standard_normal((7, dimension)).astype(np.float32), found, docids


@pytest.mark.parametrize("k", [1, 10, 150, 1000])
@pytest.mark.parametrize("rows", [1, 7, 64, 400])
def test_equals_brute_force_with_ties_in_blocks_of_any_size(k: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BLOCK_TOPICS", 3)
    topics, documents, docids = sample(k + rows, 400)
    shards = [documents[start : start + rows] for start in range(0, len(documents), rows)]
    found = search_exact(topics, shards, docids, k)
    assert found == brute_force(topics, documents, docids, k)
    assert all(len(ranking) == min(k, 400) for ranking in found)


def test_ties_at_the_cut_go_by_docid_and_not_by_place() -> None:
    documents = np.ones((6, 4), np.float32)
    docids = ("f", "b", "e", "a", "d", "c")
    (ranking,) = search_exact(np.ones((1, 4), np.float32), [documents[:4], documents[4:]], docids, 3)
    assert ranking == Ranking(("a", "b", "c"), (4.0, 4.0, 4.0))


def test_scores_that_32_bits_cannot_tell_apart_are_ordered_in_64() -> None:
    # The sum of products is 1 + tiny: equal in 32 bits, whatever the order of summation.
    topics = np.array([[1.0, 1.0]], np.float32)
    documents = np.array([[1.0, 1e-9], [1.0, 3e-9], [1.0, 2e-9]], np.float32)
    (ranking,) = search_exact(topics, [documents], ("a", "b", "c"), 2)
    assert ranking.docids == ("b", "c")


def test_half_precision_vectors_are_searched_as_they_are_stored() -> None:
    topics, documents, docids = sample(3, 200)
    stored = documents.astype(np.float16)
    assert search_exact(topics, [stored[:90], stored[90:]], docids, 20) == brute_force(
        topics, stored.astype(np.float32), docids, 20
    )


def test_vectors_of_very_different_lengths() -> None:
    topics, documents, docids = sample(5, 300)
    documents = documents * np.logspace(-6, 6, 300, dtype=np.float32)[:, None]
    shards = [documents[start : start + 50] for start in range(0, 300, 50)]
    assert search_exact(topics, shards, docids, 40) == brute_force(topics, documents, docids, 40)


def test_the_order_of_docids_is_by_code_point() -> None:
    assert list(docid_order(("b", "a", "B", "é"))) == [2, 1, 0, 3]
