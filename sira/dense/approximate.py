"""Search by faiss (Douze et al. 2024, arXiv 2401.08281): exact as `Flat`, approximate by any other factory string.

faiss finds the documents; their scores are made again as in exact search, so that a document has the same score
whichever index found it, and equal scores stand by docid.
"""

# Some of numpy's own signatures are partly unknown to the type checker.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from sira.dense.encoder import Vectors
from sira.dense.exact import BLOCK_TOPICS, Numbers, TopK, docid_order, error_bound, exact_scores, ranking_of
from sira.dense.vectors import Shard, VectorStore
from sira.errors import EnvironmentFault, InputError
from sira.records import Ranking

FLAT = "Flat"
SLACK = 100
"""Hits beyond k that are asked of faiss at first: it breaks ties at the cut by the order of the corpus, and rounds."""
TRAINING_VECTORS = 262_144


def search_faiss(
    topics: Vectors, store: VectorStore, k: int, factory: str = FLAT, parameters: str | None = None
) -> list[Ranking]:
    """The ranking of each topic by an index that `faiss.index_factory` makes, over inner products.

    `parameters` are those of its search, such as `nprobe=32` or `efSearch=128`. The index stands in memory: the vectors
    in 32 bits, unless the factory packs them. Fewer than k hits come where it finds no more.
    Raises InputError for strings that faiss does not take, EnvironmentFault where faiss is not installed.
    """
    faiss = _library()
    index = _index(faiss, store, factory)
    error = 0.0
    for shard in store.shards():
        vectors = _packed(shard)
        error = max(error, error_bound(vectors))
        index.add(vectors)
    if parameters is not None:
        _set(faiss, index, parameters)
    hits: list[Numbers] = []
    for first in range(0, len(topics), BLOCK_TOPICS):
        hits += _hits(index, topics[first : first + BLOCK_TOPICS], k, error)
    return _ranked(topics, hits, store, k)


def _hits(index: Any, topics: Vectors, k: int, error: float) -> list[Numbers]:
    """For each topic the numbers of its documents, best first: more than k, up to where scores differ from that of the
    k-th by more than their error; -1 where the index finds no more."""
    wanted = min(index.ntotal, k + SLACK)
    scores, numbers = index.search(topics, wanted)
    found: list[Numbers] = list(numbers)
    rows = np.arange(len(topics))
    slack = 2 * error * np.linalg.norm(topics, axis=1)
    while wanted < index.ntotal:
        rows = rows[(numbers[:, -1] >= 0) & (scores[:, -1] >= scores[:, k - 1] - slack[rows])]
        if not len(rows):
            break
        wanted = min(index.ntotal, 2 * wanted)
        scores, numbers = index.search(topics[rows], wanted)
        for row, one in zip(rows, numbers, strict=True):
            found[row] = one
    return found


def _library() -> Any:
    try:
        return import_module("faiss")
    except ModuleNotFoundError:
        raise EnvironmentFault(
            "faiss is not installed here: `pip install faiss-cpu`, or leave out --index faiss: exact search needs none"
        ) from None


def _index(faiss: Any, store: VectorStore, factory: str) -> Any:
    dimension, documents = store.manifest["counts"]["dimension"], len(store.docids)
    try:
        index = faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)
        if not index.is_trained:
            index.train(_sample(store, documents))
    except RuntimeError as error:
        raise InputError(
            f"--faiss-factory {factory!r}: faiss does not take it for {documents} vectors of {dimension} numbers "
            f"({_reason(error)})"
        ) from None
    return index


def _set(faiss: Any, index: Any, parameters: str) -> None:
    try:
        faiss.ParameterSpace().set_index_parameters(index, parameters)
    except RuntimeError as error:
        raise InputError(f"--faiss-parameters {parameters!r}: this index does not take it ({_reason(error)})") from None


def _reason(error: RuntimeError) -> str:
    """faiss' own words without the place in its source."""
    return " ".join(str(error).split()).rpartition("failed: ")[2][:200]


def _sample(store: VectorStore, documents: int) -> Vectors:
    """At most TRAINING_VECTORS vectors, evenly spread over the corpus."""
    step = math.ceil(documents / TRAINING_VECTORS)
    return np.concatenate([_packed(shard[::step]) for shard in store.shards()])


def _packed(vectors: Shard) -> Vectors:
    return np.ascontiguousarray(vectors, np.float32)


def _ranked(topics: Vectors, hits: Sequence[Numbers], store: VectorStore, k: int) -> list[Ranking]:
    """The first k of each topic's hits (numbers of documents; -1: none) by their exact scores."""
    docids = store.docids
    order = docid_order(docids)
    found = [TopK(k) for _ in topics]
    start = 0
    for shard in store.shards():
        end = start + len(shard)
        for row, top in enumerate(found):
            numbers = np.sort(hits[row][(hits[row] >= start) & (hits[row] < end)])
            if len(numbers):
                top.add(numbers, exact_scores(topics[row], shard[numbers - start]), order)
        start = end
    return [ranking_of(top, docids) for top in found]
