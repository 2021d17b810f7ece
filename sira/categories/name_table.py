"""Names to numbers: a hash table on disk, one probe a look-up."""

from __future__ import annotations

import zlib
from pathlib import Path

from sira.categories.arrays import Mapped, Strings


class NameTable:
    """The names of a graph folder and their numbers."""

    __slots__ = ("_bucket_names", "_bucket_starts", "_mask", "names")

    def __init__(self, graph: Path) -> None:
        self.names = Strings(graph / "names")
        self._bucket_starts = Mapped(graph / "bucket_starts.i4").view("i")
        self._bucket_names = Mapped(graph / "bucket_names.i4").view("i")
        self._mask = len(self._bucket_starts) - 2

    def number(self, canonical: str) -> int | None:
        """The number of a canonical name, or None."""
        key = canonical.encode("utf-8", "surrogatepass")
        bucket = zlib.crc32(key) & self._mask
        for at in range(self._bucket_starts[bucket], self._bucket_starts[bucket + 1]):
            number = self._bucket_names[at]
            if self.names[number] == key:
                return number
        return None
