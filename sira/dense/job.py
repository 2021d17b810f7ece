"""The whole path: a collection's documents and topics through an encoder into a TREC run, and its facts beside it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sira import __version__
from sira.corpora.collection import Collection
from sira.corpora.files import replacing
from sira.corpora.trec_writer import RunWriter
from sira.dense.approximate import FLAT, search_faiss
from sira.dense.encoder import Encoder
from sira.dense.encoding import Encoded, VectorSettings, encode_documents
from sira.dense.exact import search_exact
from sira.dense.vectors import VectorStore
from sira.errors import DuplicateIdError, InputError
from sira.records import Ranking, Topic


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """`k` hits a topic, one more where the collection does not count a document whose docid is the qid. `factory` and
    `parameters` are faiss' own strings."""

    k: int = 1000
    index: Literal["exact", "faiss"] = "exact"
    factory: str = FLAT
    parameters: str | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k = {self.k}: give 1 or more")
        if self.index == "exact" and (self.factory != FLAT or self.parameters is not None):
            raise InputError("--faiss-factory and --faiss-parameters belong to --index faiss")


VECTORS, SEARCH = VectorSettings(), SearchSettings()


@dataclass(frozen=True, slots=True)
class Places:
    """Where the run goes, under which tag, and where its vectors lie."""

    run: Path
    tag: str
    vectors: Path

    @property
    def facts(self) -> Path:
        return self.run.with_suffix(".json")

    def check(self) -> None:
        """Raises InputError for a run that cannot be written where it is to go."""
        if self.run.is_dir() or not self.run.parent.is_dir():
            raise InputError(f"{self.run}: give the name of a file in a folder that is there")
        if self.facts == self.run:
            raise InputError(f"{self.run}: {self.facts.name} is the name of the facts beside it: call the run .trec")


def run_dense(
    collection: Collection,
    topics: Sequence[Topic],
    encoder: Encoder,
    places: Places,
    *,
    vectors: VectorSettings = VECTORS,
    search: SearchSettings = SEARCH,
    progress: bool = True,
) -> dict[str, Any]:
    """Encode what is not encoded yet, search, and write run and facts; the facts.

    A blank topic gets no ranking. Raises as `encode_documents` and `search_faiss`, and InputError for topics that
    cannot make a run.
    """
    places.check()
    asked = _checked(topics, collection)
    done = encode_documents(collection, encoder, places.vectors, vectors, progress=progress)
    store = VectorStore(places.vectors)
    depth = search.k + collection.ignore_self_hits
    started = time.perf_counter()
    texts = encoder.topics([topic.text for topic in asked])
    encoded = time.perf_counter()
    rankings = _search(texts, store, depth, search)
    searched = time.perf_counter()
    with RunWriter(places.run, places.tag) as writer:
        for topic, ranking in zip(asked, rankings, strict=True):
            writer.write(topic.qid, ranking)
    facts = {
        "schema_version": 1,
        "sira": __version__,
        "run": {
            "tag": places.tag,
            "collection": collection.source,
            "split": collection.split,
            "topics": len(asked),
            "blank_topics": len(topics) - len(asked),
            "hits": sum(map(len, rankings)),
            "depth": depth,
            "self_hits_to_be_removed": collection.ignore_self_hits,
        },
        "search": asdict(search),
        "model": {**encoder.identity, **encoder.facts},
        "vectors": _vectors(store, vectors, done),
        "seconds": {
            "documents": round(done.seconds, 3),
            "topics": round(encoded - started, 3),
            "search": round(searched - encoded, 3),
        },
    }
    with replacing(places.facts) as stream:
        json.dump(facts, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    return facts


def _checked(topics: Sequence[Topic], collection: Collection) -> list[Topic]:
    """The topics that have a text."""
    twice = [qid for qid, times in Counter(topic.qid for topic in topics).items() if times > 1]
    if twice:
        raise DuplicateIdError(f"the qid {twice[0]!r} stands twice among the topics: make the qids unique")
    asked = [topic for topic in topics if topic.text.strip()]
    if not asked:
        raise InputError(f"{collection.source}: has no topics: give --topics FILE")
    return asked


def _search(topics: Any, store: VectorStore, depth: int, search: SearchSettings) -> list[Ranking]:
    if search.index == "faiss":
        return search_faiss(topics, store, depth, search.factory, search.parameters)
    return search_exact(topics, store.shards(), store.docids, depth)


def _vectors(store: VectorStore, settings: VectorSettings, done: Encoded) -> dict[str, Any]:
    return {
        "counts": store.manifest["counts"],
        "settings": asdict(settings),
        "bytes": store.bytes,
        "corpus": store.manifest["identity"]["corpus"],
        "made_with": store.manifest["made_with"],
        "encoded_now": done.documents,
        "documents_per_second": round(done.documents / done.seconds, 2) if done.documents else None,
    }
