"""Opening the files that users bring, and writing ours: gzip by suffix, UTF-8 with or without a byte-order mark."""

from __future__ import annotations

import gzip
import io
import os
import secrets
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from sira.errors import InputError, TrecFormatError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@contextmanager
def open_bytes(path: Path) -> Generator[BinaryIO]:
    """Open a file for reading, unpacked if its name ends in .gz.

    Raises InputError naming the file if it is absent, a folder, unreadable, or a damaged gzip file; also for what
    happens inside the `with` block, since gzip finds the damage while it reads.
    """
    if not path.exists():
        raise InputError(f"{path}: there is no such file; check the path")
    if path.is_dir():
        raise InputError(f"{path}: this is a folder where a file is expected; name the file inside it")
    try:
        with path.open("rb") as raw:
            if path.suffix != ".gz":
                yield raw
            else:
                # A buffered reader in C over GzipFile, whose own line iteration is Python code.
                with gzip.GzipFile(fileobj=raw) as packed, io.BufferedReader(packed, 1 << 17) as stream:
                    yield cast(BinaryIO, stream)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: damaged gzip file ({error}); fetch it again") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read this file; change its mode or its owner") from None


def byte_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, line with its end) for each line; a byte-order mark in front is removed."""
    with open_bytes(path) as stream:
        for number, line in enumerate(stream, start=1):
            yield number, line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number from 1, line without its end) for each line that is not blank.

    Only LF and CRLF end a line: other separators of Unicode may stand inside a text.
    Raises TrecFormatError for a line that is not UTF-8, InputError as `open_bytes`.
    """
    for number, raw in byte_lines(path):
        try:
            line = raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise TrecFormatError(str(path), number, f"not UTF-8 ({error.reason}); convert the file to UTF-8") from None
        if line and not line.isspace():
            yield number, line


@contextmanager
def replacing(path: Path) -> Generator[TextIO]:
    """Write a text file under a temporary name beside its own, and rename it when the block ends without an error.

    So a reader never sees half a file, and a failed block leaves the old file as it was. Lines end in LF everywhere.
    Raises InputError if the folder does not exist or cannot be written.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; create it first")
    # Beside the process's number a random part: containers that share a folder may have the same numbers.
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        stream = temporary.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another place") from None
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
