"""The demonstration's collection: Python's own documentation, and the recordings that belong to it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from sira.analysis import normal_form
from sira.compile.sketches import read_sketches, sketch_from_json
from sira.corpora.rows import json_rows
from sira.corpora.trec import read_qrels, read_topics
from sira.demo.stdlib_docs import fingerprint, read_stdlib_docs
from sira.evaluate.fingerprint import code_digest
from sira.expand.indexing import expand_index
from sira.lucene.writer import build_index
from sira.records import Document, Place, Qrels, Record, Sketch, Topic

RECORDINGS = Path(__file__).parent / "recordings"
PHRASES = RECORDINGS / "document-phrases.jsonl.gz"


@dataclass(frozen=True, slots=True)
class DemoCollection:
    """Documents of the running interpreter, and the recorded topics, judgments and sketches.

    `changed` counts documents whose text differs from the one the phrases were written for; `unrecorded` those without
    phrases; `absent` the judged documents that this Python version does not have.
    """

    documents: tuple[Document, ...]
    topics: tuple[Topic, ...]
    qrels: Qrels
    sketches: dict[str, Sketch]
    examples: tuple[tuple[Topic, Sketch], ...]
    changed: int
    unrecorded: int
    absent: int

    def recorded_sketch(self, question: str) -> Sketch | None:
        """The sketch of a question that was recorded, in whatever case and spacing it is asked."""
        asked = normal_form(question)
        known = [*((topic, self.sketches.get(topic.qid)) for topic in self.topics), *self.examples]
        return next((sketch for topic, sketch in known if normal_form(topic.text) == asked), None)

    def records(self) -> list[Record]:
        return [(Place("python", number), document) for number, document in enumerate(self.documents, 1)]


def load_demo() -> DemoCollection:
    documents = read_stdlib_docs().documents
    texts = fingerprint(documents)
    recorded = {row["docid"]: row["text_sha256"] for _, row in json_rows(PHRASES)}
    qrels = read_qrels(RECORDINGS / "qrels.tsv")
    return DemoCollection(
        documents=documents,
        topics=read_topics(RECORDINGS / "topics.jsonl"),
        qrels=qrels,
        sketches=read_sketches(RECORDINGS / "query-sketches.jsonl.gz"),
        examples=tuple(
            (Topic(row["qid"], row["text"]), sketch_from_json(row, str(place)))
            for place, row in json_rows(RECORDINGS / "examples.jsonl")
        ),
        changed=sum(docid in recorded and recorded[docid] != text for docid, text in texts.items()),
        unrecorded=sum(docid not in recorded for docid in texts),
        absent=len({docid for judged in qrels.values() for docid in judged} - texts.keys()),
    )


def demo_indexes(collection: DemoCollection, folder: Path, *, progress: bool) -> tuple[Path, Path]:
    """(plain, expanded): built if they are not there. Named by what they are made of, so that neither is ever stale."""
    digest = hashlib.sha256(code_digest().encode())
    for document in collection.documents:
        digest.update(f"{document.docid}\0{document.contents}\0".encode())
    digest.update(PHRASES.read_bytes())
    key = digest.hexdigest()[:12]
    plain, expanded = folder / f"plain-{key}", folder / f"expanded-{key}"
    if not (plain / "manifest.json").is_file():
        build_index(collection.records, plain, progress=progress)
    if not (expanded / "manifest.json").is_file():
        expand_index(plain, PHRASES, expanded, progress=progress)
    return plain, expanded
