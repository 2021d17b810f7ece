from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.corpora.jsonl import document_from_record, is_valid_id, read_documents
from sira.errors import InputError
from sira.records import Document, Place, Skip, SkipReason


def write(path: Path, *lines: str) -> Path:
    path.write_bytes("\n".join(lines).encode())
    return path


def documents(path: Path) -> list[Document]:
    results = [result for _, result in read_documents(path)]
    assert all(isinstance(result, Document) for result in results), results
    return [result for result in results if isinstance(result, Document)]


def only(path: Path) -> Document | Skip:
    [(_, result)] = read_documents(path)
    return result


@pytest.mark.parametrize("field", ["docid", "_id", "id"])
@pytest.mark.parametrize(("value", "docid"), [("a1", "a1"), (17, "17"), ("Treaty_of_Foo,_1901", "Treaty_of_Foo,_1901")])
def test_ids_under_three_names_as_string_or_integer(tmp_path: Path, field: str, value: object, docid: str) -> None:
    assert only(write(tmp_path / "c.jsonl", json.dumps({field: value, "text": "raku"}))) == Document(docid, "raku")


def test_text_may_be_called_contents_and_other_fields_are_picked_by_name(tmp_path: Path) -> None:
    record = {
        "id": "a",
        "contents": "t",
        "url": "u",
        "facets": ["place:oslo"],
        "year": 1927,
        "day": "1927-01-02",
        "x": 1,
    }
    [(place, document)] = read_documents(write(tmp_path / "c.jsonl", json.dumps(record)), ["year", "day", "absent"])
    assert document == Document("a", "t", "", ("place:oslo",), "u", {"year": 1927, "day": "1927-01-02"})
    assert place == Place(str(tmp_path / "c.jsonl"), 1)


def test_g31_a_missing_or_null_title_leaves_no_trace_in_the_text(tmp_path: Path) -> None:
    found = documents(
        write(tmp_path / "c.jsonl", '{"_id":"1","text":"raku"}', '{"_id":"2","title":null,"text":"raku"}')
    )
    assert [document.title for document in found] == ["", ""]
    assert [document.contents for document in found] == ["raku", "raku"]


def test_g30_empty_and_blank_texts_are_documents(tmp_path: Path) -> None:
    found = documents(write(tmp_path / "c.jsonl", '{"_id":"e9","title":"","text":""}', '{"_id":"e8","text":"  "}'))
    assert found == [Document("e9", ""), Document("e8", "  ")]


def test_g01_a_record_without_text_names_file_line_id_and_field(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c.jsonl",
        '{"id":"a1","contents":"kiln"}',
        '{"id":"a2","title":"kiln"}',
        '{"id":"a3","contents":"raku"}',
    )
    results = list(read_documents(path))
    place, skip = results[1]
    assert isinstance(skip, Skip)
    assert (skip.reason, skip.docid) == (SkipReason.MISSING_TEXT, "a2")
    line = skip.at(place)
    assert all(part in line for part in (str(path), "line 2", "'a2'", "'text'", "'contents'")), line
    assert [type(result) for _, result in results] == [Document, Skip, Document]


def test_g04_both_places_of_a_duplicate_id_can_be_named(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c.jsonl",
        '{"id":"d1","contents":"kiln wash"}',
        '{"id":"d2","contents":"glaze"}',
        '{"id":"d1","contents":"kiln shelf"}',
    )
    places = [place for place, result in read_documents(path) if isinstance(result, Document) and result.docid == "d1"]
    assert [str(place) for place in places] == [f"{path}, line 1", f"{path}, line 3"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id":"a","text":"x"', SkipReason.BAD_JSON),
        ('{"id":"a","text":"x"} {"id":"b","text":"x"}', SkipReason.BAD_JSON),
        ("kiln", SkipReason.BAD_JSON),
        ("[" * 100_000, SkipReason.BAD_JSON),
        ('{"id":' + "9" * 5000 + ',"text":""}', SkipReason.BAD_JSON),
        ('["a","b"]', SkipReason.NOT_AN_OBJECT),
        ("17", SkipReason.NOT_AN_OBJECT),
        ("null", SkipReason.NOT_AN_OBJECT),
        ('{"text":"x"}', SkipReason.MISSING_ID),
        ('{"id":null,"text":"x"}', SkipReason.MISSING_ID),
        ('{"id":"","text":"x"}', SkipReason.INVALID_ID),
        ('{"id":"a b","text":"x"}', SkipReason.INVALID_ID),
        ('{"id":"a\\tb","text":"x"}', SkipReason.INVALID_ID),
        ('{"id":"a\\u00a0b","text":"x"}', SkipReason.INVALID_ID),
        ('{"id":"a\\u0000","text":"x"}', SkipReason.INVALID_ID),
        ('{"id":true,"text":"x"}', SkipReason.INVALID_ID),
        ('{"id":1.5,"text":"x"}', SkipReason.INVALID_ID),
        ('{"id":"a","text":null}', SkipReason.MISSING_TEXT),
        ('{"id":"a","text":["x"]}', SkipReason.MISSING_TEXT),
        ('{"id":"a","text":"x","title":7}', SkipReason.INVALID_FIELD),
        ('{"id":"a","text":"x","url":{}}', SkipReason.INVALID_FIELD),
        ('{"id":"a","text":"x","facets":"f:v"}', SkipReason.INVALID_FIELD),
        ('{"id":"a","text":"x","facets":[1]}', SkipReason.INVALID_FIELD),
        ('{"id":"a","text":"x","year":[1]}', SkipReason.INVALID_FIELD),
        ('{"id":"a","text":"x","year":true}', SkipReason.INVALID_FIELD),
        ('{"id":"a","text":"\\ud83d half"}', SkipReason.INVALID_UNICODE),
        ('{"id":"a\\udc00","text":"x"}', SkipReason.INVALID_UNICODE),
        ('{"id":"a","text":"x","facets":["f:\\ud83d"]}', SkipReason.INVALID_UNICODE),
        ('{"id":"a","text":"x","year":"\\ud83d"}', SkipReason.INVALID_UNICODE),
    ],
)
def test_a_bad_record_is_skipped_with_its_reason_and_the_next_is_read(
    tmp_path: Path, line: str, reason: SkipReason
) -> None:
    path = write(tmp_path / "c.jsonl", line, '{"id":"good","text":"x"}')
    (place, skip), (_, good) = read_documents(path, ["year"])
    assert isinstance(skip, Skip)
    assert skip.reason == reason
    assert "\n" not in skip.at(place)
    assert good == Document("good", "x")


