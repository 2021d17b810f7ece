"""Building an index: records stream in, batches go to Java from several threads, the folder appears whole."""

from __future__ import annotations

import datetime as dt
import hashlib
import struct
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from sira import __version__
from sira.analysis import MAX_TERM_BYTES
from sira.errors import DuplicateIdError, InputError
from sira.folders import staging
from sira.lucene.analyzers import ANALYZERS, analyzer_name
from sira.lucene.folders import INDEX
from sira.lucene.jvm import engine, java_errors, java_path
from sira.lucene.manifest import Manifest
from sira.lucene.values import to_number
from sira.lucene.wire import Unpacker, pack_strings, to_bytes
from sira.records import Document, Place, Record, Skip, SkipReason

BATCH_DOCUMENTS = 500
BATCH_BYTES = 1 << 20
DEFAULT_BUFFER_MB = 64.0
DEFAULT_THREADS = 2
MAX_ID_BYTES = 512
EXAMPLES = 20

_PAIR = struct.Struct("<ii")
_INT = struct.Struct("<i")


class DocumentPacker:
    """Packs documents as Engine.addDocuments reads them, and counts what had to be left out of them."""

    def __init__(self, value_fields: Mapping[str, str], *, facet_words: bool, store_text: bool) -> None:
        self.value_fields, self.facet_words, self.store_text = value_fields, facet_words, store_text
        self.dropped: Counter[str] = Counter()

    def pack(self, document: Document, ord_: int) -> bytes:
        """The document must be free of faults (`document_fault`)."""
        facets, numbers = (), ()
        contents = document.contents
        if document.facets:
            facets = [facet for facet in document.facets if len(facet.encode()) <= MAX_TERM_BYTES]
            self.dropped["facet_too_long"] += len(document.facets) - len(facets)
            if self.facet_words:
                words = (facet.partition(":")[2].replace("_", " ") for facet in facets)
                contents = " ".join((contents, *words)).strip()
        if self.value_fields:
            numbers = list(self._numbers(document))
        stored = [("title", document.title), ("text", document.text)] if self.store_text else []
        if document.url:
            stored.append(("url", document.url))
        stored += [(f"value:{name}", repr(document.values[name])) for name, _, _ in numbers]
        docid, body = document.docid.encode(), contents.encode()
        parts = [_PAIR.pack(ord_, len(docid)), docid, _INT.pack(len(body)), body, _INT.pack(len(stored))]
        for name, value in stored:
            key, data = name.encode(), value.encode()
            parts += (_INT.pack(len(key)), key, _INT.pack(len(data)), data)
        parts.append(_INT.pack(len(facets)))
        for facet in facets:
            data = facet.encode()
            parts += (_INT.pack(len(data)), data)
        parts.append(_INT.pack(len(numbers)))
        for name, kind, value in numbers:
            key = name.encode()
            number = struct.pack("<d", value) if kind == "number" else struct.pack("<q", value)
            parts += (_INT.pack(len(key)), key, b"d" if kind == "number" else b"l", number)
        return b"".join(parts)

    def _numbers(self, document: Document) -> Iterator[tuple[str, str, int | float]]:
        for name, kind in self.value_fields.items():
            value = document.values.get(name)
            if value is None:
                continue
            try:
                yield name, kind, to_number(kind, value)
            except ValueError:
                self.dropped[f"bad_value:{name}"] += 1


class Feed:
    """Sends documents to an open Lucene writer in batches, a bounded number of them at a time."""

    def __init__(self, handle: int, packer: DocumentPacker, threads: int) -> None:
        self._handle, self._packer, self._threads = handle, packer, threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="sira-index")
        self._waiting: list[Future[None]] = []
        self._batch: list[bytes] = []
        self._bytes = 0

    def add(self, document: Document, ord_: int) -> None:
        data = self._packer.pack(document, ord_)
        self._batch.append(data)
        self._bytes += len(data)
        if len(self._batch) >= BATCH_DOCUMENTS or self._bytes >= BATCH_BYTES:
            self._send()

    def _send(self) -> None:
        batch = b"".join((_INT.pack(len(self._batch)), *self._batch))
        self._batch, self._bytes = [], 0
        while len(self._waiting) > self._threads:
            self._waiting.pop(0).result()
        self._waiting.append(self._pool.submit(self._write, batch))

    def _write(self, batch: bytes) -> None:
        with java_errors():
            engine.addDocuments(self._handle, batch)

    def finish(self) -> None:
        """Send the rest and wait; raises the first error of any batch."""
        if self._batch:
            self._send()
        for future in self._waiting:
            future.result()
        self._waiting = []

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def lucene_writer(folder: Path, analyzer: str, buffer_mb: float, *, create: bool) -> Generator[int]:
    """The handle of an open Lucene writer; what was not committed is dropped when the block ends."""
    with java_errors():
        handle = engine.openWriter(java_path(folder), ANALYZERS[analyzer], buffer_mb, create)
    try:
        yield handle
    finally:
        engine.close(handle)


