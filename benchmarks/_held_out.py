"""SciFact, on which nothing is chosen: printed beside the development collections once the choice stands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.document_gate import Development
from sira.compile.sketches import read_sketches
from sira.corpora.collection import open_collection
from sira.lucene.writer import build_index

SKETCHES = {
    "scifact": "query-sketches.jsonl",
    "scifact, keywords": "querygym_genqr_gpt-4.1_fd6cdfaf.jsonl",
}
"""The recorded sketches, and gpt-4.1's keywords (QueryGym, method genqr), in scifact/replies."""


def held_out(work: Path) -> Iterator[Development]:
    """The same documents and topics under either kind of sketches; nothing where SIRA_TEST_DATA does not have them."""
    folder = Path(os.environ.get("SIRA_TEST_DATA") or "nowhere") / "scifact"
    if not (folder / "corpus.jsonl").is_file():
        return
    found = open_collection(f"beir:{folder}", "test")
    topics = tuple(topic for topic in found.topics if topic.qid in found.qrels)
    replies, base = folder / "replies", work / "scifact-base"
    build_index(found.documents, base, progress=False)
    for name, file in SKETCHES.items():
        store = replies / "document-phrases.jsonl"
        yield Development(name, base, store, topics, found.qrels, read_sketches(replies / file))
