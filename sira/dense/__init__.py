"""Dense retrieval as a baseline: documents and topics as vectors of an embedding model, the ranking as a TREC run.

`run_dense` is the whole path; an `Encoder` is anything that turns texts into vectors, of which
`sira.dense.transformer` has the one over sentence-transformers. It needs no Java.
"""

from __future__ import annotations

from sira.dense.encoder import Encoder
from sira.dense.encoding import VectorSettings, encode_documents
from sira.dense.job import SearchSettings, run_dense
from sira.dense.prompts import KNOWN_MODELS, Prompts
from sira.dense.vectors import VectorStore

__all__ = [
    "KNOWN_MODELS",
    "Encoder",
    "Prompts",
    "SearchSettings",
    "VectorSettings",
    "VectorStore",
    "encode_documents",
    "run_dense",
]