def build_index(
    records: Callable[[], Iterable[Record]],
    target: Path,
    *,
    analyzer: str = "english",
    duplicates: str = "refuse",
    value_fields: Mapping[str, str] | None = None,
    facet_words: bool = False,
    store_text: bool = True,
    threads: int = DEFAULT_THREADS,
    buffer_mb: float = DEFAULT_BUFFER_MB,
    overwrite: bool = False,
    progress: bool = True,
) -> Manifest:
    """Index a corpus (contents only; see sira.expand for expansions) into the folder `target`.

    `records` is called once to index, and once more to name the lines of duplicate docids. Every record is counted:
    read = indexed + skipped. `duplicates` is `refuse` or `keep-first` (in the order of the source).
    Raises DuplicateIdError, IndexFault (the target), InputError (nothing to index), EnvironmentFault (Java).
    """
    if duplicates not in ("refuse", "keep-first"):
        raise InputError(f"duplicates = {duplicates!r}: choose refuse or keep-first")
    if threads < 1:
        raise InputError(f"threads = {threads}: give at least 1")
    analyzer = analyzer_name(analyzer)
    packer = DocumentPacker(value_fields or {}, facet_words=facet_words, store_text=store_text)
    with staging(target, INDEX, overwrite=overwrite) as folder:
        with lucene_writer(folder, analyzer, buffer_mb, create=True) as handle:
            counts = stream(records(), handle, packer, threads, progress=progress)
            with java_errors():
                twice = duplicate_ids(handle, keep_first=duplicates == "keep-first")
            if twice and duplicates == "refuse":
                raise DuplicateIdError(f"{name_duplicates(records(), twice)}, or choose keep-first for duplicates")
            if twice:
                counts.drop_duplicates(records(), set(twice))
            with java_errors():
                engine.commit(handle)
        if counts.read == 0:
            raise InputError("the corpus holds no record: nothing to index")
        if counts.indexed == 0:
            raise InputError(f"no record of the corpus can be indexed, for example {counts.examples[0]}")
        manifest = Manifest(
            analyzer=analyzer,
            documents=counts.indexed,
            read=counts.read,
            indexed=counts.indexed,
            empty=counts.empty,
            skipped=dict(sorted(counts.skipped.items())),
            skipped_examples=counts.examples,
            dropped={key: value for key, value in sorted(packer.dropped.items()) if value},
            duplicates=duplicates,
            value_fields=dict(value_fields or {}),
            facet_words=facet_words,
            stored_text=store_text,
            closed_positions=True,
            corpus_fingerprint=counts.fingerprint(),
        )
        return seal(folder, manifest)


def seal(folder: Path, manifest: Manifest) -> Manifest:
    """Complete a manifest with what Lucene says of the finished files, and write it."""
    from sira.lucene.reader import describe

    with java_errors():
        handle = engine.openReader(java_path(folder), -1)
        try:
            facts = describe(handle)
            words = engine.expansionWords(handle)
            version = engine.luceneVersion()
        finally:
            engine.close(handle)
    manifest = replace(
        manifest,
        documents=facts.documents,
        statistics=facts.statistics,
        expansion_words=words,
        sira_version=__version__,
        lucene_version=version,
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )
    manifest.write(folder)
    return manifest


