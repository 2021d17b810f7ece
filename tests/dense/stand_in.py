"""An encoder that needs no model: a text is the sum of fixed random vectors of its words. It honours `Encoder`."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sira.corpora.collection import open_collection
from sira.dense.encoder import Vectors
from sira.dense.encoding import VectorSettings
from sira.dense.job import Places, run_dense


class WordEncoder:
    """`pause` seconds a call, so that a test can kill in the midst of the work; `calls` has the texts of each call."""

    def __init__(self, dimension: int = 16, *, prompt: str = "", pause: float = 0.0) -> None:
        self._dimension, self._prompt, self._pause = dimension, prompt, pause
        self.calls: list[int] = []

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"name": "words", "document_prompt": self._prompt, "dimension": self._dimension}

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"topic_prompt": "", "prompts_from": "none", "similarity": "dot"}

    def documents(self, texts: Sequence[str]) -> Vectors:
        time.sleep(self._pause)
        self.calls.append(len(texts))
        return np.stack([self._vector(self._prompt + text) for text in texts])

    def topics(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Vectors:
        total = np.zeros(self._dimension)
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
            total += np.random.default_rng(seed).standard_normal(self._dimension)
        return total.astype(np.float32)


def write_collection(folder: Path, documents: int, topics: int = 5, *, same: int = 5) -> Path:
    """A BEIR folder of made-up texts, of which each of so many is the same (0: none)."""
    (folder / "qrels").mkdir(parents=True)
    rng = np.random.default_rng(7)
    words = [f"word{number}" for number in range(60)]
    with (folder / "corpus.jsonl").open("w") as corpus:
        for number in range(documents):
            text = " ".join(rng.choice(words, 6)) if not same or number % same else "the same words in each of these"
            corpus.write(json.dumps({"_id": f"d{number}", "title": "", "text": text}) + "\n")
    with (folder / "queries.jsonl").open("w") as queries, (folder / "qrels" / "test.tsv").open("w") as qrels:
        qrels.write("query-id\tcorpus-id\tscore\n")
        for number in range(topics):
            queries.write(json.dumps({"_id": f"q{number}", "text": " ".join(rng.choice(words, 4))}) + "\n")
            qrels.write(f"q{number}\td{number}\t1\n")
    return folder


def main(folder: str, run: str, pause: str) -> None:
    """The whole path as a process of its own, slow enough to be killed; a line for each shard would be too late."""
    collection = open_collection(f"beir:{folder}")
    places = Places(Path(run), "words", Path(run).with_suffix(".vectors"))
    encoder = WordEncoder(pause=float(pause))
    run_dense(collection, collection.topics, encoder, places, vectors=VectorSettings(20), progress=False)
    print(json.dumps(encoder.calls))


if __name__ == "__main__":
    main(*sys.argv[1:])
