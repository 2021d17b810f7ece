"""One shard of an expansion store on disk.

While a job works, rows are appended to `shard-00000-of-00008.jsonl.part` in the order in which replies come. When all
are there, the rows are written anew in the order of the corpus, and the file takes its name without `.part`. A row is
one `write` of a whole line, so that after a kill at most the last line is torn; it is cut and its document done again.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from sira.errors import EnvironmentFault, InputError
from sira.expand.arrays import Hashes, Mask, count, find, first_of_each, where_marked
from sira.expand.arrays import hashes as as_hashes
from sira.expand.ids import hash64
from sira.llm.base import Usage
from sira.records import FAILURES, Status

log = logging.getLogger("sira.expand")

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
SYNC_SECONDS = 5.0
"""A crash of the machine, not of the process, loses at most the rows of so many seconds."""


def shard_name(shard: int, shards: int) -> str:
    """The name of a finished shard's file; `shard` counts from 0."""
    return f"shard-{shard:05d}-of-{shards:05d}.jsonl"


def failed(row: Mapping[str, Any]) -> bool:
    """Whether a row counts as a failure: by its status, or cut off before it had a phrase."""
    return row["status"] in FAILURES or (row["status"] == Status.TRUNCATED and not row["phrases"])


@dataclass(slots=True)
class Tally:
    """What the rows of a shard add up to."""

    rows: int = 0
    failures: int = 0
    statuses: Counter[str] = field(default_factory=Counter[str])
    dropped: Counter[str] = field(default_factory=Counter[str])
    phrases: int = 0
    cut: int = 0
    retried: int = 0
    usage: Usage = field(default_factory=Usage)

    def add(self, row: dict[str, Any]) -> None:
        self.rows += 1
        self.failures += failed(row)
        self.statuses[row["status"]] += 1
        self.phrases += len(row["phrases"])
        self.dropped.update(row.get("dropped") or {})
        self.cut += "cut" in row
        self.retried += "attempts" in row
        if "usage" in row:
            self.usage += Usage(**row["usage"])


@dataclass(slots=True)
class Scan:
    """The good rows of a file: hash of docid, fingerprint of the text as the row states it, and where the line lies.

    `damaged`: lines that are no row, or of a docid that had one; they are left out.
    """

    hashes: Hashes
    documents: Hashes
    offsets: Hashes
    lengths: Hashes
    damaged: int

    def without(self, dropped: Mask) -> Scan:
        """The rows but those marked."""
        if not dropped.any():
            return self
        kept = ~dropped
        return Scan(self.hashes[kept], self.documents[kept], self.offsets[kept], self.lengths[kept], self.damaged)


