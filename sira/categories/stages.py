"""Stages of a build: each makes one folder, whole under its final name or not there, and is not made twice."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

log = logging.getLogger("sira.categories")

RECORD = "stage.json"
Work = Callable[[Path], Mapping[str, Any]]
"""Fills an empty folder and returns facts to be kept in the stage's record."""


def joined(*facts: object) -> str:
    """One fingerprint of several facts."""
    return hashlib.sha256(json.dumps([str(fact) for fact in facts]).encode()).hexdigest()


def record_of(folder: Path) -> dict[str, Any] | None:
    """The record of a finished stage, or None where it is not finished."""
    try:
        data: object = json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", data) if isinstance(data, dict) else None


def is_done(folder: Path, fingerprint: str) -> bool:
    record = record_of(folder)
    return record is not None and record.get("fingerprint") == fingerprint


def run_stage(folder: Path, fingerprint: str, work: Work) -> bool:
    """Make the folder by `work`, unless it is there with this fingerprint; whether there was anything to do.

    A folder with another fingerprint, of other inputs or settings, is made anew and said so.
    """
    if is_done(folder, fingerprint):
        log.info("%s: done before", folder.name)
        return False
    if folder.exists():
        log.info("%s: was made from other files or settings; it is made anew", folder.name)
    start = time.perf_counter()
    made = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    facts = dict(work(made))
    record = {"fingerprint": fingerprint, "seconds": round(time.perf_counter() - start, 2), "facts": facts}
    (made / RECORD).write_text(json.dumps(record, ensure_ascii=False, indent=1), encoding="utf-8")
    for file in made.iterdir():
        _to_disk(file)
    _to_disk(made)
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    made.rename(folder)
    _to_disk(folder.parent)
    shutil.rmtree(old, ignore_errors=True)
    log.info(
        "%s: %s (%.1f s)", folder.name, ", ".join(f"{value} {name}" for name, value in facts.items()), record["seconds"]
    )
    return True


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