def test_bytes_that_are_not_utf8_cost_one_record(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"id":"a","text":"caf\xe9"}\n{"id":"b","text":"x"}\n')
    (_, skip), (_, good) = read_documents(path)
    assert isinstance(skip, Skip)
    assert skip.reason == SkipReason.INVALID_UNICODE
    assert good == Document("b", "x")


def test_escaped_surrogate_pairs_are_one_letter(tmp_path: Path) -> None:
    assert only(write(tmp_path / "c.jsonl", '{"id":"a","text":"\\ud83d\\ude1e"}')) == Document("a", "\U0001f61e")


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_byte_order_mark_crlf_blank_lines_and_no_final_newline(tmp_path: Path, end: str, mark: bytes) -> None:
    path = tmp_path / "c.jsonl"
    text = '{"id":"a","text":"x\u2028y"}' + (end or "\n") + "  " + (end or "\n") + '{"id":"b","text":"y"}' + end
    path.write_bytes(mark + text.encode())
    results = list(read_documents(path))
    assert [result for _, result in results] == [Document("a", "x\u2028y"), Document("b", "y")]
    assert [place.line_number for place, _ in results] == [1, 3]


def test_a_folder_is_read_in_the_order_of_names_gzip_among_them(tmp_path: Path) -> None:
    write(tmp_path / "b.jsonl", '{"id":"b","text":""}')
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'\xef\xbb\xbf{"id":"a","text":""}\n'))
    write(tmp_path / "c.jsonl", '{"id":"c","text":""}')
    write(tmp_path / "notes.txt", "not a document")
    assert [document.docid for document in documents(tmp_path)] == ["a", "b", "c"]
    assert [document.docid for document in documents(tmp_path / "a.jsonl.gz")] == ["a"]


def test_paths_that_hold_nothing_are_refused_at_once_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.jsonl"):
        read_documents(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match=r"no \.jsonl"):
        read_documents(tmp_path)


def test_a_beir_folder_is_not_taken_for_a_folder_of_documents(tmp_path: Path) -> None:
    write(tmp_path / "corpus.jsonl", '{"_id":"d","text":""}')
    write(tmp_path / "queries.jsonl", '{"_id":"q","text":""}')
    with pytest.raises(InputError, match="beir:"):
        read_documents(tmp_path)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-20], lambda data: b"plain text", lambda data: data[:30] + b"\0" * 40]
)
def test_a_damaged_gzip_file_is_named(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "c.jsonl.gz"
    lines = "".join(json.dumps({"id": n, "text": f"{n * n}"}) + "\n" for n in range(1000))
    path.write_bytes(damage(gzip.compress(lines.encode())))  # type: ignore[operator]
    with pytest.raises(InputError, match=r"c\.jsonl\.gz: damaged gzip"):
        list(read_documents(path))


def test_g34_two_iterators_over_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", *(json.dumps({"id": n, "text": ""}) for n in range(20)))
    first, second = read_documents(path), read_documents(path)
    half = list(islice(first, 4))
    whole = list(second)
    assert half == whole[:4]
    assert half + list(first) == whole
    assert len(whole) == 20


def test_g33_an_ascii_locale_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", json.dumps({"id": "a", "text": "potter\u2019s \U0001f3fa"}, ensure_ascii=False))
    code = (
        f"from sira.corpora.jsonl import read_documents; print(ascii(list(read_documents({str(path)!r}))[0][1].text))"
    )
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ascii("potter\u2019s \U0001f3fa")


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", *(json.dumps({"id": n, "text": "x" * 1000}) for n in range(5000)))
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_documents(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 5000
    assert peak < 1_000_000


@given(st.text())
def test_valid_ids_are_those_that_survive_a_run_file(docid: str) -> None:
    splits = any(letter.isspace() or ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in docid)
    assert is_valid_id(docid) == (bool(docid) and not splits)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_value_of_any_field_gives_a_document_or_a_skip(value: object) -> None:
    for name in ("docid", "text", "title", "url", "facets", "year"):
        record = {"docid": "a", "text": "x"} | {name: value}
        assert isinstance(document_from_record(record, ["year"]), (Document, Skip))
    assert isinstance(document_from_record(value), Skip)
