"""`job.json`: what the rows of a store were made with. Written once; a process that would make other rows refuses."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from sira import __version__
from sira.errors import InputError
from sira.expand.config import ExpandConfig
from sira.expand.progress import now
from sira.expand.task import job_fingerprint

SCHEMA_VERSION = 1
FILE = "job.json"


def make_folder(out: Path) -> None:
    """Make the folder of a store. Raises InputError where it cannot be, or where it holds what is no store."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        names = [path.name for path in out.iterdir()]
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}): choose another --out") from None
    foreign = [name for name in names if not name.startswith((".", "shard-"))]
    if foreign and FILE not in names:
        raise InputError(f"{out}: holds other files ({min(foreign)}): give a new folder to --out")


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
        "fingerprint": job_fingerprint(identity),
        "shards": shards,
        "settings": config.model_dump(mode="json"),
        "created": now(),
        "sira": __version__,
    }
    path = folder / FILE
    if path.exists():
        return check_job(folder, identity, shards)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{FILE}.", dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(job, indent=1, ensure_ascii=False) + "\n")
        Path(temporary).chmod(0o644)
        try:
            os.link(temporary, path)
        except FileExistsError:
            check_job(folder, identity, shards)
        except OSError:  # a file system without hard links, such as a mounted bucket
            Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return None


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
    if not any(change.startswith("prompt.digest") for change in changes):  # the same prompt under another name
        changes = [change for change in changes if not change.startswith("prompt.name")]
    if changes:
        raise InputError(
            f"{folder}: this store was made otherwise: {'; '.join(changes)}. Set it back, give a new --out, "
            "or --force-new to start a store beside it"
        )


def check_model(folder: Path, config: ExpandConfig) -> None:
    """For a finished store, on which no model is opened: raises InputError where another one is asked for."""
    job = read_job(folder)
    if job is None:
        return
    before = job["settings"]["model"]
    for name in ("model", "revision"):
        was, now_ = before.get(name), getattr(config.model, name)
        if Path(was or "").name != Path(now_ or "").name:
            raise InputError(
                f"{folder}: this store was made otherwise: model.{name} was {json.dumps(was)}, now {json.dumps(now_)}. "
                "Set it back, give a new --out, or --force-new to start a store beside it"
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
