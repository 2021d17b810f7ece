"""The folder of a run: `run.json`, which says how all of it was made, and one trajectory a question.

Every file is valid JSON at any instant: written under another name and renamed. A process that works in the folder
holds it (`sira.folders.owned`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from sira.agent.base import StopReason
from sira.agent.trajectory import Recorder
from sira.corpora.files import replacing
from sira.errors import InputError
from sira.records import Topic

MANIFEST = "run.json"
SCHEMA = 1
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,119}")
_ENCODED = re.compile(r"q-.*-[0-9a-f]{16}")
_TAKEN = frozenset({"run", "run_setup", "benchmark_manifest_snapshot", "evaluation", "evaluation_summary", "report"})
_SHOWN, _SHOWN_CHARACTERS = 3, 60

_log = logging.getLogger(__name__)


def file_name(qid: str) -> str:
    """The name of a question's file: the qid where that is safe on any file system, else what is left of it and its
    hash. Two qids that differ in capitals alone have two names only where the file system tells them apart."""
    if _SAFE.fullmatch(qid) and qid.lower() not in _TAKEN and not _ENCODED.fullmatch(qid):
        return f"{qid}.json"
    plain = re.sub(r"[^A-Za-z0-9]+", "_", qid)[:40]
    return f"q-{plain}-{hashlib.sha256(qid.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.json"


def questions_facts(questions: Sequence[Topic]) -> dict[str, Any]:
    """How many questions, and what they hash to, whatever their order."""
    rows = sorted([question.qid, question.text] for question in questions)
    return {"count": len(rows), "sha256": hashlib.sha256(json.dumps(rows).encode()).hexdigest()}


def write_json(path: Path, data: object) -> None:
    with replacing(path) as stream:
        json.dump(data, stream, ensure_ascii=False, indent=1, default=str)
        stream.write("\n")


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None where there is no file, or no such object in it."""
    try:
        data: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", data) if isinstance(data, dict) else None


class TrajectoryFile:
    """A sink that keeps the file of one question up to date: whole at any instant, on the disk for good at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")

    def __call__(self, recorder: Recorder) -> None:
        """Raises OSError naming the file where it cannot be written: the one before stands, and nothing beside it."""
        try:
            # A lone surrogate becomes the escape that JSON has for it.
            with self._temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                stream.writelines(recorder.pieces())
                if recorder.stop_reason is not None:
                    stream.flush()
                    os.fsync(stream.fileno())
            self._temporary.replace(self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._temporary.unlink(missing_ok=True)
            if error.filename is None:  # a full disk names none
                error.filename = str(self._path)
            raise


class RunFolder:
    """A folder of one run. Whoever writes holds it by `sira.folders.owned`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file_of(self, qid: str) -> Path:
        return self.path / file_name(qid)

    def manifest(self) -> dict[str, Any] | None:
        """None in a folder that holds no run. Raises InputError for one that cannot be read."""
        path = self.path / MANIFEST
        if not path.exists():
            return None
        found = read_object(path)
        if found is None:
            raise InputError(f"{path}: is no manifest of a run: choose another folder, or restore the file")
        return found

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Make the folder ready for a run of these settings: a new one, or the rest of an earlier one.

        Raises InputError where an earlier run had other settings, naming what changed, or where the folder holds
        trajectories without a manifest.
        """
        before = self.manifest()
        if before is None and any(self.files()):
            raise InputError(f"{self.path}: holds JSON files, but no {MANIFEST}: choose an empty folder")
        wanted = json.loads(json.dumps({"schema": SCHEMA, **manifest}, default=str))
        if before is not None and (changed := differences(before.get("settings"), wanted.get("settings"))):
            listed = "; ".join(changed[:_SHOWN]) + (f"; {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else "")
            raise InputError(
                f"{self.path}: this run was begun with other settings: {listed}. "
                "Give the same ones to go on, or another folder for a new run"
            )
        for left in self.path.glob(".*.tmp"):
            left.unlink(missing_ok=True)
        write_json(self.path / MANIFEST, wanted)

    def files(self) -> Iterator[Path]:
        """The files of trajectories, by name."""
        for path in sorted(self.path.glob("*.json")):
            if path.stem not in _TAKEN:
                yield path

    def finished(self, question: Topic, again: Collection[StopReason]) -> dict[str, Any] | None:
        """The trajectory of a question that needs no more work; None where it has none, where it was running or
        cancelled, or ended for a reason in `again`.

        Raises InputError where the file is that of another question, whose text it does not tell: it may be private.
        """
        path = self.file_of(question.qid)
        data = read_object(path)
        if data is None:
            if path.exists():
                _log.warning("%s: is no trajectory, and is made anew", path)
            return None
        metadata: Any = data.get("metadata")
        asked: Any = cast("dict[str, Any]", metadata).get("query") if isinstance(metadata, dict) else None
        if data.get("query_id") != question.qid or asked != question.text:
            raise InputError(
                f"{path}: is the trajectory of another question than {question.qid!r} is now: give another folder"
            )
        stop: Any = data.get("stop_reason")
        return None if stop in (None, StopReason.CANCELLED, *again) else data

    def sink(self, qid: str) -> Callable[[Recorder], None]:
        return TrajectoryFile(self.file_of(qid))


def differences(before: object, now: object, place: str = "") -> list[str]:
    """What differs between two JSON values, one line each: `budget.time_s was 300, is 200`."""
    if isinstance(before, dict) and isinstance(now, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", now)
        found: list[str] = []
        for key in [*old, *(key for key in new if key not in old)]:
            found += differences(old.get(key), new.get(key), f"{place}.{key}" if place else key)
        return found
    if before == now:
        return []
    told = [json.dumps(value, ensure_ascii=False, default=str) for value in cast("tuple[object, ...]", (before, now))]
    shown = [text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..." for text in told]
    return [f"{place or 'all'} was {shown[0]}, is {shown[1]}"]
