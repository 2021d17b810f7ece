"""Search by faiss, where it is installed: flat is exact; other indexes are approximate."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sira.corpora.collection import open_collection
from sira.dense.approximate import SLACK, search_faiss
from sira.dense.encoder import Vectors
from sira.dense.encoding import VectorSettings, encode_documents
from sira.dense.exact import search_exact
from sira.dense.vectors import VectorStore
from sira.errors import EnvironmentFault, InputError
from tests.dense.stand_in import WordEncoder, write_collection

installed = importlib.util.find_spec("faiss") is not None
needs_faiss = pytest.mark.skipif(
    not installed, reason="faiss is not installed here: scripts/set-up-dense makes .venv-dense"
)


def encoded(folder: Path, same: int) -> VectorStore:
    source = write_collection(folder / "pots", 600, same=same)
    encoder = WordEncoder(32)
    encode_documents(open_collection(f"beir:{source}"), encoder, folder / "v", VectorSettings(130), progress=False)
    return VectorStore(folder / "v")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> VectorStore:
    """600 documents, of which 120 have the same vector: more than are asked for beyond k."""
    assert SLACK < 120
    return encoded(tmp_path_factory.mktemp("ties"), same=5)


def topics(count: int = 9) -> Vectors:
    return WordEncoder(32).topics([f"word{number} word{number + 7} the" for number in range(count)])


@needs_faiss
@pytest.mark.parametrize("k", [1, 20, 50, 700])
def test_flat_equals_exact_search_with_ties(store: VectorStore, k: int) -> None:
    wanted = search_exact(topics(), store.shards(), store.docids, k)
    assert search_faiss(topics(), store, k) == wanted


@needs_faiss
@pytest.mark.parametrize(("factory", "parameters"), [("IVF8,Flat", "nprobe=8"), ("HNSW16", "efSearch=600")])
def test_an_approximate_index_that_looks_everywhere_finds_nearly_all(
    tmp_path: Path, factory: str, parameters: str
) -> None:
    store = encoded(tmp_path, same=0)
    wanted = search_exact(topics(), store.shards(), store.docids, 10)
    found = search_faiss(topics(), store, 10, factory, parameters)
    common = [len(set(one.docids) & set(other.docids)) for one, other in zip(wanted, found, strict=True)]
    assert np.mean(common) > 9
    exact_scores = {docid: score for ranking in wanted[:1] for docid, score, _ in ranking}
    assert all(score == exact_scores[docid] for docid, score, _ in found[0] if docid in exact_scores)


@needs_faiss
@pytest.mark.parametrize(
    ("factory", "parameters", "fault"),
    [
        ("nonsense", None, "--faiss-factory 'nonsense'"),
        ("IVF4096,Flat", None, "--faiss-factory 'IVF4096,Flat': faiss does not take it for 600 vectors"),
        ("Flat", "nprobe=4", "--faiss-parameters 'nprobe=4'"),
    ],
)
def test_what_faiss_does_not_take_is_one_error(
    store: VectorStore, factory: str, parameters: str | None, fault: str
) -> None:
    with pytest.raises(InputError) as caught:
        search_faiss(topics(), store, 5, factory, parameters)
    assert str(caught.value).startswith(fault)


@pytest.mark.skipif(installed, reason="faiss is installed here")
def test_without_faiss_the_remedy_is_named(store: VectorStore) -> None:
    with pytest.raises(EnvironmentFault, match="pip install faiss-cpu"):
        search_faiss(topics(), store, 5)
