"""The indexes of an experiment: built once, named by what they are made of, reused when a run is resumed."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sira import __version__
from sira.corpora.collection import Collection
from sira.corpora.files import replacing
from sira.evaluate.config import CollectionConfig, Gate
from sira.expand.indexing import expand_index
from sira.expand.store import read_expansions, store_fingerprint
from sira.lucene.writer import build_index

SHUFFLE_SEED = 20260511


@dataclass(frozen=True, slots=True)
class Variant:
    """Documents as they are, with their expansions, or with those of other documents (a control)."""

    documents: Literal["plain", "expanded", "shuffled"]
    gate: Gate


class IndexStore:
    """Indexes under `folder`, one folder a variant, each whole or absent."""

    def __init__(self, folder: Path, config: CollectionConfig, collection: Collection, *, progress: bool) -> None:
        self._folder, self._config, self._collection, self._progress = folder, config, collection, progress
        self._base_key = _digest([config.source, config.split, config.analyzer, _files(config.source), __version__])
        self._store_key = None if config.expansions is None else store_fingerprint(config.expansions)

    def path(self, variant: Variant) -> Path:
        """Where the index of a variant lies, whether it is built or not."""
        if variant.documents == "plain":
            return self._folder / f"{self._config.name}-plain-{self._base_key}"
        key = _digest([self._base_key, self._store_key, variant.documents, variant.gate.model_dump()])
        return self._folder / f"{self._config.name}-{variant.documents}-{key}"

    def get(self, variant: Variant) -> Path:
        """The index folder, built now if it is not there."""
        path = self.path(variant)
        if (path / "manifest.json").is_file():
            return path
        if variant.documents == "plain":
            build_index(self._collection.documents, path, analyzer=self._config.analyzer, progress=self._progress)
            return path
        assert self._config.expansions is not None  # checked by Experiment
        store = Path(self._config.expansions)
        if variant.documents == "shuffled":
            store = self._shuffled(store)
        base = self.get(Variant("plain", variant.gate))
        expand_index(base, store, path, variant.gate.settings(), progress=self._progress)
        return path

    def _shuffled(self, store: Path) -> Path:
        """A copy of the store in which each document has the phrases of another one (a shifted permutation)."""
        target = self._folder / f"{self._config.name}-shuffled-{self._store_key}.jsonl"
        rows = [row for _, row in read_expansions(store)]
        random.Random(SHUFFLE_SEED).shuffle(rows)
        with replacing(target) as stream:
            for row, other in zip(rows, [*rows[1:], *rows[:1]], strict=True):
                stream.write(json.dumps({"docid": row.docid, "phrases": other.phrases}, ensure_ascii=False) + "\n")
        return target

    def size(self, variant: Variant) -> int:
        return sum(file.stat().st_size for file in self.get(variant).iterdir() if file.is_file())

    def base_size(self) -> int:
        return self.size(Variant("plain", self._config.gate))


def _digest(facts: list[object]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _files(source: str) -> list[tuple[str, int, int]]:
    """Name, size and time of the files of a local source, so that a changed corpus is indexed again."""
    path = Path(source.partition(":")[2] or source)
    if not path.exists():
        return []
    files = sorted(path.glob("corpus.jsonl*")) or sorted(path.glob("*")) if path.is_dir() else [path]
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]
