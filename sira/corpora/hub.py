"""Collections in the layout of the Hugging Face Hub's retrieval sets, such as `mteb/scifact`.

Three configs: `corpus` (_id, title, text), `queries` (_id, text) and `default` or `qrels` (query-id, corpus-id, score)
with a split for each set of judgments. Source of the layout: the loaders of the packages beir and mteb.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from sira.corpora.hub_tables import HubSource, Table
from sira.corpora.jsonl import ID_FIELDS, TEXT_FIELDS, document_from_record, is_valid_id
from sira.corpora.trec import QID_FIELDS, QUERY_FIELDS
from sira.errors import InputError, NotFoundError
from sira.records import Place, Record, Topic

QRELS_CONFIGS = ("default", "qrels")
_JUDGMENT = (("query-id", "query_id", "qid"), ("corpus-id", "corpus_id", "docid"), ("score", "relevance"))


@dataclass(frozen=True, slots=True)
class HubCollection:
    """One collection. Documents are streamed; topics are those that the split judges, in the order of `queries`."""

    source: HubSource
    split: str | None
    corpus: Table
    judgments: Table | None

    @classmethod
    def open(cls, text: str, split: str | None = None) -> HubCollection:
        """Without `split`: `test`, or else the only one; None where there are no judgments.

        Raises NotFoundError listing the splits, else as `HubSource.table`.
        """
        source = HubSource.parse(text)
        corpus = source.table("corpus")
        try:
            judgments = source.table(*QRELS_CONFIGS)
        except NotFoundError:
            raise
        except InputError:
            if split is not None:
                raise
            return cls(source, None, corpus, None)
        splits = tuple(judgments.rows)
        if split is None and ("test" in splits or len(splits) == 1):
            split = "test" if "test" in splits else splits[0]
        if split not in splits:
            there = ", ".join(splits) or "none"
            raise NotFoundError(f"{source}: there is no split {split or 'test'!r}; splits there: {there}")
        return cls(source, split, corpus, judgments)

    def documents(self, value_fields: Sequence[str] = ()) -> Iterator[Record]:
        """The rows of `corpus`, each a Document or a Skip as in JSON Lines; ids that are numbers become strings.

        Raises InputError if the first row has no column for the id or the text.
        """
        first = True
        for place, row in self._rows(self.corpus):
            if first:
                first = False
                _column(place, row, ID_FIELDS)
                _column(place, row, TEXT_FIELDS)
            yield place, document_from_record(dict(row), value_fields)

    def topics(self) -> tuple[Topic, ...]:
        """Raises InputError for an id that a run file cannot carry, or a text that is no string."""
        judged = None if self.judgments is None else self.qrels()
        topics: list[Topic] = []
        for place, row in self._rows(self.source.table("queries")):
            qid, text = _id(place, row, QID_FIELDS), row[_column(place, row, QUERY_FIELDS)]
            if judged is not None and qid not in judged:
                continue
            if not isinstance(text, str):
                raise InputError(f"{place}: topic {qid!r} has no text; give a string ('' if empty)")
            topics.append(Topic(qid, text))
        return tuple(topics)

    def qrels(self) -> dict[str, dict[str, int]]:
        """The judgments of the split; `1.0` is 1.

        Raises InputError for another grade, or two grades of one document; also where there is no judgment.
        """
        qrels: dict[str, dict[str, int]] = {}
        if self.judgments is None or self.split is None:
            return qrels
        queries, documents, scores = _JUDGMENT
        for place, row in self.judgments.rows[self.split]():
            qid, docid = _id(place, row, queries), _id(place, row, documents)
            grade = _grade(place, row[_column(place, row, scores)])
            judged = qrels.setdefault(qid, {})
            if judged.setdefault(docid, grade) != grade:
                reason = f"document {docid!r} has the grades {judged[docid]} and {grade} for topic {qid!r}"
                raise InputError(f"{place}: {reason}; keep one")
        if not qrels:
            raise InputError(f"{self.source}: no judgment in the split {self.split!r}; choose another")
        return qrels

    def corpus_files(self) -> tuple[Path, ...]:
        """The files of a local folder that decide the documents; none for a name of the Hub."""
        return self.corpus.files

    def _rows(self, table: Table) -> Iterator[tuple[Place, Mapping[str, Any]]]:
        try:
            rows = table.split(self.split)
        except NotFoundError as error:
            raise NotFoundError(f"{self.source}: {error}") from None
        return rows()


def _column(place: Place, row: Mapping[str, Any], names: Sequence[str]) -> str:
    found = next((name for name in names if name in row), None)
    if found is None:
        raise InputError(
            f"{place}: there is no column {' or '.join(repr(name) for name in names)}; columns there: {', '.join(row)}"
        )
    return found


def _id(place: Place, row: Mapping[str, Any], names: Sequence[str]) -> str:
    column = _column(place, row, names)
    value = row[column]
    value = str(value) if type(value) is int else value
    if not isinstance(value, str) or not is_valid_id(value):
        raise InputError(f"{place}: the {column} {value!r} is no string, empty, or contains white space; rename it")
    return value


def _grade(place: Place, value: object) -> int:
    if not isinstance(value, (int, float)) or not isfinite(value) or value != int(value):
        raise InputError(f"{place}: the grade {value!r} is no integer; write 0, 1, 2, ...")
    return int(value)
