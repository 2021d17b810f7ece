"""Commands run in this process, with a small corpus about pottery."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sira.cli.main import main

DOCUMENTS = [
    {
        "_id": "d1",
        "title": "Kiln wash",
        "text": "A coating for kiln shelves.\nIt keeps glaze from sticking.",
        "year": 1990,
    },
    {"_id": "d2", "title": "Raku", "text": "Low fired ware, taken from the kiln while hot.", "year": 2001},
    {"_id": "d3", "title": "", "text": "Celadon is a pale green glaze.", "year": 2010},
    {"_id": "d4", "title": "Slip", "text": "Liquid clay for casting.", "facets": ["category:clay_work"], "year": 2020},
    {"_id": "d5", "title": "", "text": ""},
]
PHRASES = [
    {"docid": "d1", "phrases": ["release agent", "shelf protection"]},
    {"docid": "d2", "phrases": ["thermal shock", "Japanese pottery"]},
    {"docid": "d3", "phrases": ["jade colour", "Longquan"]},
]
TOPICS = [{"_id": "t1", "text": "stop pots sticking to shelves"}, {"_id": "t2", "text": "Japanese pottery"}]
SKETCHES = [
    {"qid": "t1", "phrases": ["kiln wash", "release agent"]},
    {"qid": "t2", "phrases": ["raku", "thermal shock"]},
]


@dataclass(frozen=True)
class Answer:
    status: int
    out: str
    err: str


Sira = Callable[..., Answer]


@pytest.fixture
def sira(capsys: pytest.CaptureFixture[str]) -> Sira:
    def call(*arguments: str | Path) -> Answer:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(status, captured.out, captured.err)

    return call


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def pottery(tmp_path: Path) -> Path:
    """A BEIR folder, a store of phrases, sketches, and qrels."""
    write_rows(tmp_path / "corpus.jsonl", DOCUMENTS)
    write_rows(tmp_path / "queries.jsonl", TOPICS)
    write_rows(tmp_path / "phrases.jsonl", PHRASES)
    write_rows(tmp_path / "sketches.jsonl", SKETCHES)
    (tmp_path / "topics.tsv").write_text("t1\tstop pots sticking to shelves\nt2\tJapanese pottery\n", encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nt1\td1\t1\nt2\td2\t1\n", encoding="utf-8")
    return tmp_path
