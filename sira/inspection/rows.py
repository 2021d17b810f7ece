"""The rows of an expansion store as `sira inspect` sees them: every field that may stand there, none but docid and
phrases required. Finished and unfinished shards, filtered stores and foreign ones are all read here and only here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sira.corpora.files import byte_lines
from sira.corpora.rows import json_rows
from sira.errors import InputError
from sira.expand.store import SUFFIXES
from sira.records import Outcome, Place

PART = ".part"
TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens")


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One row. None and empty stand for what the row does not say.

    `dropped` counts the items that the parser left out, by reason; `verdicts` are the outcomes of the phrases that a
    filter dropped, whereas `phrases` are those that it kept; `job` is the fingerprint of the job that wrote the row;
    `cut` says that the model read only the beginning of the document.
    """

    docid: str
    phrases: list[str]
    status: str | None = None
    usage: Mapping[str, int] | None = None
    verdicts: tuple[str, ...] | None = None
    dropped: Mapping[str, int] | None = None
    attempts: int = 1
    cut: bool = False
    finish: str | None = None
    detail: str | None = None
    raw: str | None = None
    job: str | None = None


def inspected_files(path: Path) -> list[Path]:
    """The shards, sorted by name, finished or not; a single file is a store of one shard.

    A shard that stands there both ways is being worked on again, and the unfinished file holds its rows.
    Raises InputError where there is none.
    """
    if path.is_file():
        return [path]
    names = {file.name for file in path.iterdir()} if path.is_dir() else set[str]()
    shards = [name for name in names if name.endswith((*SUFFIXES, f".jsonl{PART}")) and name + PART not in names]
    if not shards:
        raise InputError(f"{path}: no expansion store: give a .jsonl or .jsonl.gz file, or a folder of them")
    return [path / name for name in sorted(shards)]


def is_unfinished(file: Path) -> bool:
    return file.name.endswith(PART)


class StoredRows:
    """The rows of shards in order; may be read more than once. `damaged` counts the lines left out in the last reading.

    In an unfinished shard a line that is no row is left out, as the job does that goes on with it: mostly the torn last
    one, under the writer's hand. Elsewhere such a line raises InputError naming file and line.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self.damaged = 0

    def __iter__(self) -> Iterator[StoredRow]:
        self.damaged = 0
        for file in self._files:
            finished = file.with_name(file.name.removesuffix(PART))
            if is_unfinished(file) and not file.exists() and finished.exists():
                file = finished  # it was finished since the folder was listed
            if is_unfinished(file):
                yield from self._unfinished(file)
            else:
                for place, row in json_rows(file):
                    yield _row(place, row)

    def _unfinished(self, file: Path) -> Iterator[StoredRow]:
        for number, raw in byte_lines(file):
            try:
                row = json.loads(raw) if raw.endswith(b"\n") else None
                found = _row(Place(str(file), number), cast(dict[str, Any], row)) if isinstance(row, dict) else None
            except (ValueError, RecursionError, InputError):
                found = None
            if found is None:
                self.damaged += 1
            else:
                yield found


def _row(place: Place, row: dict[str, Any]) -> StoredRow:
    docid, phrases = row.get("docid"), row.get("phrases")
    if not isinstance(docid, str | int) or isinstance(docid, bool) or docid == "":
        raise InputError(f"{place}: `docid` is missing or no string: repair or remove the line")
    if not isinstance(phrases, list) or not all(isinstance(item, str) for item in cast(list[object], phrases)):
        raise InputError(f"{place}: docid {docid!r}: `phrases` must be a list of strings: repair or remove the line")
    if len(row) == 2:
        return StoredRow(str(docid), cast(list[str], phrases))
    attempts = row.get("attempts")
    return StoredRow(
        docid=str(docid),
        phrases=cast(list[str], phrases),
        status=_text(row, "status"),
        usage=_counts(row, "usage"),
        verdicts=_outcomes(row.get("verdicts")),
        dropped=_counts(row, "dropped"),
        attempts=attempts if isinstance(attempts, int) else 1,
        cut=row.get("cut") is True,
        finish=_text(row, "finish"),
        detail=_text(row, "detail"),
        raw=_text(row, "raw"),
        job=_text(_mapping(row, "provenance"), "job"),
    )


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    return None if value is None or value == "" else str(value)


def _mapping(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = row.get(name)
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def _counts(row: Mapping[str, Any], name: str) -> Mapping[str, int] | None:
    """The whole numbers of a mapping; None where the row has no such mapping."""
    if not isinstance(row.get(name), dict):
        return None
    return {key: value for key, value in _mapping(row, name).items() if type(value) is int}


def _outcomes(verdicts: object) -> tuple[str, ...] | None:
    """The outcome of each [phrase, outcome, df] of a dropped phrase; None where the row has no such list."""
    if not isinstance(verdicts, list):
        return None
    listed = [cast(list[object], item) for item in cast(list[object], verdicts) if isinstance(item, list)]
    return tuple(str(item[1]) for item in listed if len(item) > 1 and item[1] != Outcome.KEPT)


def small_json(file: Path) -> Mapping[str, Any] | None:
    """The object that a small file beside the shards holds; None where it is absent, half-written or no object."""
    try:
        value = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else None