class ShardFile:
    """A shard's rows. Holds the shard's lock from `open` to `close`, so that two processes never write one shard."""

    def __init__(self, folder: Path, shard: int, shards: int) -> None:
        self.shard, self.shards = shard, shards
        self.final = folder / shard_name(shard, shards)
        self.part = self.final.with_name(self.final.name + ".part")
        self.tally = Tally()
        self._guard = threading.Lock()
        self._stream: int | None = None
        self._synced = time.monotonic()
        self._lock = _locked(self.final.with_name(f".{self.final.name}.lock"))

    @property
    def finished(self) -> bool:
        """Whether the finished file is there and no work on it has begun anew."""
        return self.final.exists() and not self.part.exists()

    @property
    def _source(self) -> Path:
        return self.part if self.part.exists() else self.final

    def read(self, stale: Callable[[dict[str, Any]], bool] | None = None) -> Scan:
        """Find the rows that are there, in the part or else in the finished file; `stale` rows are left out.

        What is left out stays in the file until `compact`.
        """
        keys, documents, offsets, lengths = (array("Q") for _ in range(4))
        damaged = 0
        for offset, line in _lines(self._source):
            row = _row(line)
            if row is None:
                damaged += 1
            elif stale is None or not stale(row):
                keys.append(hash64(row["docid"]))
                documents.append(_fingerprint(row))
                offsets.append(offset)
                lengths.append(len(line))
        first = first_of_each(as_hashes(keys))
        twice = len(first) - count(first)
        return Scan(
            where_marked(as_hashes(keys), first),
            where_marked(as_hashes(documents), first),
            where_marked(as_hashes(offsets), first),
            where_marked(as_hashes(lengths), first),
            damaged + twice,
        )

    def compact(self, scan: Scan) -> None:
        """Make the part file hold exactly the rows of a scan, and open it for appending.

        Where rows go, it is written under another name and renamed: a kill leaves the old part or the new one. Where
        none do, a torn last line is cut.
        """
        end = int(scan.offsets[-1] + scan.lengths[-1]) if len(scan.offsets) else 0
        if self.part.exists() and int(scan.lengths.sum()) == end:
            os.truncate(self.part, end)
            self._stream = os.open(self.part, os.O_WRONLY | os.O_APPEND)
            return
        temporary = self.part.with_name(self.part.name + ".new")
        with temporary.open("wb") as target:
            target.writelines(_spans(self._source, scan.offsets, scan.lengths))
            target.flush()
            os.fsync(target.fileno())
        temporary.replace(self.part)
        self._stream = os.open(self.part, os.O_WRONLY | os.O_APPEND)

    def add_up(self, scan: Scan) -> None:
        """Count the rows of a scan into `tally`."""
        self.tally = Tally()
        for line in _spans(self._source, scan.offsets, scan.lengths):
            self.tally.add(json.loads(line))

    def docid(self, scan: Scan, number: int) -> str:
        """The docid of one row of a scan."""
        (line,) = _spans(self._source, scan.offsets[number : number + 1], scan.lengths[number : number + 1])
        return json.loads(line)["docid"]

    def append(self, row: dict[str, Any]) -> None:
        """Add one row. Safe from several threads."""
        line = _encode(row).encode("utf-8", "backslashreplace") + b"\n"
        with self._guard:
            assert self._stream is not None, "compact() opens the file"
            try:
                written = os.write(self._stream, line)
                while written < len(line):  # a signal, or the last room of a disk
                    written += os.write(self._stream, line[written:])
            except OSError as error:
                raise EnvironmentFault(
                    f"{self.part}: cannot be written ({error.strerror}): mend that and run the job again; "
                    "what is done is kept"
                ) from None
            self.tally.add(row)
            if time.monotonic() - self._synced > SYNC_SECONDS:
                self._synced = time.monotonic()
                os.fdatasync(self._stream)

    def finish(self, order: Hashes) -> None:
        """Write the rows in the order of the corpus (hashes of docids) under the final name, and remove the part.

        Raises InputError where a document has no row.
        """
        self._close_stream()
        scan = self.read()
        rows = find(order, scan.hashes)
        if (rows < 0).any():
            raise InputError(f"{self.part}: rows are missing although the job is done: run it again")
        temporary = self.final.with_name(f".{self.final.name}.new")
        with temporary.open("wb") as target:
            for line in _spans(self.part, scan.offsets[rows], scan.lengths[rows]):
                target.write(line)
            target.flush()
            os.fsync(target.fileno())
        temporary.replace(self.final)
        self.part.unlink()

    def _close_stream(self) -> None:
        if self._stream is not None:
            os.fsync(self._stream)
            os.close(self._stream)
            self._stream = None

    def close(self) -> None:
        """Put everything on disk and let go of the lock."""
        self._close_stream()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(path: Path) -> int | None:
    lock = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise InputError(
            f"{path.parent}: another process works on {path.name[1:-5]}: wait for it, or give another --shard"
        ) from None
    except OSError as error:  # some network file systems have no locks
        log.warning("%s: no locks here (%s): see to it that no two processes do one shard", path.parent, error.strerror)
    return lock


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(offset, line with its end) of each line; a last line without an end is torn and left out."""
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return
    with stream:
        offset = 0
        for line in stream:
            if line.endswith(b"\n"):
                yield offset, line
            offset += len(line)


def _spans(path: Path, offsets: Hashes, lengths: Hashes) -> Iterator[bytes]:
    if not len(offsets):
        return
    with path.open("rb") as stream:  # no mmap: its pages would count as this process's memory
        for offset, length in zip(map(int, offsets), map(int, lengths), strict=True):
            yield os.pread(stream.fileno(), length, offset)


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    data = cast(dict[str, Any], row)
    good = isinstance(data.get("docid"), str) and isinstance(data.get("status"), str)
    return data if good and isinstance(data.get("phrases"), list) else None


def _fingerprint(row: dict[str, Any]) -> int:
    try:
        return int(row["provenance"]["document"], 16)
    except (KeyError, TypeError, ValueError):
        return 0
