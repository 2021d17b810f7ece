"""`job.json`: what the rows of a store were made with. Written once; a process that would make other rows refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from sira import __version__
from sira.errors import InputError
from sira.expand.config import ExpandConfig
from sira.expand.ids import fingerprint
from sira.expand.progress import now

SCHEMA_VERSION = 1
FILE = "job.json"


def read_job(folder: Path) -> dict[str, Any] | None:
    """The job of a store; None where the folder is no store of `sira expand`. Raises InputError for a damaged file."""
    path = folder / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}): restore it, or give a new --out") from None
    if not isinstance(data, dict) or cast(dict[str, Any], data).get("schema_version") != SCHEMA_VERSION:
        raise InputError(f"{path}: not a job of this version of sira: give a new --out")
    return cast(dict[str, Any], data)


def open_job(folder: Path, config: ExpandConfig, identity: Mapping[str, Any], shards: int) -> None:
    """Create the job of a new store, or check that the one that is there is the same.

    Of several processes that start at once, one writes the file and the others check theirs against it.
    Raises InputError saying what changed.
    """
    job = {
        "schema_version": SCHEMA_VERSION,
        "name": config.name,
        "identity": dict(identity),
        "fingerprint": fingerprint(identity),
        "shards": shards,
        "settings": config.model_dump(mode="json"),
        "created": now(),
        "sira": __version__,
    }
    path = folder / FILE
    temporary = folder / f".{FILE}.{os.getpid()}.tmp"
    temporary.write_text(json.dumps(job, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    try:
        os.link(temporary, path)
    except FileExistsError:
        check_job(folder, identity, shards)
    finally:
        temporary.unlink()


def check_job(folder: Path, identity: Mapping[str, Any], shards: int) -> None:
    """Raises InputError where the store was made otherwise, naming each difference."""
    job = read_job(folder)
    if job is None:
        return
    if job["shards"] != shards:
        raise InputError(
            f"{folder}: this store has {job['shards']} shards, and {shards} were asked for: "
            f"give --shard i/{job['shards']}, or a new --out"
        )
    parts = {key: value for key, value in job["identity"].items() if key in identity}
    changes = list(_changes(parts, dict(identity), ""))
    if changes:
        raise InputError(
            f"{folder}: this store was made otherwise: {'; '.join(changes)}. Set it back, give a new --out, "
            "or --force-new to start a store beside it"
        )


def _changes(old: Any, new: Any, place: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        before, after = cast(dict[str, Any], old), cast(dict[str, Any], new)
        for key in sorted({*before, *after}):
            yield from _changes(before.get(key), after.get(key), f"{place}.{key}" if place else key)
    elif json.loads(json.dumps(old)) != json.loads(json.dumps(new)):
        yield f"{place} was {json.dumps(old)}, now {json.dumps(new)}"


def beside(folder: Path) -> Path:
    """The first of FOLDER-2, FOLDER-3 ... that is not there."""
    number = 2
    while (other := folder.with_name(f"{folder.name}-{number}")).exists():
        number += 1
    return other
