"""JSON Lines files indexed by an id: any row is found again without the rows being held in memory.

For each row a 64-bit hash, the file and the offset are kept: 20 bytes, and twice that while the index is built.
Compressed files are unpacked once into a temporary file.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from sira.errors import InputError

Row = dict[str, Any]
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HASH_BYTES = 8


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest())


class ReplyIndex:
    """The rows of some files by id. `id_of` names a row's id; None for what is no row.

    `skipped` counts lines that are no rows, with the place of the first in `first_skipped`; `torn` counts files whose
    last line was cut off, as a killed writer leaves them. `seen` is shown each row once, as the files are read.
    Raises InputError naming a file without one row among its lines, or a damaged one.
    """

    def __init__(
        self, files: Sequence[Path], id_of: Callable[[Row], str | None], seen: Callable[[Row], None] | None = None
    ) -> None:
        self._files, self._id_of = list(files), id_of
        self._unpacked: IO[bytes] | None = None
        self._open: tuple[int, IO[bytes]] | None = None
        self.skipped, self.torn, self.first_skipped = 0, 0, ""
        hashes, numbers, offsets = array("Q"), array("I"), array("Q")
        try:
            for number, file in enumerate(self._files):
                before, skipped = len(hashes), self.skipped
                for offset, row, row_id in self._rows(number, file):
                    hashes.append(_hash(row_id))
                    numbers.append(number)
                    offsets.append(offset)
                    if seen is not None:
                        seen(row)
                if len(hashes) == before and self.skipped > skipped:
                    raise InputError(f"{file}: not one line is a row of replies; take this file out of the folder")
        except BaseException:
            self.close()
            raise
        found = np.array(hashes, dtype=np.uint64)
        order = found.argsort(kind="stable")
        self._hashes = found[order]
        self._numbers = np.array(numbers, dtype=np.uint32)[order]
        self._offsets = np.array(offsets, dtype=np.uint64)[order]

    def __len__(self) -> int:
        return len(self._hashes)

    def rows(self, row_id: str) -> Iterator[Row]:
        """The rows of this id, in the order of files and lines."""
        wanted = np.uint64(_hash(row_id))
        at = bisect_left(self._hashes, wanted)
        while at < len(self._hashes) and self._hashes[at] == wanted:
            row = self._read(int(self._numbers[at]), int(self._offsets[at]))
            if self._id_of(row) == row_id:
                yield row
            at += 1

    def close(self) -> None:
        """Close the files; the temporary one is gone then."""
        if self._open is not None:
            self._open[1].close()
            self._open = None
        if self._unpacked is not None:
            self._unpacked.close()
            self._unpacked = None

    def _rows(self, number: int, file: Path) -> Iterator[tuple[int, Row, str]]:
        """(offset, row, id) of each good line. For a packed file the offset is that in the unpacked one."""
        stream, offset, end, torn = self._stream(number, file)
        stream.seek(offset)
        line_number = 0
        while offset < end:
            line = stream.readline()[: end - offset]
            line_number += 1
            row = _parsed(line.removeprefix(_BYTE_ORDER_MARK) if line_number == 1 else line)
            row_id = None if row is None else self._id_of(row)
            if row is not None and row_id is not None:
                yield offset, row, row_id
            elif row is None and not line.endswith(b"\n"):
                torn = True
            elif not line.isspace():
                self.skipped += 1
                self.first_skipped = self.first_skipped or f"{file}, line {line_number}"
            offset += len(line)
        self.torn += torn

    def _stream(self, number: int, file: Path) -> tuple[IO[bytes], int, int, bool]:
        """The bytes of one file: the stream that holds them, where they begin and end, and whether they are torn."""
        if file.suffix != ".gz":
            return self._opened(number), 0, file.stat().st_size, False
        if self._unpacked is None:
            self._unpacked = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        unpacked, torn = self._unpacked, False
        start = unpacked.seek(0, 2)
        try:
            with gzip.open(file) as packed:
                while chunk := packed.read1(1 << 20):
                    unpacked.write(chunk)
        except EOFError:  # the writer was killed: the lines before the tear are good
            torn = True
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{file}: damaged gzip file ({error}); fetch it again") from None
        end = unpacked.tell()
        unpacked.write(b"\n")  # parts the last line from the next file's first
        return unpacked, start, end, torn

    def _opened(self, number: int) -> IO[bytes]:
        """The file of this number: the one that was read last stays open, since rows are mostly asked for in order."""
        if self._open is None or self._open[0] != number:
            if self._open is not None:
                self._open[1].close()
            self._open = (number, self._files[number].open("rb"))
        return self._open[1]

    def _read(self, number: int, offset: int) -> Row:
        packed = self._files[number].suffix == ".gz"
        stream = self._unpacked if packed and self._unpacked is not None else self._opened(number)
        stream.seek(offset)
        row = _parsed(stream.readline().removeprefix(_BYTE_ORDER_MARK))
        if row is None:
            raise InputError(f"{self._files[number]}: changed while it was in use; start again")
        return row


def _parsed(line: bytes) -> Row | None:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast(Row, row) if isinstance(row, dict) else None
