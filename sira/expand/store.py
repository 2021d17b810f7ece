"""Reading expansion stores: JSON Lines, one row a document (`docid`, `phrases`, optional `status` and `expires`).

Any tool may write one; a folder of `sira expand` is one as soon as all of its shards are finished.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from sira.corpora.rows import json_rows
from sira.errors import InputError
from sira.expand.identity import read_job
from sira.expand.shard import shard_name
from sira.records import Expansion, Place

SUFFIXES = (".jsonl", ".jsonl.gz")


def store_files(path: Path) -> list[Path]:
    """The shards of a store, sorted by name; a single file is a store of one shard.

    Raises InputError without any, and for a folder of `sira expand` whose shards are not all finished.
    """
    if path.is_file():
        return [path]
    _check_finished(path)
    files = sorted(file for file in path.glob("*") if file.name.endswith(SUFFIXES)) if path.is_dir() else []
    if not files:
        raise InputError(f"{path}: no expansion store: give a .jsonl or .jsonl.gz file, or a folder of them")
    return files


def _check_finished(folder: Path) -> None:
    job = read_job(folder)
    if job is None:
        return
    shards = job["shards"]
    missing = [shard for shard in range(shards) if not (folder / shard_name(shard, shards)).is_file()]
    if missing:
        raise InputError(
            f"{folder}: {len(missing)} of {shards} shards are not finished (first: {missing[0] + 1}/{shards}): "
            "`sira status` shows how far they are, `sira expand` goes on with them; to use what is there, name a file"
        )


def read_expansions(path: str | Path) -> Iterator[tuple[Place, Expansion]]:
    """Stream the rows of a store. Rows whose status is not `ok` or `truncated` keep the phrases they hold.

    Raises InputError naming file, line and field.
    """
    for place, _, expansion in expansion_rows(path):
        yield place, expansion


def expansion_rows(path: str | Path) -> Iterator[tuple[Place, dict[str, Any], Expansion]]:
    """The same with each row as it stands there, for what an Expansion leaves out (provenance, usage)."""
    for file in store_files(Path(path)):
        for place, row in json_rows(file):
            yield place, row, _expansion(place, row)


def _expansion(place: Place, row: dict[str, Any]) -> Expansion:
    docid, phrases = row.get("docid"), row.get("phrases")
    if not isinstance(docid, str | int) or isinstance(docid, bool) or docid == "":
        raise InputError(f"{place}: `docid` is missing or no string")
    if not isinstance(phrases, list) or not all(isinstance(item, str) for item in cast(list[object], phrases)):
        raise InputError(f"{place}: docid {docid!r}: `phrases` must be a list of strings")
    expires = row.get("expires")
    if expires is not None:
        try:
            dt.date.fromisoformat(expires)
        except (TypeError, ValueError):
            raise InputError(f"{place}: docid {docid!r}: `expires` must be a date, YYYY-MM-DD") from None
    return Expansion(str(docid), tuple(cast(list[str], phrases)), str(row.get("status", "ok")), expires)


def store_fingerprint(path: str | Path) -> str:
    """SHA-256 over the shards' bytes as stored, in name order."""
    digest = hashlib.sha256()
    for file in store_files(Path(path)):
        with file.open("rb") as data:
            while chunk := data.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
