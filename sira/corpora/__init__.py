"""Collections: documents, topics and judgments from files, ir_datasets and the Hub; TREC's files; audits."""

from __future__ import annotations

from sira.corpora.audit import Audit, Finding, audit
from sira.corpora.beir import BeirFolder
from sira.corpora.collection import Collection, open_collection
from sira.corpora.jsonl import read_documents
from sira.corpora.trec import read_qrels, read_run, read_topics
from sira.corpora.trec_writer import RunWriter, write_qrels, write_run

__all__ = [
    "Audit",
    "BeirFolder",
    "Collection",
    "Finding",
    "RunWriter",
    "audit",
    "open_collection",
    "read_documents",
    "read_qrels",
    "read_run",
    "read_topics",
    "write_qrels",
    "write_run",
]
