"""Rows of a table out of mysqldump's SQL, block by block: chosen columns, by their names in CREATE TABLE.

A statement may stand in one line (mysqldump) or one row a line (newer MariaDB). Values stay bytes; strings are
unescaped only where that is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sira.corpora.wikipedia.dumps import Dump
from sira.errors import InputError

LONGEST_LINE = 1 << 28
"""Bytes; mysqldump writes statements of about 1 MB."""

_BLOCK = 1 << 20
_VALUE = rb"(?:_binary )?'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'|[^',()\s]++"
_INSERT = re.compile(rb"INSERT\s+(?:IGNORE\s+)?INTO\s+`?(\w+)`?\s*(?:\(([^()']*)\)\s*)?VALUES?\b\s*", re.IGNORECASE)
_CREATE = re.compile(rb"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?`?(\w+)`?\s*\(", re.IGNORECASE)
_COLUMN = re.compile(rb"(?:\A|,)\s*`(\w+)`\s+[A-Za-z]")
# Nothing but these, after the rows, shows that mysqldump came to its end.
_END = re.compile(rb"UNLOCK TABLES|/\*!\d+ ALTER TABLE \S+ ENABLE KEYS|-- Dump completed")
_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_SPECIAL = {b"0": b"\0", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"Z": b"\x1a"}

Row = tuple[bytes, ...]


def unescape(value: bytes) -> bytes:
    """The string that a quoted SQL value stands for."""
    inner = value[value.index(b"'") + 1 : -1]
    if b"\\" not in inner and b"'" not in inner:
        return inner
    return _ESCAPE.sub(_plain, inner)


def _plain(match: re.Match[bytes]) -> bytes:
    letter = match.group(1)
    return b"'" if letter is None else _SPECIAL.get(letter, letter)


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that stand together: of each its whole text, then the wanted columns in the order of the table.

    `at` says where in a row a column stands; `line` is the line (from 1) in which the block begins.
    """

    rows: list[Row]
    at: Mapping[str, int]
    line: int


