"""The indexes of an experiment: built once, named by what they are made of, reused when a run is resumed."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from sira.corpora.collection import Collection
from sira.corpora.files import replacing
from sira.evaluate.config import CollectionConfig, Gate
from sira.evaluate.fingerprint import code_digest, digest, source_digest
from sira.expand.indexing import expand_index
from sira.expand.store import read_expansions, store_fingerprint
from sira.lucene.reader import Index
from sira.lucene.update import AttachCounts, ExpansionTerms, attach_expansions
from sira.lucene.writer import build_index
from sira.records import Document, Expansion, Record
from sira.systems.sira import others

BATCH = 500
"""Titles that are analysed at once."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Documents as they are, with their expansions, or with those of other documents (a control); `doc2query` appends
    the phrases to the text (arXiv 1904.08375); `multifield` has the title in a field of its own."""

    documents: Literal["plain", "expanded", "shuffled", "doc2query", "multifield"]
    gate: Gate


class IndexStore:
    """Indexes under `folder`, one folder a variant, each whole or absent."""

    def __init__(self, folder: Path, config: CollectionConfig, collection: Collection, *, progress: bool) -> None:
        self._folder, self._config, self._collection, self._progress = folder, config, collection, progress
        self._base = digest(
            [source_digest(config.source), config.analyzer, config.duplicates, config.facet_words, code_digest()]
        )

    @cached_property
    def _store(self) -> str | None:
        """Read when first asked for: an experiment of other systems needs no phrases."""
        return None if self._config.expansions is None else _store_key(self._config.expansions)

    def path(self, variant: Variant) -> Path:
        """Where the index of a variant lies, whether it is built or not."""
        key = self._base
        if variant.documents in ("expanded", "shuffled"):
            key = digest([self._base, self._store, variant.gate.model_dump()])
        elif variant.documents == "doc2query":
            key = digest([self._base, self._store])
        return self._folder / f"{self._config.name}-{variant.documents}-{key[:16]}"

    def get(self, variant: Variant) -> Path:
        """The index folder, built now if it is not there."""
        path = self.path(variant)
        if (path / "manifest.json").is_file():
            return path
        if variant.documents == "plain":
            self._build(self._collection.documents, path)
            return path
        if variant.documents == "multifield":
            texts = path.with_name(f"{path.name}-texts")
            self._build(lambda: untitled(self._collection.documents()), texts)
            attach_titles(texts, self._collection.documents(), path)
            shutil.rmtree(texts)
            return path
        assert self._config.expansions is not None  # checked by Experiment
        store = Path(self._config.expansions)
        if variant.documents == "doc2query":
            phrases = {row.docid: row.phrases for _, row in read_expansions(store) if not _expired(row)}
            self._build(lambda: appended(self._collection.documents(), phrases), path)
            return path
        if variant.documents == "shuffled":
            store = self._shuffled(store)
        base = self.get(Variant("plain", variant.gate))
        expand_index(base, store, path, variant.gate.settings(), progress=self._progress)
        return path

    def _build(self, records: Callable[[], Iterable[Record]], path: Path) -> None:
        config = self._config
        build_index(
            records,
            path,
            analyzer=config.analyzer,
            duplicates=config.duplicates,
            facet_words=config.facet_words,
            overwrite=path.exists(),  # of a build that was killed: a finished one is not asked for again
            progress=self._progress,
        )

    def _shuffled(self, store: Path) -> Path:
        """A copy of the store in which each document has the phrases of another one."""
        target = self._folder / f"{self._config.name}-shuffled-phrases.jsonl"
        rows = {row.docid: row for _, row in read_expansions(store)}
        with replacing(target) as stream:
            for docid, other in others(rows).items():
                row = {"docid": docid, "phrases": rows[other].phrases, "expires": rows[other].expires}
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        return target

    def size(self, variant: Variant) -> int:
        """Bytes of an index that is there."""
        return sum(file.stat().st_size for file in self.get(variant).iterdir() if file.is_file())


def _store_key(store: str) -> str:
    """The bytes of a store, and how many of its rows have expired today, which indexing leaves out."""
    expired = sum(_expired(row) for _, row in read_expansions(store))
    return digest([store_fingerprint(store), expired])


def _expired(row: Expansion) -> bool:
    return row.expires is not None and row.expires < dt.datetime.now(dt.UTC).date().isoformat()


def appended(records: Iterable[Record], phrases: Mapping[str, tuple[str, ...]]) -> Iterator[Record]:
    """Each document with its phrases behind its text, as doc2query has them: a word counts as often as it stands."""
    for place, record in records:
        if isinstance(record, Document) and record.docid in phrases:
            yield place, replace(record, text=" ".join([record.text, *phrases[record.docid]]))
        else:
            yield place, record


def untitled(records: Iterable[Record]) -> Iterator[Record]:
    """Each document without its title."""
    for place, record in records:
        yield place, replace(record, title="") if isinstance(record, Document) else record


def attach_titles(base: Path, records: Iterable[Record], target: Path) -> None:
    """Write to `target` the index `base` with the words of the titles in the second field, as often as they stand.

    Of several documents of one docid the first counts. Summed, the fields score as Anserini's title and contents of a
    BEIR collection.
    """

    def describe(counts: AttachCounts) -> dict[str, Any]:
        return {"source": "titles", "documents": counts.documents, "unknown_docids": counts.unknown, "counts": {}}

    with Index(base) as index:
        attach_expansions(base, _titles(index, records), target, describe)


def _titles(index: Index, records: Iterable[Record]) -> Iterator[ExpansionTerms]:
    titled = ((place, record) for place, record in records if isinstance(record, Document) and record.title.strip())
    seen: set[str] = set()
    while batch := list(islice(titled, BATCH)):
        analysed = index.analyze([record.title for _, record in batch])
        for (place, record), words in zip(batch, analysed, strict=True):
            if record.docid not in seen:
                seen.add(record.docid)
                yield ExpansionTerms(record.docid, words, [], place)
