"""The texts of documents by docid, from a corpus that can only be streamed, with memory that does not grow with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sira.errors import InputError
from sira.records import Document, Record

WINDOW_DOCUMENTS = 20_000
WINDOW_CHARACTERS = 16_000_000


class DocumentTexts:
    """Gives `Document.contents` by docid, quickest where docids are asked in the order of the corpus.

    As long as they are, the corpus is read once, alongside: a document that is read before it is asked for waits in a
    window of bounded size. A docid that neither waits nor comes later (another order, several shards, a docid twice, no
    such document) makes the corpus be read once more, into an SQLite file in `folder`, from which all further texts are
    taken: disk as large as the texts. Of a docid that comes twice in the corpus the first text counts.
    """

    def __init__(
        self,
        documents: Callable[[], Iterable[Record]],
        folder: Path,
        *,
        window_documents: int = WINDOW_DOCUMENTS,
        window_characters: int = WINDOW_CHARACTERS,
    ) -> None:
        self._documents, self._file = documents, folder / ".texts.sqlite"
        self._ahead = _only_documents(documents())
        self._waiting: dict[str, str] = {}
        self._characters = 0
        self._window_documents, self._window_characters = window_documents, window_characters
        self._spool: sqlite3.Connection | None = None

    @property
    def spooled(self) -> bool:
        """Whether the order of the corpus was left."""
        return self._spool is not None

    def get(self, docid: str) -> str | None:
        """The contents of a document, None where the corpus has no such docid. Raises as the corpus when read."""
        if self._spool is None:
            found = self._from_window(docid)
            if found is not None:
                return found
            self._waiting.clear()
            self._spool = self._spooled()
        row = self._spool.execute("SELECT contents FROM texts WHERE docid = ? ORDER BY rowid LIMIT 1", (_key(docid),))
        found = row.fetchone()
        return None if found is None else found[0]

    def _from_window(self, docid: str) -> str | None:
        contents = self._waiting.pop(docid, None)
        if contents is not None:
            self._characters -= len(contents)
            return contents
        waiting = self._waiting
        for document in self._ahead:
            contents = document.contents
            if document.docid == docid:
                return contents
            if waiting.setdefault(document.docid, contents) is contents:
                self._characters += len(contents)
            while len(waiting) > self._window_documents or self._characters > self._window_characters:
                self._characters -= len(waiting.pop(next(iter(waiting))))
        return None

    def _spooled(self) -> sqlite3.Connection:
        spool = sqlite3.connect(self._file, isolation_level=None)
        spool.execute("PRAGMA journal_mode = OFF")
        spool.execute("PRAGMA synchronous = OFF")
        spool.execute("CREATE TABLE texts (docid BLOB, contents TEXT)")
        spool.execute("BEGIN")
        rows = ((_key(document.docid), document.contents) for document in _only_documents(self._documents()))
        try:
            spool.executemany("INSERT INTO texts VALUES (?, ?)", rows)
            spool.execute("CREATE INDEX by_docid ON texts (docid)")
            spool.execute("COMMIT")
        except sqlite3.Error as error:
            spool.close()
            raise InputError(
                f"{self._file.parent}: cannot hold the texts of the corpus for a while ({error}): "
                "make room, or give another folder"
            ) from None
        return spool

    def close(self) -> None:
        """Remove the file."""
        if self._spool is not None:
            self._spool.close()
            self._file.unlink(missing_ok=True)


def _only_documents(records: Iterable[Record]) -> Iterator[Document]:
    return (record for _, record in records if isinstance(record, Document))


def _key(docid: str) -> bytes:
    return docid.encode("utf-8", "surrogatepass")
