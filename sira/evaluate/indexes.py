"""The indexes of an experiment: built once, named by what they are made of, reused when a run is resumed."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sira.corpora.collection import Collection
from sira.corpora.files import replacing
from sira.evaluate.config import CollectionConfig, Gate
from sira.evaluate.fingerprint import code_digest, digest, source_digest
from sira.expand.indexing import expand_index
from sira.expand.store import read_expansions, store_fingerprint
from sira.lucene.writer import build_index
from sira.systems.sira import others


@dataclass(frozen=True, slots=True)
class Variant:
    """Documents as they are, with their expansions, or with those of other documents (a control)."""

    documents: Literal["plain", "expanded", "shuffled"]
    gate: Gate


class IndexStore:
    """Indexes under `folder`, one folder a variant, each whole or absent."""

    def __init__(self, folder: Path, config: CollectionConfig, collection: Collection, *, progress: bool) -> None:
        self._folder, self._config, self._collection, self._progress = folder, config, collection, progress
        self._base = digest([source_digest(config.source), config.analyzer, config.duplicates, code_digest()])
        self._store = None if config.expansions is None else _store_key(config.expansions)

    def path(self, variant: Variant) -> Path:
        """Where the index of a variant lies, whether it is built or not."""
        key = self._base
        if variant.documents != "plain":
            key = digest([self._base, self._store, variant.gate.model_dump()])
        return self._folder / f"{self._config.name}-{variant.documents}-{key[:16]}"

    def get(self, variant: Variant) -> Path:
        """The index folder, built now if it is not there."""
        path = self.path(variant)
        if (path / "manifest.json").is_file():
            return path
        if variant.documents == "plain":
            build_index(
                self._collection.documents,
                path,
                analyzer=self._config.analyzer,
                duplicates=self._config.duplicates,
                progress=self._progress,
            )
            return path
        assert self._config.expansions is not None  # checked by Experiment
        store = Path(self._config.expansions)
        if variant.documents == "shuffled":
            store = self._shuffled(store)
        base = self.get(Variant("plain", variant.gate))
        expand_index(base, store, path, variant.gate.settings(), progress=self._progress)
        return path

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
    today = dt.datetime.now(dt.UTC).date().isoformat()
    expired = sum(row.expires is not None and row.expires < today for _, row in read_expansions(store))
    return digest([store_fingerprint(store), expired])