class Counts:
    """What became of the records."""

    def __init__(self) -> None:
        self.read = self.indexed = self.empty = 0
        self.skipped: Counter[str] = Counter()
        self.examples: list[str] = []
        self._hash = hashlib.sha256()

    def skip(self, place: Place, skip: Skip) -> None:
        self.skipped[skip.reason.value] += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(skip.at(place))

    def document(self, document: Document) -> None:
        self.indexed += 1
        self.empty += not document.contents.strip()
        self._hash.update(f"{document.docid}\0{document.contents}\0".encode())

    def fingerprint(self) -> str:
        """SHA-256 over docid and contents of each document in the order of the source."""
        return self._hash.hexdigest()

    def drop_duplicates(self, records: Iterable[Record], twice: set[str]) -> None:
        """Move the later ones of equal docids from indexed to skipped, by reading the source again."""
        first: dict[str, Place] = {}
        for place, document in indexable(records):
            if document.docid not in twice:
                continue
            if document.docid in first:
                self.indexed -= 1
                self.empty -= not document.contents.strip()
                detail = f"docid {document.docid!r} stands also at {first[document.docid]}, which is kept"
                self.skip(place, Skip(SkipReason.DUPLICATE_ID, detail, document.docid))
            else:
                first[document.docid] = place


def stream(
    records: Iterable[Record], handle: int, packer: DocumentPacker, threads: int, *, progress: bool = True
) -> Counts:
    """Send every document to the open writer and count every record."""
    counts = Counts()
    feed = Feed(handle, packer, threads)
    bar = tqdm(desc="index", unit=" docs", disable=not progress, mininterval=0.5)
    try:
        for place, record in records:
            counts.read += 1
            if isinstance(record, Skip):
                counts.skip(place, record)
                continue
            fault = document_fault(record)
            if fault is None:
                feed.add(record, counts.read)
                counts.document(record)
            else:
                counts.skip(place, fault)
            if counts.read % BATCH_DOCUMENTS == 0:
                bar.update(BATCH_DOCUMENTS)
        bar.update(counts.read % BATCH_DOCUMENTS)
        feed.finish()
    finally:
        feed.close()
        bar.close()
    return counts


def document_fault(document: Document) -> Skip | None:
    """Why a document cannot be indexed; None where it can."""
    if not document.docid:
        return Skip(SkipReason.MISSING_ID, "the docid is empty: give every document an id")
    if len(document.docid) > MAX_ID_BYTES // 4 and len(document.docid.encode("utf-8", "replace")) > MAX_ID_BYTES:
        detail = f"docid {document.docid[:40]!r}… is longer than {MAX_ID_BYTES} bytes: use shorter ids"
        return Skip(SkipReason.INVALID_ID, detail, document.docid)
    try:
        "".join((document.docid, document.title, document.text, document.url or "", *document.facets)).encode()
    except UnicodeEncodeError:
        detail = f"docid {document.docid!r} holds text that is no Unicode (a lone surrogate): repair the source"
        return Skip(SkipReason.INVALID_UNICODE, detail)
    return None


def indexable(records: Iterable[Record]) -> Iterator[tuple[Place, Document]]:
    """The records that become documents, as `stream` sends them."""
    for place, record in records:
        if isinstance(record, Document) and document_fault(record) is None:
            yield place, record


def duplicate_ids(handle: int, *, keep_first: bool) -> list[str]:
    """The docids that stand more than once, once the documents are in; `keep_first` deletes all but the first."""
    reply = Unpacker(to_bytes(engine.duplicates(handle, keep_first)))
    return [reply.string() for _ in range(reply.integer())]


def name_duplicates(records: Iterable[Record], twice: list[str]) -> str:
    """One line that names the first few duplicate docids with all their places."""
    places: dict[str, list[str]] = {docid: [] for docid in twice[:3]}
    for place, document in indexable(records):
        if document.docid in places:
            places[document.docid].append(str(place))
    named = "; ".join(f"{docid!r} at {' and '.join(found)}" for docid, found in places.items())
    more = f" (and {len(twice) - len(places)} more)" if len(twice) > len(places) else ""
    return f"duplicate docids: {named}{more}: make them unique"


def delete_ids(handle: int, docids: Iterable[str]) -> None:
    with java_errors():
        engine.deleteDocuments(handle, pack_strings(list(docids)))
