"""Reading expansion stores: good rows come out, a bad one stops with its file and line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sira.errors import InputError
from sira.expand.store import expansion_rows, read_expansions, store_fingerprint
from sira.records import Expansion

GOOD = '{"docid": "d1", "phrases": ["kiln wash", "é 界 😀"], "status": "truncated", "expires": "2026-01-31"}'


def rows(path: Path) -> list[Expansion]:
    return [row for _, row in read_expansions(path)]


def test_shards_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"docid": 7, "phrases": []}\n\n', encoding="utf-8")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + GOOD.encode() + b"\r\n"))
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    first = Expansion("d1", ("kiln wash", "é 界 😀"), "truncated", "2026-01-31")
    assert rows(tmp_path) == [first, Expansion("7", ())]
    assert rows(tmp_path / "a.jsonl.gz") == [first]
    ((place, _),) = read_expansions(tmp_path / "b.jsonl")
    assert str(place) == f"{tmp_path / 'b.jsonl'}, line 1"


def test_rows_come_whole_with_what_an_expansion_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f"{GOOD}\n", encoding="utf-8")
    row = {"docid": 7, "phrases": [], "provenance": {"job": "aa"}}
    (tmp_path / "b.jsonl").write_text(f"\n{json.dumps(row)}\n", encoding="utf-8")
    found = list(expansion_rows(tmp_path))
    assert [(str(place), fields) for place, fields, _ in found] == [
        (f"{tmp_path / 'a.jsonl'}, line 1", json.loads(GOOD)),
        (f"{tmp_path / 'b.jsonl'}, line 2", row),
    ]
    assert [expansion for _, _, expansion in found] == rows(tmp_path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"docid": "c", "phr', "not JSON"),
        ("[1]", "must be a JSON object"),
        ('{"phrases": []}', "`docid`"),
        ('{"docid": true, "phrases": []}', "`docid`"),
        ('{"docid": "", "phrases": []}', "`docid`"),
        ('{"docid": 1.5, "phrases": []}', "`docid`"),
        ('{"docid": "c"}', "`phrases` must be a list"),
        ('{"docid": "c", "phrases": "kiln"}', "`phrases` must be a list"),
        ('{"docid": "c", "phrases": ["kiln", 3]}', "`phrases` must be a list"),
        ('{"docid": "c", "phrases": [], "expires": "soon"}', "`expires` must be a date"),
        ('{"docid": "c", "phrases": [], "expires": 20260131}', "`expires` must be a date"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, row: str, message: str) -> None:
    store = tmp_path / "store.jsonl"
    store.write_text(f"{GOOD}\n\n{row}\n", encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        rows(store)
    assert str(caught.value).startswith(f"{store}, line 3: ")


@pytest.mark.parametrize("keep", [5, 60, -9, -1])
def test_a_torn_gzip_is_an_error_and_no_short_store(tmp_path: Path, keep: int) -> None:
    store = tmp_path / "store.jsonl.gz"
    many = "\n".join(json.dumps({"docid": f"d{n}", "phrases": [f"phrase {n * n}"]}) for n in range(2000))
    store.write_bytes(gzip.compress(many.encode())[:keep])
    with pytest.raises(InputError, match=r"store.jsonl.gz"):
        rows(store)


def test_what_is_no_store_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match="no expansion store"):
            rows(path)
    (tmp_path / "latin.jsonl").write_bytes('{"docid": "d", "phrases": ["é"]}\n'.encode("latin-1"))
    with pytest.raises(InputError, match=r"latin.jsonl, line 1"):
        rows(tmp_path)


def test_the_fingerprint_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(GOOD, encoding="utf-8")
    before = store_fingerprint(tmp_path)
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    assert store_fingerprint(tmp_path) == before
    (tmp_path / "b.jsonl").write_text(GOOD, encoding="utf-8")
    assert store_fingerprint(tmp_path) != before
