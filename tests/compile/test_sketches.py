"""Sketch files: what is read, and what is refused with its place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.compile.sketches import read_sketches, sketch_from_json, sketch_to_json
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
        ('{"qid": "1", "facets": ["a:b"], "must": ["raku"]}', "'must'"),
    ],
)
def test_refusals_name_file_line_and_fault(tmp_path: Path, row: str, named: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f'{{"qid": "0", "phrases": []}}\n{row}\n', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_sketches(path)
    assert f"{path}, line 2" in str(caught.value)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (b"\xfe\xff\x00{", "not UTF-8 (invalid start byte): convert the file to UTF-8"),
        (b'{"qid": 1' + b"0" * 5000 + b"}", "not JSON (Exceeds the limit (4300 digits) for integer string conversion"),
    ],
)
def test_a_row_that_is_no_text_or_no_number_is_refused_for_what_it_is(tmp_path: Path, row: bytes, named: str) -> None:
    (tmp_path / "s.jsonl").write_bytes(row + b"\n")
    with pytest.raises(InputError) as caught:
        read_sketches(tmp_path / "s.jsonl")
    assert f"s.jsonl, line 1: {named}" in str(caught.value)
    assert "sys." not in str(caught.value)


def test_too_many_phrases_are_refused() -> None:
    with pytest.raises(InputError, match="at most"):
        sketch_from_json({"qid": "1", "phrases": ["kiln"] * 10_001}, "here")


# Sketches by a model


def test_what_a_sketch_holds_comes_back_from_its_row() -> None:
    sketch = Sketch(
        "q",
        (SketchPhrase("kiln"), SketchPhrase("raku", "must", 0.0, 2), SketchPhrase("slip", sample=1)),
        ("a:b",),
        samples=3,
        searches=(Sketch("q", (SketchPhrase("wash", "must_not"),), ("c:d",)), Sketch("q")),
    )
    row = sketch_to_json(sketch)
    assert row == {
        "qid": "q",
        "phrases": [
            "kiln",
            {"text": "raku", "role": "must", "weight": 0.0, "sample": 2},
            {"text": "slip", "sample": 1},
        ],
        "facets": ["a:b"],
        "samples": 3,
        "searches": [
            {"phrases": [{"text": "wash", "role": "must_not"}], "facets": ["c:d"]},
            {"phrases": [], "facets": []},
        ],
    }
    assert sketch_from_json(json.loads(json.dumps(row)), "here") == sketch


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PHRASES = st.builds(
    SketchPhrase,
    TEXTS,
    st.sampled_from(["should", "must", "must_not"]),
    st.none() | st.floats(0, 1e6),
    st.integers(0, 99),
)


@given(st.lists(PHRASES, max_size=5).map(tuple), st.lists(TEXTS, max_size=3).map(tuple), st.integers(1, 100))
def test_every_sketch_comes_back_from_its_row(
    phrases: tuple[SketchPhrase, ...], facets: tuple[str, ...], samples: int
) -> None:
    sketch = Sketch("q", phrases, facets, samples, (Sketch("q", phrases, facets),))
    assert sketch_from_json(json.loads(json.dumps(sketch_to_json(sketch))), "here") == sketch


def test_a_row_that_names_a_model_is_that_models_work_and_so_are_its_searches() -> None:
    row = {"qid": "q", "phrases": [], "searches": [{"phrases": ["a"]}], "provenance": {"model": {"model": "m"}}}
    sketch = sketch_from_json(row, "here")
    assert sketch.by_model
    assert sketch.searches[0].by_model
    for provenance in ({}, {"model": {}}, {"model": ""}, None, "m"):
        assert not sketch_from_json({**row, "provenance": provenance}, "here").by_model


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"samples": 0}, "`samples` must be a whole number from 1"),
        ({"samples": True}, "`samples`"),
        ({"samples": 1.5}, "`samples`"),
        ({"phrases": [{"text": "a", "sample": -1}]}, "`sample` must be a whole number from 0"),
        ({"searches": {}}, "`searches` must be a list"),
        ({"searches": [{}] * 101}, "`searches` must be a list of at most 100"),
        ({"searches": [["a"]]}, "`searches`: each is an object"),
        ({"searches": [{"phrases": [], "searches": []}]}, "`searches`: each is an object"),
        ({"searches": [{"phrases": [1]}]}, "phrase 1"),
    ],
)
def test_fields_of_a_model_that_cannot_be_read_are_refused(fields: dict[str, object], named: str) -> None:
    with pytest.raises(InputError) as caught:
        sketch_from_json({"qid": "q", "phrases": [], **fields}, "here")
    assert str(caught.value).startswith("here: topic 'q': ")
    assert named in str(caught.value)
