"""BEIR folders: corpus.jsonl, queries.jsonl (either may end in .gz) and qrels/<split>.tsv.

Source of the layout: Thakur et al., BEIR (NeurIPS 2021), and the data loader of its package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sira.corpora.jsonl import read_documents
from sira.corpora.trec import read_qrels, read_topics
from sira.errors import InputError, NotFoundError
from sira.records import Record, Topic


@dataclass(frozen=True, slots=True)
class BeirFolder:
    """One collection in BEIR's layout. Nothing is read before it is asked for; documents are streamed."""

    path: Path

    @classmethod
    def open(cls, path: str | Path) -> BeirFolder:
        """Raises InputError if there is no corpus.jsonl or corpus.jsonl.gz in this folder."""
        folder = cls(Path(path))
        folder._file("corpus.jsonl")
        return folder

    def documents(self, value_fields: Sequence[str] = ()) -> Iterator[Record]:
        """The records of the corpus in order; see `sira.corpora.jsonl.read_documents`."""
        return read_documents(self._file("corpus.jsonl"), value_fields)

    def splits(self) -> tuple[str, ...]:
        """The splits that have judgments, sorted; none in a folder without qrels."""
        names = {file.name.removesuffix(".gz") for file in self.path.glob("qrels/*.tsv*")}
        return tuple(sorted(name.removesuffix(".tsv") for name in names if name.endswith(".tsv")))

    def default_split(self) -> str | None:
        """`test`, or else the only split there is; None without qrels. Raises NotFoundError if one must be chosen."""
        splits = self.splits()
        if not splits:
            return None
        if "test" in splits or len(splits) == 1:
            return "test" if "test" in splits else splits[0]
        raise NotFoundError(f"{self.path}: there is no split 'test'; choose one of {', '.join(splits)}")

    def qrels(self, split: str) -> dict[str, dict[str, int]]:
        """The judgments of one split, with or without a header. Raises NotFoundError listing the splits there are."""
        for name in (f"{split}.tsv", f"{split}.tsv.gz"):
            if (self.path / "qrels" / name).is_file():
                return read_qrels(self.path / "qrels" / name)
        there = ", ".join(self.splits()) or "none"
        raise NotFoundError(f"{self.path}: there is no split {split!r} (no qrels/{split}.tsv); splits there: {there}")

    def topics(self, split: str | None = None) -> tuple[Topic, ...]:
        """All topics in the order of queries.jsonl, or those that a split judges, as BEIR evaluates them."""
        topics = read_topics(self._file("queries.jsonl"))
        if split is None:
            return topics
        judged = self.qrels(split)
        return tuple(topic for topic in topics if topic.qid in judged)

    def _file(self, name: str) -> Path:
        for candidate in (self.path / name, self.path / f"{name}.gz"):
            if candidate.is_file():
                return candidate
        what = "is no BEIR folder" if self.path.is_dir() else "is no folder"
        raise InputError(
            f"{self.path} {what}: {name} (or {name}.gz) is missing; unpack a BEIR archive there, which has "
            "corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv"
        )