class SqlTable:
    """Reads one dump of one table. `columns` are known once the first line of rows, or the end, has been read."""

    __slots__ = ("_commented", "_dump", "_ended", "_lines", "_next", "columns", "table")

    def __init__(self, dump: Dump, table: str) -> None:
        """Reads up to the first INSERT. Raises InputError if the dump is of another table or says no columns."""
        self.table, self.columns = table, tuple[str, ...]()
        self._dump, self._lines, self._commented, self._ended = dump, 0, False, False
        self._next: tuple[bytes, bytes] | None = self._begin()

    def blocks(self, wanted: Sequence[str]) -> Iterator[Block]:
        """All rows, about 1 MB of text a block.

        Raises InputError naming file, line and byte for what is no row, and for a dump that ends too early.
        """
        absent = [name for name in wanted if name not in self.columns]
        if absent and self._next is not None:
            raise InputError(
                f"{self._dump.path}: the table {self.table!r} has no column {absent[0]!r}, only "
                f"{', '.join(self.columns)}; give a dump of MediaWiki's tables"
            )
        pattern = self._row_pattern(wanted)
        chosen = [name for name in self.columns if name in wanted]
        at = {name: place for place, name in enumerate(chosen, start=1)}
        statement = self._next
        while statement is not None:
            head, text = statement
            first, skipped, pieces, size = self._lines, len(head), [text], len(text)
            while not pieces[-1].rstrip().endswith(b";"):
                line = self._line()
                if not line:
                    raise self._cut("inside a statement")
                pieces.append(line)
                size += len(line)
                if size >= _BLOCK and line.rstrip().endswith(b"),"):
                    yield Block(self._rows(pattern, b"".join(pieces), first, skipped), at, first)
                    first, skipped, pieces, size = self._lines + 1, 0, [b""], 0
            yield Block(self._rows(pattern, b"".join(pieces), first, skipped), at, first)
            statement = self._statement()
        if self._commented and not self._ended:
            raise self._cut("without mysqldump's last lines")

    def _begin(self) -> tuple[bytes, bytes] | None:
        definition: list[bytes] | None = None
        while line := self._line():
            if definition is None and (found := _CREATE.match(line)):
                self._check(found.group(1))
                definition = [line[found.end() :]]
            elif definition is not None and not self.columns:
                definition.append(line)
            elif found := _INSERT.match(line):
                return self._insert(found, line)
            elif line.startswith((b"-- MySQL dump", b"-- MariaDB dump")):
                self._commented = True
            self._ended = self._ended or _END.match(line) is not None
            if definition is not None and definition[-1].rstrip().endswith(b";"):
                self.columns = tuple(name.decode() for name in _COLUMN.findall(b"".join(definition)))
        if definition is None or not self.columns:
            raise InputError(f"{self._dump.path}: holds no table {self.table!r}: give the SQL dump of that table")
        if self._commented and not self._ended:
            raise self._cut("before its rows")
        return None

    def _statement(self) -> tuple[bytes, bytes] | None:
        """The next INSERT as its head and its rows, or None at the end."""
        while line := self._line():
            if found := _INSERT.match(line):
                self._ended = False
                return self._insert(found, line)
            self._ended = self._ended or _END.match(line) is not None
        return None

    def _insert(self, found: re.Match[bytes], line: bytes) -> tuple[bytes, bytes]:
        self._check(found.group(1))
        if found.group(2) is not None:
            self.columns = tuple(name.strip(b" `").decode() for name in found.group(2).split(b","))
        if not self.columns:
            raise InputError(
                f"{self._dump.path}, line {self._lines}: rows before any CREATE TABLE; give the whole dump"
            )
        return found.group(), line[found.end() :]

    def _check(self, table: bytes) -> None:
        if table != self.table.encode():
            raise InputError(
                f"{self._dump.path}, line {self._lines}: the table {table.decode()!r} where {self.table!r} is "
                "expected; give the dump of that table"
            )

    def _line(self) -> bytes:
        line = self._dump.stream.readline(LONGEST_LINE)
        if len(line) == LONGEST_LINE:
            raise InputError(
                f"{self._dump.path}, line {self._lines + 1}: longer than {LONGEST_LINE} bytes; not a dump by mysqldump"
            )
        self._lines += bool(line)
        return line

    def _row_pattern(self, wanted: Sequence[str]) -> re.Pattern[bytes]:
        """A whole row with its separator as the first group, then the wanted columns, in the order of the table."""
        values = [b"(" + _VALUE + b")" if name in wanted else b"(?:" + _VALUE + b")" for name in self.columns]
        return re.compile(rb"(\(" + rb",\s*+".join(values) + rb"\)\s*+[,;]?\s*+)", re.DOTALL)

    def _rows(self, pattern: re.Pattern[bytes], text: bytes, line: int, skipped: int) -> list[Row]:
        rows: list[Row] = pattern.findall(text)
        if sum(len(row[0]) for row in rows) != len(text):
            end = 0
            for found in pattern.finditer(text):
                if found.start() != end:
                    break
                end = found.end()
            line += text.count(b"\n", 0, end)
            begin = text.rfind(b"\n", 0, end) + 1
            byte = end - begin + (0 if begin else skipped) + 1
            raise InputError(
                f"{self._dump.path}, line {line}, byte {byte} of the line: no row "
                f"of {len(self.columns)} columns ({text[end : end + 40].decode(errors='backslashreplace')!r}); "
                "the dump is damaged or cut: fetch it again"
            )
        return rows

    def _cut(self, how: str) -> InputError:
        return InputError(
            f"{self._dump.path}, line {self._lines}, near byte {self._dump.offset()} of the file: the dump ends {how}; "
            "it is cut: fetch it again"
        )
