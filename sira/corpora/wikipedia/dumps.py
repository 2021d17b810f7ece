"""Dump files as streams of bytes: plain, .gz or .bz2 (also of many streams), with the place where reading stands."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from sira.errors import InputError

_SAMPLE, _SAMPLES = 1 << 16, 256


@dataclass(frozen=True, slots=True)
class Dump:
    """An open dump: `stream` gives the unpacked bytes."""

    path: Path
    stream: BinaryIO
    raw: BinaryIO

    def offset(self) -> int:
        """Bytes of the file as it is on disk that have been read, ahead of what was unpacked by at most a buffer."""
        return self.raw.tell()


@contextmanager
def open_dump(path: Path) -> Generator[Dump]:
    """Open a dump for reading, unpacked by the suffix of its name.

    Raises InputError naming the file, and for damage the byte near which it lies; also for what happens inside the
    `with` block, since damage shows while one reads.
    """
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; check the path")
    try:
        raw = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); change its mode or its owner") from None
    with raw:
        try:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw) as packed, io.BufferedReader(packed, 1 << 18) as stream:
                    yield Dump(path, cast(BinaryIO, stream), raw)
            elif path.suffix == ".bz2":
                with bz2.BZ2File(raw) as packed, io.BufferedReader(packed, 1 << 18) as stream:
                    yield Dump(path, cast(BinaryIO, stream), raw)
            else:
                yield Dump(path, raw, raw)
        except (EOFError, zlib.error, gzip.BadGzipFile, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of something else that the block does: a full disk, say
            kind = "gzip" if path.suffix == ".gz" else "bzip2"
            raise InputError(
                f"{path}: damaged or cut {kind} file near byte {raw.tell()} ({error}); fetch it again"
            ) from None


def fingerprint(path: Path) -> str:
    """SHA-256 over size and content; of a file above 16 MiB over 256 samples of 64 KiB, spread evenly.

    A dump that was packed anew differs everywhere, so samples tell. Raises InputError if the file is absent.
    """
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; check the path")
    size = path.stat().st_size
    digest = hashlib.sha256(f"{size}:".encode())
    with path.open("rb") as stream:
        if size <= _SAMPLE * _SAMPLES:
            while block := stream.read(1 << 20):
                digest.update(block)
        else:
            for number in range(_SAMPLES):
                stream.seek((size - _SAMPLE) * number // (_SAMPLES - 1))
                digest.update(stream.read(_SAMPLE))
    return digest.hexdigest()
