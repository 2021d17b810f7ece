"""The reader of mysqldump's SQL."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.categories.sql import SqlTable, unescape
from sira.corpora.wikipedia.dumps import Dump
from sira.errors import InputError

from .wiki import dump, quoted

COLUMNS = ["a", "b", "c"]
VALUES = st.one_of(st.integers(), st.text(st.characters(exclude_categories=["Cs"])), st.none())


def read(text: str | bytes, wanted: Sequence[str] = COLUMNS, table: str = "t") -> list[tuple[bytes, ...]]:
    stream = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    found: list[tuple[bytes, ...]] = []
    for block in SqlTable(Dump(Path("t.sql"), stream, stream), table).blocks(wanted):
        found += [tuple(row[block.at[name]] for name in wanted) for row in block.rows]
    return found


def written(value: int | str | None) -> str:
    return "NULL" if value is None else quoted(value) if isinstance(value, str) else str(value)


def plain(value: bytes) -> int | str | None:
    return unescape(value).decode() if value.startswith(b"'") else None if value == b"NULL" else int(value)


@given(st.lists(st.tuples(VALUES, VALUES, VALUES)), st.booleans(), st.permutations(COLUMNS))
def test_rows_come_back_as_they_were_written(
    rows: list[tuple[int | str | None, ...]], lines: bool, wanted: list[str]
) -> None:
    text = dump("t", COLUMNS, [[written(value) for value in row] for row in rows], lines=lines)
    places = [COLUMNS.index(name) for name in wanted]
    assert [tuple(map(plain, row)) for row in read(text, wanted)] == [tuple(row[at] for at in places) for row in rows]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_quotes_doubled_in_place_of_a_backslash_are_read_too(text: str) -> None:
    value = text.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n").replace("\r", "\\r")
    assert [plain(row[0]) for row in read(dump("t", COLUMNS, [(f"'{value}'", 1, 2)]))] == [text]


def test_a_dump_cut_at_any_byte_is_refused_or_lacks_the_comment_only() -> None:
    text = dump("t", COLUMNS, [(n, quoted("it's (1,2),;\n"), "NULL") for n in range(5)]).encode()
    whole = text.index(b"UNLOCK") + len(b"UNLOCK TABLES")
    for end in range(len(b"-- MySQL dump"), whole):
        with pytest.raises(InputError, match=r"^t\.sql(, line \d+|: holds no table 't')"):
            read(text[:end])
    for end in range(whole, len(text)):
        assert len(read(text[:end])) == 5


def test_damage_is_named_by_line_and_byte() -> None:
    text = dump("t", COLUMNS, [(1, "'x'", 2), (3, "'y'", 4)]).replace("(3,'y'", "(3,'y''")
    line = text[: text.index("INSERT")].count("\n") + 1
    byte = text[text.index("INSERT") :].index("(3") + 1
    with pytest.raises(InputError, match=rf"^t\.sql, line {line}, byte {byte} of the line: no row of 3 columns"):
        read(text)


def test_another_table_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="the table 'page' where 'linktarget' is expected"):
        read(dump("page", COLUMNS, []), table="linktarget")


def test_a_table_without_the_column_is_refused() -> None:
    with pytest.raises(InputError, match="the table 't' has no column 'd', only a, b, c"):
        read(dump("t", COLUMNS, [(1, 2, 3)]), ["a", "d"])


def test_a_file_without_sql_is_refused() -> None:
    with pytest.raises(InputError, match="holds no table 't'"):
        read("nothing of this kind\n")


def test_columns_named_in_the_statement_count() -> None:
    assert read("INSERT INTO t (c, `a`, b) VALUES (1, _binary 'x', 3), (4,'y',6);\n") == [
        (b"_binary 'x'", b"3", b"1"),
        (b"'y'", b"6", b"4"),
    ]
    assert unescape(b"_binary 'x'") == b"x"


def test_an_empty_table_has_no_rows() -> None:
    assert read(dump("t", COLUMNS, [])) == []
