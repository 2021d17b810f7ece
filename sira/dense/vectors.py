"""Vectors of documents on disk: a manifest, and shards of a fixed number of documents in the order of the corpus.

    manifest.json       what the vectors were made with, and the counts once all are there
    shard-00000.json    docids, and SHA-256 of the texts
    shard-00000.npy     their vectors, a row each

A shard's .npy is written last and under another name first, so that a shard that is there is whole.
"""

# Some of numpy's own signatures are partly unknown to the type checker.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sira import __version__
from sira.corpora.files import replacing
from sira.errors import InputError

SCHEMA_VERSION = 1
FILE = "manifest.json"

Shard = NDArray[np.floating[Any]]


class VectorStore:
    """A folder of vectors. Whoever writes holds the folder (sira.folders.owned)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def manifest(self) -> dict[str, Any]:
        found = read_manifest(self.folder)
        if found is None:
            raise InputError(f"{self.folder}: holds no vectors: `sira dense` makes them")
        return found

    @cached_property
    def docids(self) -> tuple[str, ...]:
        """In the order of the vectors. Raises InputError where not all vectors are there."""
        if self.manifest["counts"] is None:
            raise InputError(f"{self.folder}: not all vectors are there: the same `sira dense` goes on with them")
        return tuple(docid for number in range(self.manifest["counts"]["shards"]) for docid in self.facts(number)[0])

    def shards(self) -> Iterator[Shard]:
        """The shards in order, each mapped from its file: a page is read when it is used."""
        for number in range(self.manifest["counts"]["shards"]):
            yield np.load(self._path(number, "npy"), mmap_mode="r")

    @cached_property
    def bytes(self) -> int:
        return sum(self._path(number, "npy").stat().st_size for number in range(self.manifest["counts"]["shards"]))

    def has(self, number: int) -> bool:
        return self._path(number, "npy").exists()

    def facts(self, number: int) -> tuple[list[str], str]:
        """(docids, digest of the texts) of a shard."""
        path = self._path(number, "json")
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return data["docids"], data["texts"]
        except (OSError, ValueError, KeyError) as error:
            raise InputError(
                f"{path}: cannot be read ({error}): delete shard {number}'s two files, and they are made again"
            ) from None

    def write(self, number: int, docids: Sequence[str], digest: str, vectors: Shard) -> None:
        """Write one shard; a kill leaves it whole or absent."""
        with replacing(self._path(number, "json")) as stream:
            json.dump({"docids": list(docids), "texts": digest}, stream, ensure_ascii=False)
        final = self._path(number, "npy")
        temporary = final.with_name(f".{final.name}.tmp")
        with temporary.open("wb") as stream:
            np.save(stream, vectors, allow_pickle=False)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(final)

    def open(self, identity: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Begin a store, or check that the one that is there is made of the same.

        Raises InputError naming each difference, or a folder that holds something else.
        """
        found = read_manifest(self.folder)
        if found is None:
            if foreign := sorted(entry.name for entry in self.folder.iterdir() if not entry.name.startswith(".")):
                raise InputError(f"{self.folder}: holds other files ({foreign[0]}): give a new folder to --vectors")
            self._write({"identity": dict(identity), "made_with": dict(facts), "counts": None})
        elif changes := list(differences(found["identity"], dict(identity))):
            raise InputError(
                f"{self.folder}: these vectors were made otherwise: {'; '.join(changes)}. Set it back, or give a new "
                "folder to --vectors"
            )

    def finish(self, counts: Mapping[str, int]) -> None:
        self._write({**self.manifest, "counts": dict(counts)})
        self.__dict__.pop("manifest")

    def _write(self, manifest: Mapping[str, Any]) -> None:
        with replacing(self.folder / FILE) as stream:
            json.dump({"schema_version": SCHEMA_VERSION, "sira": __version__, **manifest}, stream, indent=1)
            stream.write("\n")

    def _path(self, number: int, suffix: str) -> Path:
        return self.folder / f"shard-{number:05d}.{suffix}"


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """None where there is none. Raises InputError for a damaged one and one of another version."""
    path = folder / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}): restore it, or give a new folder to --vectors") from None
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("schema_version") != SCHEMA_VERSION:
        raise InputError(f"{path}: no vectors of this version of sira: give a new folder to --vectors")
    return cast("dict[str, Any]", data)


def differences(old: object, new: object, place: str = "") -> Iterator[str]:
    """What differs between two values of JSON, a line each."""
    if isinstance(old, dict) and isinstance(new, dict):
        before, after = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
        for key in sorted({*before, *after}):
            yield from differences(before.get(key), after.get(key), f"{place}.{key}" if place else key)
    elif json.loads(json.dumps(old)) != json.loads(json.dumps(new)):
        yield f"{place} was {json.dumps(old)}, now {json.dumps(new)}"


def digest_of(texts: Sequence[str]) -> str:
    """SHA-256 over texts, each with its length, so that no two lists have the same bytes."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode()
        digest.update(f"{len(data)} ".encode())
        digest.update(data)
    return digest.hexdigest()
