"""Changing a finished index: its expansions, and single documents. Every change makes a new folder and swaps it in.

Lucene's files are never rewritten, so the new folder starts as hard links to the old files: cheap, and the old index
stays whole until the swap.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sira.errors import DuplicateIdError, IndexFault, NotFoundError
from sira.folders import staging
from sira.lucene.folders import INDEX
from sira.lucene.jvm import engine, java_errors, java_path
from sira.lucene.manifest import FILE, Manifest, read_manifest
from sira.lucene.reader import Index
from sira.lucene.wire import Packer, to_bytes
from sira.lucene.writer import (
    DEFAULT_BUFFER_MB,
    DEFAULT_THREADS,
    DocumentPacker,
    delete_ids,
    duplicate_ids,
    indexable,
    lucene_writer,
    name_duplicates,
    seal,
    stream,
)
from sira.records import Place, Record

ROWS = 1000


@dataclass(frozen=True, slots=True)
class ExpansionTerms:
    """What becomes postings of `expansion` for one document: words, and atoms of several words."""

    docid: str
    words: list[str]
    atoms: list[str]
    place: Place


@dataclass(slots=True)
class AttachCounts:
    """Documents that got expansions, and rows whose docid the index does not hold (with the first few places)."""

    documents: int = 0
    unknown: int = 0
    unknown_examples: list[str] = field(default_factory=list[str])


def _own_manifest(path: Path) -> Manifest:
    if not path.is_dir():
        raise IndexFault(f"{path}: there is no such folder: build an index with `sira index SOURCE --index {path}`")
    manifest = read_manifest(path)
    if manifest is None:
        raise IndexFault(f"{path}: is no index of sira's own, and such indexes are opened for reading only")
    return manifest


def _check_unchanged(path: Path, manifest: Manifest) -> None:
    """Two changes at a time: the second to end would undo the first, so it is refused."""
    if read_manifest(path) != manifest:
        raise IndexFault(f"{path}: another process changed it meanwhile: nothing was written, run this again")


def attach_expansions(
    base: Path,
    rows: Iterable[ExpansionTerms],
    target: Path,
    describe: Callable[[AttachCounts], dict[str, Any] | None],
    *,
    overwrite: bool = False,
    buffer_mb: float = DEFAULT_BUFFER_MB,
) -> Manifest:
    """Write to `target` the index `base` with these expansions in place of any it had; no text is analysed again.

    `describe` gives the manifest's `expansion` entry from the counts, once all rows are in. `target` may be `base`.
    Raises DuplicateIdError for a docid in two rows.
    """
    manifest = _own_manifest(base)
    with staging(target, INDEX, overwrite=overwrite) as folder:
        work = folder / ".attach"
        with java_errors():
            handle = engine.openAttachment(java_path(base), java_path(work), buffer_mb)
        try:
            counts = _add_rows(handle, rows)
            with java_errors():
                engine.finishAttachment(handle, java_path(folder), buffer_mb)
        finally:
            engine.close(handle)
        shutil.rmtree(work, ignore_errors=True)
        if target.resolve() == base.resolve():
            _check_unchanged(base, manifest)
        return seal(folder, replace(manifest, expansion=describe(counts)))


def _add_rows(handle: int, rows: Iterable[ExpansionTerms]) -> AttachCounts:
    counts = AttachCounts()
    batch: list[ExpansionTerms] = []
    for row in rows:
        batch.append(row)
        if len(batch) == ROWS:
            _add_batch(handle, batch, counts)
            batch = []
    _add_batch(handle, batch, counts)
    return counts


def _add_batch(handle: int, batch: list[ExpansionTerms], counts: AttachCounts) -> None:
    packer = Packer()
    packer.integer(len(batch))
    for row in batch:
        packer.string(row.docid)
        packer.integer(len(row.words))
        packer.integer(len(row.words) + len(row.atoms))
        packer.strings(row.words)
        packer.strings(row.atoms)
    with java_errors():
        outcomes = to_bytes(engine.addExpansions(handle, packer.take()))
    for row, outcome in zip(batch, outcomes, strict=True):
        if outcome == 2:
            raise DuplicateIdError(
                f"{row.place}: docid {row.docid!r} has a row already: a store holds one row a document"
            )
        if outcome == 1:
            counts.unknown += 1
            if len(counts.unknown_examples) < 5:
                counts.unknown_examples.append(f"{row.place}: {row.docid}")
        else:
            counts.documents += 1


def drop_expansions(base: Path, target: Path, *, overwrite: bool = False) -> Manifest:
    """The index without its expansions: the same scores as if there had never been any."""
    return attach_expansions(base, (), target, lambda _: None, overwrite=overwrite)


@contextmanager
def _copy(path: Path) -> Generator[Path]:
    with staging(path, INDEX, overwrite=True) as folder:
        for file in path.iterdir():
            if file.is_file() and file.name not in (FILE, "write.lock") and not file.name.startswith("."):
                try:
                    os.link(file, folder / file.name)
                except OSError:  # a file system without hard links
                    shutil.copy2(file, folder / file.name)
        yield folder


def update_index(
    path: Path,
    *,
    add: Callable[[], Iterable[Record]] | None = None,
    update: bool = False,
    delete: Iterable[str] = (),
    threads: int = DEFAULT_THREADS,
    progress: bool = True,
) -> Manifest:
    """Delete documents, then add documents; with `update`, those that are there already are replaced.

    All counts, df and lengths are those of the living documents afterwards. An added or replaced document has no
    expansions until they are attached again. The old index stays whole until the new one is complete.
    Raises NotFoundError for a docid to delete that is absent, DuplicateIdError for one to add that is present.
    """
    manifest = _own_manifest(path)
    gone = list(dict.fromkeys(delete))
    packer = DocumentPacker(manifest.value_fields, facet_words=manifest.facet_words, store_text=manifest.stored_text)
    with Index(path) as index:
        _check_present(index, gone)
        if add is not None and not update:
            _check_absent(index, add(), set(gone))
    fingerprint = hashlib.sha256((manifest.corpus_fingerprint or "").encode())
    with _copy(path) as folder:
        with lucene_writer(folder, manifest.analyzer, DEFAULT_BUFFER_MB, create=False) as handle:
            delete_ids(handle, gone)
            fingerprint.update("\0".join(["delete", *gone]).encode())
            read = indexed = empty = 0
            skipped = dict(manifest.skipped)
            if add is not None:
                if update:
                    _delete_given(handle, add())
                counts = stream(add(), handle, packer, threads, progress=progress)
                read, indexed, empty = counts.read, counts.indexed, counts.empty
                for reason, count in counts.skipped.items():
                    skipped[reason] = skipped.get(reason, 0) + count
                fingerprint.update(counts.fingerprint().encode())
            with java_errors():
                twice = duplicate_ids(handle, keep_first=False)
                if twice and add is not None:
                    raise DuplicateIdError(name_duplicates(add(), twice))
                engine.commit(handle)
        _check_unchanged(path, manifest)
        return seal(
            folder,
            replace(
                manifest,
                read=manifest.read + read,
                indexed=manifest.indexed + indexed,
                empty=manifest.empty + empty,
                skipped=skipped,
                dropped={
                    reason: manifest.dropped.get(reason, 0) + packer.dropped[reason]
                    for reason in sorted({*manifest.dropped, *+packer.dropped})
                },
                corpus_fingerprint=fingerprint.hexdigest(),
            ),
        )


def _check_present(index: Index, docids: list[str]) -> None:
    missing = [docid for docid, df in zip(docids, index.id_df(docids), strict=True) if df == 0]
    if missing:
        raise NotFoundError(f"docid {missing[0]!r} ({len(missing)} in all) is not in {index.path}: nothing was deleted")


def _check_absent(index: Index, records: Iterable[Record], gone: set[str]) -> None:
    for batch in _batches(records):
        for (place, docid), df in zip(batch, index.id_df([docid for _, docid in batch]), strict=True):
            if df and docid not in gone:
                raise DuplicateIdError(
                    f"{place}: docid {docid!r} is in {index.path} already: use --update in place of --add to replace it"
                )


def _delete_given(handle: int, records: Iterable[Record]) -> None:
    for batch in _batches(records):
        delete_ids(handle, [docid for _, docid in batch])


def _batches(records: Iterable[Record]) -> Iterator[list[tuple[Place, str]]]:
    batch: list[tuple[Place, str]] = []
    for place, document in indexable(records):
        batch.append((place, document.docid))
        if len(batch) == ROWS:
            yield batch
            batch = []
    yield batch
