"""Byte arrays as Engine.java reads and writes them: little-endian, strings as UTF-8 length (int32) and bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

RECORD = "\x1e"
UNIT = "\x1f"
NEVER = "\udcff"  # the byte 0xff, decoded with surrogateescape: it stands in no UTF-8


def to_bytes(array: Any) -> bytes:
    """A Java byte[] as bytes; pyjnius gives a list-like object of its own, or None for an empty array."""
    if array is None:
        return b""
    return array.tostring() if hasattr(array, "tostring") else bytes(array)


def utf8(text: str) -> bytes:
    """The bytes of a term or id to look up. A lone surrogate becomes bytes that no index holds, so nothing is found."""
    return text.encode("utf-8", "surrogatepass")


def pack_strings(strings: Sequence[str]) -> bytes:
    """count, then each string."""
    out = [struct.pack("<i", len(strings))]
    for text in strings:
        data = utf8(text)
        out.append(struct.pack("<i", len(data)))
        out.append(data)
    return b"".join(out)


class Packer:
    """Collects one batch."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def integer(self, value: int) -> None:
        self.parts.append(struct.pack("<i", value))

    def string(self, value: str) -> None:
        data = utf8(value)
        self.parts.append(struct.pack("<i", len(data)))
        self.parts.append(data)

    def strings(self, values: Iterable[str]) -> None:
        """The strings without a count."""
        for value in values:
            self.string(value)

    def take(self) -> bytes:
        return b"".join(self.parts)


class Unpacker:
    """Reads one reply from the front."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def integer(self) -> int:
        (value,) = struct.unpack_from("<i", self.data, self.at)
        self.at += 4
        return value

    def integers(self, count: int) -> tuple[int, ...]:
        values = struct.unpack_from(f"<{count}i", self.data, self.at)
        self.at += 4 * count
        return values

    def floats(self, count: int) -> tuple[float, ...]:
        values = struct.unpack_from(f"<{count}f", self.data, self.at)
        self.at += 4 * count
        return values

    def string(self) -> str:
        length = self.integer()
        value = self.data[self.at : self.at + length].decode("utf-8")
        self.at += length
        return value

    def docids(self) -> tuple[str, ...]:
        """All that is left: docids parted by a byte that stands in no UTF-8."""
        rest, self.at = self.data[self.at :], len(self.data)
        return tuple(rest.decode("utf-8", "surrogateescape").split(NEVER))

    @property
    def done(self) -> bool:
        return self.at >= len(self.data)
