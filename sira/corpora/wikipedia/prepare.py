"""Dump files into a corpus: each file a shard of its own, several at once, then a manifest over all of them."""

from __future__ import annotations

import hashlib
import json
import logging
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from sira.corpora.files import replacing
from sira.corpora.wikipedia.documents import Settings
from sira.corpora.wikipedia.shard import (
    CORPUS,
    EXAMPLES,
    FORMAT,
    OUTPUTS,
    PROGRESS,
    Progress,
    Watch,
    output,
    prepare_shard,
    read_progress,
    recorded,
    shard_name,
)
from sira.errors import EnvironmentFault, InputError, SiraError
from sira.folders import owned

log = logging.getLogger("sira.wikipedia")

MANIFEST = "manifest.json"
KIND = "wikipedia"

Manifest = dict[str, Any]


def prepare(
    dumps: Sequence[Path], out: Path, settings: Settings | None = None, *, processes: int = 1, progress: bool = False
) -> Manifest:
    """Convert the dump files into the folder `out`, or what is left of them; the manifest.

    Files may be added later: the manifest is over all that the folder was given. Memory does not grow with the dumps.
    Raises InputError for a file that is absent, damaged or no export, for two of one name, for a folder that was begun
    with other settings or is in use.
    """
    settings = settings or Settings()
    if processes < 1:
        raise InputError(f"processes = {processes}: give 1 or more")
    names = Counter(shard_name(dump) for dump in dumps)
    if twice := [name for name, times in names.items() if times > 1]:
        raise InputError(f"two dump files are called {twice[0]!r}, and so would their outputs be: rename one")
    with owned(out):
        for kind in (*OUTPUTS, PROGRESS):
            (out / kind).mkdir(exist_ok=True)
        for torn in (out / PROGRESS).glob(".*.tmp"):
            torn.unlink(missing_ok=True)
        records = {dump: recorded(dump, out, settings) for dump in dumps}
        if not all(record.finished for record in records.values()):
            (out / MANIFEST).unlink(missing_ok=True)
        _run(records, out, processes, progress)
        manifest = _manifest(out, settings)
        with replacing(out / MANIFEST) as stream:
            stream.write(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n")
    return manifest


def _run(records: dict[Path, Progress], out: Path, processes: int, progress: bool) -> None:
    total = sum(record.size for record in records.values() if not record.finished)
    start, pages = time.monotonic(), 0
    with tqdm(total=total, unit="B", unit_scale=True, desc="dumps", disable=not progress, mininterval=0.5) as bar:

        def watch(read: int, more: int) -> None:
            nonlocal pages
            pages += more
            rate = pages / max(time.monotonic() - start, 1e-9)
            bar.set_postfix_str(f"{pages:,} pages, {rate:,.0f}/s", refresh=False)
            bar.update(read)

        if processes == 1 or len(records) == 1:
            for dump, record in records.items():
                prepare_shard(dump, out, record, watch)
        else:
            _in_processes(records, out, processes, watch)


def _in_processes(records: dict[Path, Progress], out: Path, processes: int, watch: Watch) -> None:
    """The longest files first. The first fault ends the rest at their next checkpoint."""
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    stop: Any = context.Event()
    longest = sorted(records, key=lambda dump: -records[dump].size)
    with ProcessPoolExecutor(
        min(processes, len(records)), mp_context=context, initializer=_set_up, initargs=(told, stop, os.getpid())
    ) as pool:
        work = [pool.submit(_in_process, dump, out, records[dump]) for dump in longest]
        try:
            while not all(future.done() for future in work):
                _drain(told, watch)
                if fault := next(filter(None, map(_fault, work)), None):
                    raise fault
            for future in work:
                future.result()
        except BrokenProcessPool:
            raise EnvironmentFault(
                f"{out}: a process was ended from outside (memory?): give fewer --processes and run again; "
                "what is done is kept"
            ) from None
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _fault(future: Future[None]) -> BaseException | None:
    return future.exception() if future.done() and not future.cancelled() else None


def _drain(told: Any, watch: Watch) -> None:
    with suppress(queue.Empty):
        while True:
            watch(*told.get(timeout=0.2))


class _Stopped(SiraError):
    """Another shard failed, or the job was interrupted."""


_parent: tuple[Any, Any] | None = None


def _set_up(told: Any, stop: Any, parent: int) -> None:
    global _parent
    _parent = told, stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process gets it too, and says when to stop
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """A pool's process outlives a parent that was killed, and waits for work for ever."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def _in_process(dump: Path, out: Path, record: Progress) -> None:
    assert _parent is not None, "_set_up() runs first"
    told, stop = _parent

    def watch(read: int, pages: int) -> None:
        told.put((read, pages))
        if stop.is_set():
            raise _Stopped(f"{dump}: stopped")

    prepare_shard(dump, out, record, watch)


def _manifest(out: Path, settings: Settings) -> Manifest:
    """Over every dump file that the folder was given; those still unfinished are named in an InputError."""
    records = [found for path in sorted((out / PROGRESS).glob("*.json")) if (found := read_progress(path)) is not None]
    if unfinished := [record.dump for record in records if not record.finished]:
        raise InputError(f"{out}: {unfinished[0]} was begun here and not finished: give it again, beside the others")
    counts, skipped, namespaces = Counter[str](), Counter[str](), Counter[str]()
    for record in records:
        counts.update(record.counts)
        skipped.update(record.skipped)
        namespaces.update(record.namespaces)
    digest = hashlib.sha256()
    for record in records:
        with output(out, CORPUS, shard_name(Path(record.dump))).open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return {
        "format": FORMAT,
        "kind": KIND,
        "base": next((record.base for record in records if record.base), ""),
        "settings": asdict(settings),
        "fingerprint": digest.hexdigest(),
        "pages": sum(record.pages for record in records),
        "counts": dict(sorted(counts.items())),
        "skipped": dict(sorted(skipped.items())),
        "namespaces": dict(sorted(namespaces.items(), key=lambda item: int(item[0]))),
        "examples": [example for record in records for example in record.examples][:EXAMPLES],
        "bytes": {kind: sum(record.sizes[kind] for record in records) for kind in OUTPUTS},
        "seconds": round(sum(record.seconds for record in records), 2),
        "dumps": [
            {"name": record.dump, "size": record.size, "fingerprint": record.fingerprint, "pages": record.pages}
            for record in records
        ],
    }
