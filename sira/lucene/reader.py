"""An open index: statistics, analysis, documents and search. One Index serves many threads."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from sira.errors import IndexFault, InputError, NotFoundError
from sira.lucene.analyzers import analyze
from sira.lucene.builds import build_of
from sira.lucene.encode import encode_program
from sira.lucene.jvm import JavaError, engine, java_errors, java_path, release
from sira.lucene.manifest import Manifest, read_manifest
from sira.lucene.separation import FIRST, NEXT, separation
from sira.lucene.wire import Unpacker, pack_strings, to_bytes, utf8
from sira.program import Program
from sira.records import Document, Ranking

_LINE = re.compile("[^\r\n\v\f\x85\u2028\u2029]*(?:\r\n|[\r\n\v\f\x85\u2028\u2029]|$)")
"""Lines as Java's \\R parts them, each with its end, so that joined lines are the text again."""
_TRIES, _PAUSE_S = 8, 0.02
"""To open an index that is being exchanged: less than a second in all."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What Lucene says of the files. Per field: documents, sum of term frequencies and of df, positions (0 or 1)."""

    documents: int
    segments: int
    statistics: dict[str, dict[str, int]]
    stored: frozenset[str]


def describe(handle: int) -> Facts:
    rows = [line.split("\t") for line in engine.describe(handle).splitlines()]
    facts = {row[0]: row[1] for row in rows if row[0] in ("documents", "segments")}
    statistics = {
        name: {
            "documents": int(documents),
            "sum_total_term_freq": int(total),
            "sum_doc_freq": int(sum_df),
            "positions": int("POSITIONS" in options),
        }
        for _, name, options, _norms, documents, total, sum_df in (row for row in rows if row[0] == "field")
        if options != "NONE"
    }
    stored = frozenset(row[1] for row in rows if row[0] == "stored")
    return Facts(int(facts["documents"]), int(facts["segments"]), statistics, stored)


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines `first` to `last` (from 1, inclusive; both 0 where the range is empty) of `total`, with their line ends."""

    docid: str
    text: str
    first: int
    last: int
    total: int

    @property
    def next_offset(self) -> int | None:
        return self.last + 1 if 0 < self.last < self.total else None


@dataclass(frozen=True, slots=True)
class Contribution:
    """The score (32-bit) of each clause of a program for one document, in the program's order.

    `rank` counts from 1 and is None where the document is no hit; `score` is then 0.
    """

    parts: tuple[float, ...]
    score: float
    rank: int | None


class Index:
    """An index folder opened for reading: sira's own, or one of Pyserini's or Anserini's (fields `id`, `contents`).

    Fulfils `sira.compile.Statistics`. All methods may be called from several threads; searches release the GIL.
    """

    def __init__(self, path: str | Path, *, analyzer: str | None = None) -> None:
        """Of one build, also while another one takes its place in one step (Linux).

        Raises IndexFault where there is no index, or where another analyzer than the index's is asked for.
        """
        self.path = Path(path)
        if self.path.is_file():
            raise IndexFault(f"{self.path}: is a file; an index is a folder")
        if not self.path.is_dir():
            raise IndexFault(
                f"{self.path}: there is no such folder: build an index with `sira index SOURCE --index {self.path}`"
            )
        for attempt in range(_TRIES):
            time.sleep(attempt * _PAUSE_S)
            self.build = build_of(self.path)  # by which a server knows when another one takes its place
            try:
                self._open(analyzer)
            except IndexFault:
                if not self._changed():
                    raise
            else:
                if not self._changed():
                    return
                self.close()
        raise IndexFault(f"{self.path}: it changes all the time: wait until it is built")

    def _changed(self) -> bool:
        """Whether another build stands there than the one that was to be opened. A folder that is gone has none."""
        try:
            return build_of(self.path) != self.build
        except IndexFault:
            return False

    def _open(self, analyzer: str | None) -> None:
        manifest = read_manifest(self.path)
        if manifest is None and not any(self.path.glob("segments_*")):
            raise IndexFault(f"{self.path}: holds no index: build one with `sira index SOURCE --index {self.path}`")
        if manifest is not None and analyzer is not None and analyzer != manifest.analyzer:
            raise IndexFault(
                f"{self.path}: was built with the analyzer {manifest.analyzer!r}; {analyzer!r} would miss its terms"
            )
        try:
            with java_errors():
                self._handle: int = engine.openReader(
                    java_path(self.path), manifest.expansion_words if manifest else -1
                )
                self._close = weakref.finalize(self, release, self._handle)
                try:
                    self._facts = describe(self._handle)
                except BaseException:
                    self._close()
                    raise
        except JavaError as error:
            raise IndexFault(f"{self.path}: Lucene cannot open it ({error.reason}): build the index again") from None
        self.manifest = manifest or Manifest(
            analyzer=analyzer or "english",
            documents=self._facts.documents,
            statistics=self._facts.statistics,
            stored_text=bool(self._facts.stored & {"raw", "contents", "text"}),
            foreign=True,
        )

    def close(self) -> None:
        self._close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, method: str, *arguments: Any) -> Any:
        with java_errors():
            try:
                return getattr(engine, method)(self._handle, *arguments)
            except Exception:
                if not self._close.alive:
                    raise IndexFault(f"{self.path}: this index was closed: open it again") from None
                raise

    # ---------------------------------------------------------------------------------------------- statistics

    @property
    def document_count(self) -> int:
        """N: the living documents, empty ones included."""
        return self._facts.documents

    @property
    def segments(self) -> int:
        return self._facts.segments

    @property
    def expanded_documents(self) -> int:
        """The documents that have postings in `expansion`."""
        return self._facts.statistics.get("expansion", {}).get("documents", 0)

    @property
    def has_positions(self) -> bool:
        """Whether phrases can be searched; False only where `contents` was indexed without positions."""
        return bool(self._facts.statistics.get("contents", {}).get("positions", 1))

    @property
    def value_fields(self) -> Mapping[str, str]:
        """The declared numeric and date fields with their types."""
        return self.manifest.value_fields

    @property
    def average_length(self) -> float:
        """Mean number of terms in `contents` over the documents that have any."""
        facts = self._facts.statistics.get("contents")
        return facts["sum_total_term_freq"] / facts["documents"] if facts and facts["documents"] else 0.0

    @property
    def contents_fingerprint(self) -> str:
        """SHA-256 over what decides the df of `contents`: corpus, analyzer and counts; expansions change nothing."""
        manifest, counts = self.manifest, self._facts.statistics.get("contents")
        facts = [manifest.corpus_fingerprint, manifest.analyzer, self.document_count, counts]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def _df(self, field: str, terms: Sequence[str]) -> list[int]:
        if not terms:
            return []
        reply = to_bytes(self._call("df", field, pack_strings(terms)))
        return list(Unpacker(reply).integers(len(terms)))

    def df(self, terms: Sequence[str]) -> list[int]:
        """Documents that hold each analysed term in `contents` or in `expansion` (exact). Never analyses again."""
        return self._df("union", terms)

    def field_df(self, field: str, terms: Sequence[str]) -> list[int]:
        """df in one field: contents, expansion or facet."""
        if field not in ("contents", "expansion", "facet"):
            raise InputError(f"field {field!r}: df is known for contents, expansion and facet")
        return self._df(field, terms)

    def facet_df(self, facets: Sequence[str]) -> list[int]:
        return self._df("facet", facets)

    def id_df(self, docids: Sequence[str]) -> list[int]:
        """1 for each docid that the index holds, else 0."""
        return self._df("id", docids)

    def window_df(self, windows: Sequence[Sequence[str]]) -> list[int]:
        """Documents that hold the words of each window side by side in `contents`, or as an atom in `expansion`.

        Side by side among the analysed terms (`sira.analysis.windows`) where the manifest says `closed_positions`.
        """
        return self._window_df(windows, atoms=True)

    def contents_window_df(self, windows: Sequence[Sequence[str]]) -> list[int]:
        """Documents that hold the words of each window side by side in `contents`."""
        return self._window_df(windows, atoms=False)

    def _window_df(self, windows: Sequence[Sequence[str]], *, atoms: bool) -> list[int]:
        if not windows:
            return []
        if any(len(window) < 2 for window in windows):
            raise InputError("window_df counts windows of two or more words: use df for single terms")
        data = b"".join(pack_strings(window) for window in windows)
        reply = to_bytes(self._call("windowDf", atoms, len(windows).to_bytes(4, "little") + data))
        return list(Unpacker(reply).integers(len(windows)))

    def separation(self, plain: Program, terms: Sequence[str]) -> list[float]:
        """See sira.lucene.separation: one search, and a look at the postings of each term."""
        docids = self.search(plain, FIRST + NEXT).docids
        if not terms or len(docids) <= FIRST:
            return [1.0] * len(terms)
        fields = plain.scoring.contents_weight > 0, plain.scoring.expansion_weight > 0
        held = to_bytes(self._call("holds", *fields, pack_strings(docids), pack_strings(terms)))
        return separation(held, len(docids))

    def terms(self, field: str, least_df: int = 1, chunk: int = 100_000) -> Iterator[tuple[str, int]]:
        """(term, df) of a field in the order of UTF-8 bytes, where df >= `least_df`."""
        after = ""
        while True:
            reply = Unpacker(to_bytes(self._call("terms", field, least_df, after, chunk)))
            count = 0
            while not reply.done:
                df = reply.integer()
                after = reply.string()
                count += 1
                yield after, df
            if count < chunk:
                return

    # ------------------------------------------------------------------------------------------------ analysis

    def analyze(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text under the index's own analyzer."""
        return analyze(texts, self.manifest.analyzer)

    # ----------------------------------------------------------------------------------------------- documents

    def documents(self, docids: Sequence[str]) -> list[Document | None]:
        """The documents as they were given, None where the index has no such docid.

        Raises IndexFault where the index does not store its text.
        """
        if not self.manifest.stored_text:
            raise IndexFault(f"{self.path}: does not store its documents' text: index with the text stored to read it")
        reply = Unpacker(to_bytes(self._call("stored", pack_strings(docids))))
        found: list[Document | None] = []
        for docid in docids:
            count = reply.integer()
            fields = [(reply.string(), reply.string()) for _ in range(max(0, count))]
            found.append(None if count < 0 else _document(docid, fields))
        return found

    def document(self, docid: str) -> Document:
        """One document. Raises NotFoundError where the index has no such docid."""
        (document,) = self.documents([docid])
        if document is None:
            raise NotFoundError(f"docid {docid!r} is not in {self.path}: choose one from a search")
        return document

    def lines(self, docid: str, offset: int = 1, limit: int = 200) -> LineRange:
        """Up to `limit` lines of the document's text from line `offset` (from 1)."""
        if offset < 1 or limit < 1:
            raise InputError(f"offset {offset}, limit {limit}: both count from 1")
        lines = _LINE.findall(self.document(docid).text)
        if len(lines) > 1 and lines[-1] == "":
            lines.pop()  # the empty match at the end of a text, unless the text is empty
        chosen = lines[offset - 1 : offset - 1 + limit]
        first, last = (offset, offset + len(chosen) - 1) if chosen else (0, 0)
        return LineRange(docid, "".join(chosen), first, last, len(lines))

    # -------------------------------------------------------------------------------------------------- search

    def _encode(self, program: Program) -> bytes:
        return encode_program(program, self.manifest.value_fields, positions=self.has_positions)

    def search(self, program: Program, k: int = 1000) -> Ranking:
        """The best k documents. Raises ProgramError for clauses the index cannot run."""
        if k < 1:
            raise InputError(f"k = {k}: ask for at least 1 hit")
        data = self._encode(program)
        reply = Unpacker(to_bytes(self._call("search", data, min(k, 2**31 - 1))))
        count = reply.integer()
        if count == 0:
            return Ranking()
        scores = reply.floats(count)
        return Ranking(reply.docids(), scores)

    def explain(self, program: Program, docid: str) -> Contribution:
        """What each clause adds to the document's score, and its rank. Raises NotFoundError."""
        data = self._encode(program)
        try:
            reply = Unpacker(to_bytes(self._call("explain", data, utf8(docid))))
        except JavaError as error:
            if error.reason == "no such document":
                raise NotFoundError(f"docid {docid!r} is not in {self.path}: choose one from a search") from None
            raise
        parts = reply.floats(len(program.clauses))
        rank = reply.integer()
        (score,) = reply.floats(1)
        return Contribution(parts, score, rank or None)


def _document(docid: str, fields: list[tuple[str, str]]) -> Document:
    stored = dict(fields)
    if "text" in stored:
        values = {name[6:]: ast.literal_eval(value) for name, value in fields if name.startswith("value:")}
        facets = tuple(value for name, value in fields if name == "facet")
        return Document(docid, stored["text"], stored.get("title", ""), facets, stored.get("url"), values)
    return _foreign(docid, stored)


def _foreign(docid: str, stored: dict[str, str]) -> Document:
    """A document of an index of Pyserini's: `raw` is the source record, JSON in most collections."""
    raw = stored.get("raw", stored.get("contents", ""))
    try:
        record: object = json.loads(raw) if raw.lstrip().startswith("{") else None
    except ValueError:
        record = None
    if isinstance(record, dict):
        fields = cast(dict[str, object], record)
        texts = {key: value for key, value in fields.items() if isinstance(value, str)}
        text = texts.get("text", texts.get("contents"))
        if text is not None:
            return Document(docid, text, texts.get("title", ""), url=texts.get("url"))
    return Document(docid, raw)
