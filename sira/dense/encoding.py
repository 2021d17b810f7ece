"""The documents of a collection into a store of vectors, shard by shard; killed at any instant, it goes on."""

# Some of numpy's own signatures are partly unknown to the type checker.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tqdm import tqdm

from sira.corpora.collection import Collection, corpus_files
from sira.dense.encoder import Encoder, Vectors
from sira.dense.vectors import VectorStore, digest_of
from sira.errors import DuplicateIdError, EnvironmentFault, InputError
from sira.folders import owned
from sira.records import Skip

DType = Literal["float32", "float16"]
Duplicates = Literal["refuse", "keep-first"]

SHARD_DOCUMENTS = 1000


@dataclass(frozen=True, slots=True)
class VectorSettings:
    """`dtype` is that of the file: float16 halves it and rounds each number to 11 bits. A kill costs at most the work
    on one shard of `shard_documents`."""

    shard_documents: int = SHARD_DOCUMENTS
    dtype: DType = "float32"
    duplicates: Duplicates = "refuse"

    def __post_init__(self) -> None:
        if self.shard_documents < 1:
            raise InputError(f"{self.shard_documents} documents a shard: give 1 or more")


@dataclass(slots=True)
class Encoded:
    """What a call did: documents that it encoded and the seconds that took, reading and writing among them."""

    documents: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Reader:
    """The texts of a corpus, with counts of what was left out. Docids stand in memory, to find those that come
    twice."""

    collection: Collection
    duplicates: Duplicates
    counts: Counter[str] = field(default_factory=Counter[str])
    seen: set[str] = field(default_factory=set[str])

    def texts(self) -> Iterator[tuple[str, str]]:
        """(docid, title and text as one), in the order of the corpus."""
        for place, record in self.collection.documents():
            if isinstance(record, Skip):
                self.counts["skipped"] += 1
            elif record.docid in self.seen:
                if self.duplicates == "refuse":
                    raise DuplicateIdError(
                        f"{place}: the docid {record.docid!r} stood there before: make it unique, or choose keep-first "
                        "for duplicates"
                    )
                self.counts["duplicates"] += 1
            else:
                self.seen.add(record.docid)
                self.counts["empty"] += not record.contents.strip()
                yield record.docid, record.contents


def encode_documents(
    collection: Collection, encoder: Encoder, folder: Path, settings: VectorSettings, *, progress: bool = True
) -> Encoded:
    """Fill the store in `folder` with the vectors of a collection's documents, from the first shard that is missing.

    Shards that are there are checked against the texts of the corpus, so that vectors of an earlier state of it are
    found out. A store that is whole is left as it is, without reading a corpus whose files are the same.
    Raises InputError for a store of other making, a corpus without documents and vectors that are not finite;
    DuplicateIdError.
    """
    done = Encoded()
    with owned(folder):
        store = VectorStore(folder)
        store.open(_identity(collection, encoder, settings), encoder.facts)
        if store.manifest["counts"] is not None:
            return done
        reader = _Reader(collection, settings.duplicates)
        texts = reader.texts()
        number = 0
        with tqdm(desc="documents", unit=" documents", disable=not progress, leave=False) as bar:
            while part := list(islice(texts, settings.shard_documents)):
                docids, contents = [docid for docid, _ in part], [text for _, text in part]
                digest = digest_of([*docids, *contents])
                if store.has(number):
                    _check_shard(store, number, docids, digest)
                else:
                    started = time.perf_counter()
                    vectors = _checked(encoder.documents(contents), docids, encoder.dimension, settings.dtype)
                    store.write(number, docids, digest, vectors)
                    done.seconds += time.perf_counter() - started
                    done.documents += len(part)
                bar.update(len(part))
                number += 1
        if not reader.seen:
            raise InputError(f"{collection.source}: has no documents")
        counts = {name: reader.counts[name] for name in ("empty", "skipped", "duplicates")}
        store.finish(
            {"documents": len(reader.seen), "dimension": encoder.dimension, "shards": number, **counts},
        )
    return done


def _identity(collection: Collection, encoder: Encoder, settings: VectorSettings) -> dict[str, Any]:
    return {
        "corpus": _corpus(collection),
        "text": collection.text_rule,
        "model": dict(encoder.identity),
        "dtype": settings.dtype,
        "shard_documents": settings.shard_documents,
        "duplicates": settings.duplicates,
    }


def _corpus(collection: Collection) -> Any:
    """SHA-256 of the files of a local corpus by name, wherever they lie; else its source, an immutable download."""
    found: dict[str, str] = {}
    for path in corpus_files(collection.source):
        with path.open("rb") as stream:
            found[path.name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found or collection.source


def _check_shard(store: VectorStore, number: int, docids: list[str], digest: str) -> None:
    was, texts = store.facts(number)
    if was != docids or texts != digest:
        what = "docids" if was != docids else "texts"
        raise InputError(
            f"{store.folder}: shard {number} is of other {what} than the corpus has now: give a new folder to --vectors"
        )


def _checked(vectors: Vectors, docids: list[str], dimension: int, dtype: DType) -> Any:
    """The vectors as they are stored. Raises EnvironmentFault for one with a number that is not finite."""
    assert vectors.shape == (len(docids), dimension), vectors.shape
    with np.errstate(over="ignore"):  # seen by the next line
        stored = vectors.astype(dtype)
    bad = np.flatnonzero(~np.isfinite(stored).all(axis=1))
    if len(bad):
        raise EnvironmentFault(
            f"docid {docids[int(bad[0])]!r}: its vector holds numbers that are not finite, as {len(bad)} of "
            f"{len(docids)}: choose float32 for --dtype, or another --device"
        )
    return stored
