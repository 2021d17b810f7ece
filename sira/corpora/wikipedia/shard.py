"""One dump file made into documents: resumed after a kill at any instant, without loss and without repetition.

Rows go to files under names ending in `.part`. A checkpoint flushes them to disk and then records their sizes with the
number of pages that they stand for; what lies beyond the sizes of the last record is cut before the work goes on.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from sira.corpora.files import replacing
from sira.corpora.wikipedia.documents import Converted, Converter, Settings
from sira.corpora.wikipedia.dumps import Dump, fingerprint, open_dump
from sira.corpora.wikipedia.export import ExportedPage, Site, read_pages
from sira.errors import InputError

log = logging.getLogger("sira.wikipedia")

FORMAT = 1
CORPUS, TITLES, REDIRECTS = "corpus", "titles", "redirects"
OUTPUTS = {CORPUS: ".jsonl", TITLES: ".txt", REDIRECTS: ".jsonl"}
PROGRESS = "progress"
EXAMPLES = 20
_CHECKPOINT_S, _CHECKPOINT_PAGES = 1.0, 1000

Watch = Callable[[int, int], object]
"""Told the bytes of the dump file and the pages read since it was told last."""


@dataclass(slots=True)
class Progress:
    """How far a dump file is, as recorded. `pages` were read; `sizes` are bytes by output; counts are by name."""

    dump: str
    size: int
    fingerprint: str
    settings: dict[str, Any]
    format: int = FORMAT
    base: str = ""
    pages: int = 0
    sizes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTPUTS, 0))
    counts: Counter[str] = field(default_factory=Counter[str])
    """documents, without_text (of them), redirects, characters (of text), facets"""
    skipped: Counter[str] = field(default_factory=Counter[str])
    namespaces: Counter[str] = field(default_factory=Counter[str])
    examples: list[str] = field(default_factory=list[str])
    """Pages left out for a fault of theirs, the first few."""
    seconds: float = 0.0
    finished: bool = False


def _fields(progress: Progress) -> dict[str, Any]:
    return {name: getattr(progress, name) for name in progress.__slots__}


def shard_name(dump: Path) -> str:
    """What the outputs of a dump file are called."""
    return dump.name.removesuffix(".bz2").removesuffix(".gz").removesuffix(".xml")


def output(out: Path, kind: str, name: str) -> Path:
    return out / kind / f"{name}{OUTPUTS[kind]}"


def read_progress(path: Path) -> Progress | None:
    """The record of a dump file, or None where there is none. Raises InputError for one that cannot be read."""
    try:
        data: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        data = None
    fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    if fields.get("format") != FORMAT:
        raise InputError(f"{path}: is no record of this version of sira; give another --out, or delete the folder")
    for name in ("counts", "skipped", "namespaces"):
        fields[name] = Counter(fields[name])
    return Progress(**fields)


def recorded(dump: Path, out: Path, settings: Settings) -> Progress:
    """The record of a dump file in this folder; a new one where it was not begun.

    Raises InputError where the folder was begun with another file of this name or with other settings.
    """
    now: dict[str, Any] = json.loads(json.dumps(asdict(settings)))
    mark, size = fingerprint(dump), dump.stat().st_size
    progress = read_progress(out / PROGRESS / f"{shard_name(dump)}.json")
    if progress is None:
        return Progress(dump.name, size, mark, now)
    if progress.fingerprint != mark:
        raise InputError(f"{dump}: {out} was begun with another file of this name; give another --out")
    changed = [f"{name} were {progress.settings.get(name)}" for name in now if progress.settings.get(name) != now[name]]
    if changed:
        raise InputError(f"{out}: was begun with other settings ({'; '.join(changed)}); give those or another --out")
    return progress


def prepare_shard(dump: Path, out: Path, progress: Progress, watch: Watch) -> Progress:
    """Convert what is left of a dump file; its finished record.

    Raises InputError for a damaged file; what was done before the damage stays recorded.
    """
    name = shard_name(dump)
    with ExitStack() as stack:
        _lock(stack, out / PROGRESS / f".{name}.lock")
        finals = {kind: output(out, kind, name) for kind in OUTPUTS}
        if progress.finished and not all(final.exists() or _part(final).exists() for final in finals.values()):
            progress.finished = False  # somebody deleted what was made: the job finds it short and begins anew
        if not progress.finished:
            job = _Job(dump, out, name, progress, watch)
            with open_dump(dump) as opened:
                job.run(opened, stack)
        for final in finals.values():
            if _part(final).exists():
                _part(final).replace(final)
    return progress


class _Job:
    def __init__(self, dump: Path, out: Path, name: str, progress: Progress, watch: Watch) -> None:
        self._dump, self._out, self._name = dump, out, name
        self._progress, self._watch = progress, watch
        self._streams: dict[str, BinaryIO] = {}
        self._seconds, self._start = progress.seconds, time.perf_counter()

    def run(self, dump: Dump, stack: ExitStack) -> None:
        progress = self._progress
        self._open(stack)
        done, site = progress.pages, Site()
        convert: Converter | None = None
        offset = pages = 0
        saved, saved_pages = time.monotonic(), progress.pages
        for number, page in enumerate(read_pages(dump, site), start=1):
            if number > done:
                if convert is None:
                    convert = Converter(site, Settings(**progress.settings))
                    progress.base = site.base
                self._write(page, convert(page))
                progress.pages = number
            if number - saved_pages >= _CHECKPOINT_PAGES or time.monotonic() - saved > _CHECKPOINT_S:
                if number > done:
                    self._checkpoint()
                self._watch(dump.offset() - offset, number - pages)
                offset, pages = dump.offset(), number
                saved, saved_pages = time.monotonic(), number
        progress.finished = True
        self._checkpoint()
        self._watch(progress.size - offset, progress.pages - pages)

    def _open(self, stack: ExitStack) -> None:
        """Open the outputs at the sizes that are recorded; from the start where one is shorter than that."""
        progress = self._progress
        parts = {kind: _part(output(self._out, kind, self._name)) for kind in OUTPUTS}
        for part in parts.values():
            part.touch()
        short = [part for kind, part in parts.items() if part.stat().st_size < progress.sizes[kind]]
        if short:
            log.warning("%s: is shorter than recorded; %s is read from its begin", short[0], self._dump)
            self._begin_anew()
        elif progress.pages:
            log.info("%s: %s pages done before", self._dump.name, f"{progress.pages:,}")
        for kind, part in parts.items():
            os.truncate(part, progress.sizes[kind])
            self._streams[kind] = stack.enter_context(part.open("ab"))

    def _begin_anew(self) -> None:
        progress = self._progress
        fresh = Progress(progress.dump, progress.size, progress.fingerprint, progress.settings)
        for name, value in _fields(fresh).items():
            setattr(progress, name, value)

    def _write(self, page: ExportedPage, converted: Converted) -> None:
        progress = self._progress
        progress.namespaces[page.namespace] += 1
        if converted.redirect is not None:
            progress.counts["redirects"] += 1
            if converted.row is None:
                progress.skipped["redirect"] += 1
            self._append(REDIRECTS, _json({"from": converted.name, "to": converted.redirect}))
        if converted.row is not None:
            text: str = converted.row["text"]
            progress.counts.update(
                documents=1,
                without_text=int(not text),
                characters=len(text),
                facets=len(converted.row.get("facets", ())),
            )
            self._append(CORPUS, _json(converted.row))
            self._append(TITLES, converted.name)
        if converted.skipped is not None:
            progress.skipped[converted.skipped] += 1
            if converted.skipped == "bad_title" and len(progress.examples) < EXAMPLES:
                progress.examples.append(f"{self._dump.name}: page {page.page}, {page.title[:100]!r}")

    def _append(self, kind: str, line: str) -> None:
        self._progress.sizes[kind] += self._streams[kind].write(line.encode() + b"\n")

    def _checkpoint(self) -> None:
        """Rows first, then the record that counts them."""
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())
        self._progress.seconds = round(self._seconds + time.perf_counter() - self._start, 2)
        with replacing(self._out / PROGRESS / f"{self._name}.json") as stream:
            stream.write(json.dumps(_fields(self._progress), ensure_ascii=False, indent=1) + "\n")


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _json(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)


def _lock(stack: ExitStack, path: Path) -> None:
    """Wait for a process of a job that was killed, which ends soon after its parent."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    stack.callback(os.close, lock)
    fcntl.flock(lock, fcntl.LOCK_EX)
