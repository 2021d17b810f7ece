"""Reading a corpus once before a job starts: which documents are of the shard, and whether each docid is one of a kind.

A job reads the corpus twice, here and when it works. The first pass costs seconds a million documents and finds what
would spoil hours: docids that come twice, changed documents, records that are none.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from tqdm import tqdm

from sira.errors import DuplicateIdError, InputError
from sira.expand.arrays import Hashes, Mask, count, first_of_each, where_marked
from sira.expand.arrays import hashes as as_hashes
from sira.expand.ids import hash64, shard_of
from sira.expand.task import document_fingerprint, skip_fingerprint
from sira.records import Document, Record, Skip

EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Survey:
    """The records of one shard in the order of the corpus: hashes of their docids and of their texts.

    `first` marks the first record of each docid. `skipped` counts those that are not first, and records without a
    docid, for which there is no row to write.
    """

    hashes: Hashes
    documents: Hashes
    first: Mask
    skipped: int
    examples: tuple[str, ...]

    def __len__(self) -> int:
        return count(self.first)

    @property
    def order(self) -> Hashes:
        """The hashes of the docids, each once."""
        return where_marked(self.hashes, self.first)


Entry = tuple[int, str, Document | Skip]
"""Hash of the docid, docid, and the document, or why the record is none."""


def shard_records(records: Iterator[Record], shard: int, shards: int) -> Iterator[Entry | str]:
    """The records of one shard; a record without a docid comes as a line for the report, in shard 0 alone."""
    for place, item in records:
        docid = item.docid
        if not docid:  # none, or an empty one
            if shard == 0 and isinstance(item, Skip):
                yield item.at(place)
            continue
        key = hash64(docid)
        if shard_of(key, shards) == shard:
            yield key, docid, item


def survey(
    read: Callable[[], Iterator[Record]],
    shard: int,
    shards: int,
    *,
    duplicates: Literal["refuse", "keep-first"] = "refuse",
    progress: bool = False,
) -> Survey:
    """Read the corpus. Raises DuplicateIdError naming docid and both places, InputError for an empty corpus."""
    keys, documents = array("Q"), array("Q")
    examples: list[str] = []
    skipped = documents_in_all = 0

    def records() -> Iterator[Record]:
        nonlocal documents_in_all
        for record in tqdm(read(), desc="reading", unit=" docs", disable=not progress, mininterval=0.5, leave=False):
            documents_in_all += isinstance(record[1], Document)
            yield record

    for entry in shard_records(records(), shard, shards):
        if isinstance(entry, str):
            skipped += 1
            examples = [*examples, entry][:EXAMPLES]
            continue
        key, _, item = entry
        keys.append(key)
        text = document_fingerprint(item) if isinstance(item, Document) else skip_fingerprint(item.detail)
        documents.append(int(text, 16))
    if not documents_in_all:
        first_fault = f" (the first record: {examples[0]})" if examples else ""
        raise InputError(f"the corpus holds no document: check its source{first_fault}")
    table = as_hashes(keys)
    first = first_of_each(table)
    twice = len(table) - count(first)
    if twice and duplicates == "refuse":
        raise _twice(read, int(table[~first][0]), twice)
    return Survey(table, as_hashes(documents), first, skipped + twice, tuple(examples))


def _twice(read: Callable[[], Iterator[Record]], key: int, count: int) -> DuplicateIdError:
    places = [(item.docid, place) for place, item in read() if item.docid is not None and hash64(item.docid) == key]
    docid, first = places[0]
    return DuplicateIdError(
        f"docid {docid!r} stands at {first} and again at {places[1][1]} ({count} such records in this shard): "
        'make the docids unique, or set duplicates = "keep-first" under [corpus]'
    )
