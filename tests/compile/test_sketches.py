"""Sketch files: what is read, and what is refused with its place."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sira.compile.sketches import read_sketches, sketch_from_json
from sira.errors import InputError
from sira.records import Sketch, SketchPhrase


def test_strings_objects_and_keyword_text(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.gz"
    rows = (
        '{"qid": "1", "phrases": ["kiln", {"text": "raku", "role": "must", "weight": 2}], "facets": ["a:b"]}\n'
        '\n{"query_id": 7, "text": "glaze, raku kiln; wash\\nclay"}\n{"qid": "3", "phrases": []}\n'
    )
    path.write_bytes(gzip.compress(rows.encode()))
    sketches = read_sketches(path)
    assert sketches["1"] == Sketch("1", (SketchPhrase("kiln"), SketchPhrase("raku", "must", 2.0)), ("a:b",))
    assert [phrase.text for phrase in sketches["7"].phrases] == ["glaze", "raku kiln", "wash", "clay"]
    assert sketches["3"].phrases == ()


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("[]", "JSON object"),
        ('{"phrases": []}', "qid"),
        ('{"qid": true, "phrases": []}', "qid"),
        ('{"qid": "1", "phrases": "kiln"}', "phrases"),
        ('{"qid": "1", "phrases": [3]}', "phrase 3"),
        ('{"qid": "1", "phrases": [{"text": "kiln", "wait": 1}]}', "kiln"),
        ('{"qid": "1", "phrases": [{"text": "kiln", "weight": -1}]}', "'kiln' has the weight -1"),
        ('{"qid": "1", "phrases": [{"text": "kiln", "weight": NaN}]}', "'kiln' has the weight nan"),
        ('{"qid": "1", "phrases": [{"text": "kiln", "weight": 1e999}]}', "'kiln' has the weight"),
        ('{"qid": "1", "phrases": [{"text": "kiln", "weight": "2"}]}', "'kiln' has the weight"),
        ('{"qid": "1", "phrases": [{"text": "kiln", "weight": 1' + "0" * 400 + "}]}", "'kiln' has the weight"),
        ('{"qid": "1", "phrases": [{"text": "kiln", "role": "maybe"}]}', "role 'maybe'"),
        ('{"qid": "1", "facets": [1]}', "facets"),
        ('{"qid": "1"', "not JSON"),
        ('{"qid": "0", "phrases": []}', "topic '0' has a sketch already"),
        ('{"qid": "1", "phrase": ["kiln"]}', "`phrases`"),
        ('{"qid": "1", "phrases": ["kiln"], "must": ["raku"]}', "'must'"),
    ],
)
def test_refusals_name_file_line_and_fault(tmp_path: Path, row: str, named: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f'{{"qid": "0", "phrases": []}}\n{row}\n', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_sketches(path)
    assert f"{path}, line 2" in str(caught.value)
    assert named in str(caught.value)


def test_too_many_phrases_are_refused() -> None:
    with pytest.raises(InputError, match="at most"):
        sketch_from_json({"qid": "1", "phrases": ["kiln"] * 10_001}, "here")
