"""One run folder of several: the shards of a run, worked on by different processes or machines."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sira import __version__
from sira.agent.base import StopReason
from sira.agent.run_folder import MANIFEST, SCHEMA, RunFolder, differences, file_name, questions_facts, read_object
from sira.agent.run_folder import write_json as write
from sira.errors import InputError
from sira.folders import FolderKind, owned, staging
from sira.records import Topic

RUN_KIND = FolderKind(
    "a run", lambda folder: {"schema", "settings"} <= set(read_object(folder / MANIFEST) or ()), InputError
)


@dataclass(frozen=True, slots=True)
class MergeReport:
    """Trajectories in the new folder; `duplicates` stood in several shards, equal; `unfinished` were left out."""

    trajectories: int
    duplicates: int
    unfinished: int


def merge_runs(shards: Sequence[Path], out: Path, *, overwrite: bool = False) -> MergeReport:
    """Put the finished trajectories of the shards into a new folder, with a manifest for all of them.

    Equal duplicates are one. Raises InputError where a folder is no run, is being worked on, or was made with other
    settings than the first, and where two shards hold different trajectories of one question.
    """
    with contextlib.ExitStack() as held:
        manifests: list[dict[str, Any]] = []
        for shard in shards:
            manifest = RunFolder(shard).manifest() if shard.is_dir() else None
            if manifest is None:
                raise InputError(f"{shard}: holds no {MANIFEST}: give the folders of runs")
            held.enter_context(owned(shard))
            manifests.append(manifest)
        _check_settings(shards, manifests)
        with staging(out, RUN_KIND, overwrite=overwrite) as folder:
            report, questions = _copy(shards, folder)
            write(folder / MANIFEST, _merged(shards, manifests, questions))
    return report


def _check_settings(shards: Sequence[Path], manifests: Sequence[Mapping[str, Any]]) -> None:
    for shard, manifest in zip(shards, manifests, strict=True):
        if changed := differences(manifests[0].get("settings"), manifest.get("settings")):
            raise InputError(
                f"{shard}: was made with other settings than {shards[0]}: {changed[0]}: merge runs of the same settings"
            )


def _copy(shards: Sequence[Path], folder: Path) -> tuple[MergeReport, list[Topic]]:
    whence: dict[str, Path] = {}
    questions: list[Topic] = []
    duplicates = unfinished = 0
    for shard in shards:
        for path in RunFolder(shard).files():
            data = read_object(path)
            if data is None:
                raise InputError(f"{path}: is no trajectory: remove it, or restore it")
            if "query_id" not in data:  # a report's figures, say
                continue
            qid, stop = str(data["query_id"]), data.get("stop_reason")
            if stop in (None, StopReason.CANCELLED):
                unfinished += 1
                continue
            target = folder / file_name(qid)
            if qid in whence:
                if read_object(target) != data:
                    raise InputError(
                        f"{path}: the question {qid!r} has another trajectory in {whence[qid]}: "
                        "keep one of the two and merge again"
                    )
                duplicates += 1
                continue
            target.write_bytes(path.read_bytes())
            whence[qid] = shard
            metadata: Any = data.get("metadata") or {}
            questions.append(Topic(qid, str(metadata.get("query", ""))))
    return MergeReport(len(questions), duplicates, unfinished), questions


def _merged(
    shards: Sequence[Path], manifests: Sequence[Mapping[str, Any]], questions: Sequence[Topic]
) -> dict[str, Any]:
    """What all manifests agree on, the questions together, and what the shards were."""
    first = manifests[0]
    same = {
        key: value
        for key, value in first.items()
        if key not in ("questions", "schema", "sira", "how") and all(other.get(key) == value for other in manifests)
    }
    parts = [
        {"name": shard.resolve().name, "questions": manifest.get("questions"), "how": manifest.get("how")}
        for shard, manifest in zip(shards, manifests, strict=True)
    ]
    merged = {"schema": SCHEMA, "sira": __version__, **same, "questions": questions_facts(questions), "merged": parts}
    return cast("dict[str, Any]", json.loads(json.dumps(merged)))
