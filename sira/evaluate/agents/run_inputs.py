"""The files of labels and answers that a run's manifest names, for whoever gives none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

from sira.errors import InputError
from sira.evaluate.fingerprint import file_digest

Input = Literal["evidence", "gold", "answers"]
MANIFESTS = ("run.json", "benchmark_manifest_snapshot.json")
_KEYS: tuple[tuple[Input, str, str], ...] = (
    ("evidence", "qrels_path", "qrels"),
    ("gold", "secondary_qrels_path", "secondary_qrels"),
    ("answers", "ground_truth_path", "ground_truth"),
)


def named_inputs(folder: Path) -> dict[Input, Path]:
    """Of those files the ones that are there, by Pi-Serini's names in the manifest; a relative path is looked for from
    the working folder, then from the run's. A folder `merged` has the manifest of the run around it, if it has none.

    Raises InputError for a file whose hash is not the one that the manifest has of it.
    """
    places = [folder, folder.parent] if folder.name == "merged" else [folder]
    rows = [row for place in places for name in MANIFESTS if (row := _read(place / name))]
    manifest: Mapping[str, Any] = rows[0] if rows else {}
    hashes = manifest.get("input_hashes")
    found: dict[Input, Path] = {}
    for what, key, hashed in _KEYS:
        told = manifest.get(key)
        if not isinstance(told, str) or not told:
            continue
        path = next((path for path in (Path(told), folder / told) if path.is_file()), None)
        if path is None:
            continue
        known = _hash(hashes, hashed)
        if known is not None and known != file_digest(path):
            raise InputError(
                f"{path}: is not the file that the run was made with (its SHA-256 differs); name one yourself"
            )
        found[what] = path
    return found


def _hash(hashes: object, name: str) -> str | None:
    entry = cast("dict[str, object]", hashes).get(name) if isinstance(hashes, dict) else None
    value = cast("dict[str, object]", entry).get("sha256") if isinstance(entry, dict) else None
    return value if isinstance(value, str) else None


def _read(path: Path) -> Mapping[str, Any]:
    """{} for what is absent or no JSON object."""
    try:
        row: object = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", row) if isinstance(row, dict) else {}
