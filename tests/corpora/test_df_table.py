"""df tables as files: what is written is read back, and what is torn or foreign is named with its line."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.compile import TableStatistics
from sira.corpora.df_table import DfTable, read_df_table, write_df_table
from sira.errors import InputError

TERMS = [("a\tb", 2), ("back\\slash", 1), ("back\\tslash", 3), ("kiln", 7), ("line\nfeed\r", 1), ("界", 4)]


def write(path: Path, terms: list[tuple[str, int]] = TERMS, documents: int = 7) -> Path:
    count = write_df_table(path, lambda: terms, documents=documents, analyzer="english", fingerprint="f00")
    assert count == len(terms)
    return path


@pytest.mark.parametrize("name", ["df.tsv", "df.tsv.gz"])
def test_a_table_reads_back_and_is_the_same_bytes_each_time(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name)
    assert read_df_table(path) == DfTable(7, "english", dict(TERMS), "f00")
    assert list(read_df_table(path).df) == [term for term, _ in TERMS]
    (tmp_path / "again").mkdir()
    assert write(tmp_path / "again" / name).read_bytes() == path.read_bytes()


def test_the_file_is_plain_text_with_a_header(tmp_path: Path) -> None:
    header, *lines = write(tmp_path / "df.tsv").read_bytes().decode().split("\n")
    assert json.loads(header) == {
        "format": "sira-df",
        "version": 1,
        "analyzer": "english",
        "documents": 7,
        "field": "contents",
        "terms": 6,
        "fingerprint": "f00",
    }
    assert lines[:2] == ["a\\tb\t2", "back\\\\slash\t1"]
    assert lines[-2:] == ["界\t4", ""]


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 9)))
def test_any_terms_survive(terms: dict[str, int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "df.tsv", list(terms.items()), documents=9)
        assert read_df_table(path).df == terms


def test_an_empty_index_has_an_empty_table(tmp_path: Path) -> None:
    assert read_df_table(write(tmp_path / "df.tsv", [], documents=0)) == DfTable(0, "english", {}, "f00")


def test_statistics_can_be_built_of_it(tmp_path: Path) -> None:
    table = read_df_table(write(tmp_path / "df.tsv"))
    statistics = TableStatistics(table.documents, table.df)
    assert (statistics.document_count, statistics.df(["kiln", "gone"])) == (7, [7, 0])


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_torn_table_is_refused_with_its_last_line(tmp_path: Path, cut: int) -> None:
    path = write(tmp_path / "df.tsv")
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(InputError, match=r"df.tsv, line [4567]: .*--export-df"):
        read_df_table(path)


def test_a_torn_packed_table_is_refused_with_a_line(tmp_path: Path) -> None:
    path = write(tmp_path / "df.tsv.gz")
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match=r"df.tsv.gz, line \d: "):
        read_df_table(path)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("kiln", "line 3: not `term<TAB>df`"),
        ("kiln\t1\t2", "line 3: not `term<TAB>df`"),
        ("kiln\tmany", "line 3: not `term<TAB>df`"),
        ("", "line 3: not `term<TAB>df`"),
        ("kiln\t0", "line 3: df 0 of 7 documents"),
        ("kiln\t8", "line 3: df 8 of 7 documents"),
        ("a\\tb\t2", "line 7: ends with 5 terms of 6"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, fault: str) -> None:
    path = write(tmp_path / "df.tsv")
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[2] = line
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_df_table(path)
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"kiln\t1\n", b"[1]\n", b'{"format": "other"}\n', b"\xff\xfe\x00", b'{"format": "sira-df"', b"[" * 70_000],
)
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "df.tsv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"line 1: no df table of sira's: write one with `sira index"):
        read_df_table(path)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"version": 2}, "version 2; this sira reads 1"),
        ({"documents": "7"}, "`documents` is missing or wrong"),
        ({"terms": True}, "`terms` is missing or wrong"),
        ({"analyzer": None}, "`analyzer` is missing or wrong"),
    ],
)
def test_a_wrong_header_is_refused(tmp_path: Path, change: dict[str, object], fault: str) -> None:
    path = write(tmp_path / "df.tsv")
    first, rest = path.read_text(encoding="utf-8").split("\n", 1)
    path.write_text(json.dumps(json.loads(first) | change) + "\n" + rest, encoding="utf-8")
    with pytest.raises(InputError, match=f"line 1: .*{fault}"):
        read_df_table(path)


def test_a_failed_export_leaves_the_old_table(tmp_path: Path) -> None:
    path = write(tmp_path / "df.tsv.gz")
    before = path.read_bytes()
    calls: list[int] = []

    def failing() -> Iterator[tuple[str, int]]:
        calls.append(1)
        yield "kiln", 1
        if len(calls) == 2:
            raise OSError("the index went away")

    with pytest.raises(OSError, match="went away"):
        write_df_table(path, failing, documents=1, analyzer="english", fingerprint="")
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["df.tsv.gz"]
    assert gzip.decompress(before).startswith(b'{"format"')
