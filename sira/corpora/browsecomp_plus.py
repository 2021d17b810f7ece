"""BrowseComp-Plus for retrieval only: its corpus, its decrypted questions, its evidence and gold judgments.

Source of the formats: texttron/BrowseComp-Plus and the data sets Tevatron/browsecomp-plus and
Tevatron/browsecomp-plus-corpus. Questions must not be published in the clear, so no message here holds their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sira.corpora.jsonl import document_files, read_documents
from sira.corpora.rows import json_rows
from sira.corpora.trec import read_qrels, read_topics
from sira.errors import InputError, NotFoundError
from sira.records import Document, Place, Record, Topic

SPLITS = ("evidence", "gold")
_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz", "corpus")
_DECRYPTED = "browsecomp_plus_decrypted.jsonl"
_QUERIES = ("queries.tsv", "topics-qrels/queries.tsv", _DECRYPTED, f"data/{_DECRYPTED}")
# The repository's README calls the second file qrel_gold.txt, the repository itself qrel_golds.txt.
_QRELS = {"evidence": ("qrel_evidence.txt",), "gold": ("qrel_golds.txt", "qrel_gold.txt")}
_REMEDIES = {
    "corpus": "write the rows of the data set Tevatron/browsecomp-plus-corpus (docid, text, url) there as "
    "corpus.jsonl, such as by datasets.load_dataset(...)['train'].to_json(...)",
    "questions": "put queries.tsv (qid<TAB>question) there, or the browsecomp_plus_decrypted.jsonl that "
    "scripts_build_index/decrypt_dataset.py of texttron/BrowseComp-Plus writes",
    "evidence": "put topics-qrels/qrel_evidence.txt of texttron/BrowseComp-Plus there",
    "gold": "put topics-qrels/qrel_golds.txt of texttron/BrowseComp-Plus there",
}
# Base64 of a whole question: what the published data set holds before it is decrypted.
_ENCRYPTED = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")


@dataclass(frozen=True, slots=True)
class BrowseCompPlus:
    """One folder with the files; in its root, or where the repository has them (`topics-qrels/`, `data/`)."""

    path: Path

    @classmethod
    def open(cls, path: str | Path) -> BrowseCompPlus:
        """Raises InputError saying what to put where if the folder or the corpus in it is absent."""
        folder = cls(Path(path))
        folder._file("corpus", _CORPUS)
        return folder

    def split(self, name: str | None) -> str:
        """`evidence` where none is asked for. Raises NotFoundError for other names."""
        if name is not None and name not in SPLITS:
            raise NotFoundError(f"{self.path}: there is no split {name!r}; choose {' or '.join(SPLITS)}")
        return name or SPLITS[0]

    def documents(self, value_fields: Sequence[str] = ()) -> Iterator[Record]:
        """The corpus; see `sira.corpora.jsonl.read_documents`."""
        return read_documents(self._file("corpus", _CORPUS), value_fields)

    def corpus_files(self) -> tuple[Path, ...]:
        return document_files(self._file("corpus", _CORPUS))

    def topics(self) -> tuple[Topic, ...]:
        """The questions. Raises InputError if they are still encrypted."""
        path = self._file("questions", _QUERIES)
        topics = read_topics(path)
        if _ENCRYPTED.fullmatch(topics[0].text):
            raise InputError(
                f"{path}: topic {topics[0].qid!r} is still encrypted; decrypt the file by "
                "scripts_build_index/decrypt_dataset.py of texttron/BrowseComp-Plus"
            )
        return topics

    def qrels(self, split: str) -> Mapping[str, Mapping[str, int]]:
        """The judgments by docid, where the file has addresses too; without a file, those of the decrypted questions.

        An address that is of no document stays as it is, so that it counts in recall's denominator.
        """
        path = self._first([*_QRELS[split], *(f"topics-qrels/{name}" for name in _QRELS[split])])
        if path is not None:
            qrels: Mapping[str, Mapping[str, int]] = read_qrels(path)
        elif (path := self._first(_QUERIES[2:])) is not None:
            qrels = {qid: docids for place, row in json_rows(path) for qid, docids in [_judged(place, row, split)]}
        else:
            raise self._lacks(split)
        if any("://" in docid for judged in qrels.values() for docid in judged):
            return self._by_docid(qrels)
        return qrels

    def _by_docid(self, qrels: Mapping[str, Mapping[str, int]]) -> Mapping[str, Mapping[str, int]]:
        wanted = {docid for judged in qrels.values() for docid in judged if "://" in docid}
        known: dict[str, str] = {}
        for _, record in self.documents():
            if isinstance(record, Document) and record.url in wanted:
                known.setdefault(record.url, record.docid)
        return {
            qid: {known.get(docid, docid): grade for docid, grade in judged.items()} for qid, judged in qrels.items()
        }

    def _first(self, names: Sequence[str]) -> Path | None:
        return next((self.path / name for name in names if (self.path / name).exists()), None)

    def _file(self, what: str, names: Sequence[str]) -> Path:
        found = self._first(names)
        if found is None:
            raise self._lacks(what)
        return found

    def _lacks(self, what: str) -> InputError:
        kind = "judgments of the split " + repr(what) if what in SPLITS else what
        return InputError(f"{self.path}: has no {kind} of BrowseComp-Plus; {_REMEDIES[what]}")


def _judged(place: Place, row: Mapping[str, Any], split: str) -> tuple[str, dict[str, int]]:
    """qid -> docid -> 1 by the documents that stand in a decrypted row."""
    qid, listed = row.get("query_id"), row.get(f"{split}_docs")
    if not isinstance(qid, (str, int)) or not isinstance(listed, list):
        raise InputError(f"{place}: give `query_id` and the list `{split}_docs`, or put the file of judgments there")
    docids: dict[str, int] = {}
    for item in cast("list[object]", listed):
        docid = cast("dict[str, object]", item).get("docid") if isinstance(item, dict) else item
        if not isinstance(docid, (str, int)):
            raise InputError(f"{place}: `{split}_docs` holds something without a `docid`")
        docids[str(docid)] = 1
    return str(qid), docids
