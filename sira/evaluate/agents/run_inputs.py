"""The files of labels and answers that a run's manifest names, and how it says to count, for whoever gives none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from sira.agent.run_folder import read_object
from sira.errors import InputError
from sira.evaluate.agents.prefix import Gain
from sira.evaluate.fingerprint import file_digest

Input = Literal["evidence", "gold", "answers"]
MANIFESTS = ("run.json", "benchmark_manifest_snapshot.json")
_KEYS: tuple[tuple[Input, str, str], ...] = (
    ("evidence", "qrels_path", "qrels"),
    ("gold", "secondary_qrels_path", "secondary_qrels"),
    ("answers", "ground_truth_path", "ground_truth"),
)


class Semantics(NamedTuple):
    """How labels count: the gain of nDCG, and the least grade of a label."""

    gain: Gain = "exponential"
    level: int = 1


def named_inputs(folder: Path) -> dict[Input, Path]:
    """Of those files the ones that are there, by Pi-Serini's names in the manifest; a relative path is looked for from
    the working folder, then from the run's.

    Raises InputError for a file whose hash is not the one that the manifest has of it.
    """
    manifest = _manifest(folder)
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


def named_semantics(folder: Path) -> Semantics:
    """What the manifest of a run says under `metric_semantics`; for what is absent or out of range, the defaults."""
    told = _manifest(folder).get("metric_semantics")
    row = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
    gain, level = row.get("gain"), row.get("recall_level")
    plain = Semantics()
    return Semantics(
        cast("Gain", gain) if gain in get_args(Gain) else plain.gain,
        level if isinstance(level, int) and not isinstance(level, bool) and level >= 1 else plain.level,
    )


def _manifest(folder: Path) -> Mapping[str, Any]:
    """{} where there is none. A folder `merged` has that of the run around it, if it has none."""
    places = [folder, folder.parent] if folder.name == "merged" else [folder]
    rows = [row for place in places for name in MANIFESTS if (row := read_object(place / name))]
    return rows[0] if rows else {}


def _hash(hashes: object, name: str) -> str | None:
    entry = cast("dict[str, object]", hashes).get(name) if isinstance(hashes, dict) else None
    value = cast("dict[str, object]", entry).get("sha256") if isinstance(entry, dict) else None
    return value if isinstance(value, str) else None
