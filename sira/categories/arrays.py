"""Arrays and lists of strings as files: written as they grow, read by memory map."""

# numpy's own signatures are partly unknown to the type checker.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Little-endian everywhere, so that a folder can be copied from one machine to another.
TYPES = {"i8": "<i8", "i4": "<i4", "u4": "<u4", "u1": "u1"}


def load(path: Path) -> Array:
    """The array of a file, whose suffix is its type (.i8, .i4, .u4, .u1), mapped into memory, not read."""
    dtype = np.dtype(TYPES[path.suffix[1:]])
    if path.stat().st_size == 0:
        return np.empty(0, dtype)
    array: Array = np.memmap(path, dtype, mode="r")
    return array


def save(path: Path, values: Any) -> None:
    np.asarray(values).astype(TYPES[path.suffix[1:]], copy=False).tofile(path)


def chunks(values: Array, size: int = 1 << 20) -> Iterator[Array]:
    """The array in pieces of at most `size` values, copied into memory."""
    for at in range(0, len(values), size):
        yield np.array(values[at : at + size])


class _Writer(ABC):
    """Closed at the end of its `with` block."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ArrayWriter(_Writer):
    """Appends to the array of a file."""

    def __init__(self, path: Path) -> None:
        self._dtype = TYPES[path.suffix[1:]]
        self._stream = path.open("wb")
        self.count = 0

    def extend(self, values: Any) -> None:
        array = np.asarray(values).astype(self._dtype, copy=False)
        self._stream.write(np.ascontiguousarray(array).data)
        self.count += len(array)

    def close(self) -> None:
        self._stream.close()


class StringsWriter(_Writer):
    """Appends to a list of strings: NAME.text holds them without separators, NAME.i8 where each begins."""

    def __init__(self, path: Path) -> None:
        self._text = path.with_name(f"{path.name}.text").open("wb")
        self._starts = ArrayWriter(path.with_name(f"{path.name}.i8"))
        self._starts.extend([0])
        self._end = 0

    def extend(self, strings: Sequence[bytes]) -> None:
        if strings:
            ends = np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings))) + self._end
            self._text.write(b"".join(strings))
            self._starts.extend(ends)
            self._end = int(ends[-1])

    def close(self) -> None:
        self._text.close()
        self._starts.close()


def save_strings(path: Path, strings: Sequence[bytes]) -> None:
    with StringsWriter(path) as writer:
        writer.extend(strings)


class Strings:
    """A list of strings written by StringsWriter, mapped into memory."""

    __slots__ = ("_starts", "text")

    def __init__(self, path: Path) -> None:
        self.text = Mapped(path.with_name(f"{path.name}.text"))
        self._starts = Mapped(path.with_name(f"{path.name}.i8")).view("q")

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, index: int) -> bytes:
        """The string at an index from 0. Raises IndexError beyond the last."""
        return bytes(self.text.data[self._starts[index] : self._starts[index + 1]])

    def __iter__(self) -> Iterator[bytes]:
        data, starts = self.text.data, self._starts
        return (bytes(data[starts[i] : starts[i + 1]]) for i in range(len(self)))

    def take(self, indices: Iterable[int]) -> list[bytes]:
        """Those at the indices, in their order."""
        data, starts = self.text.data, self._starts
        return [bytes(data[starts[i] : starts[i + 1]]) for i in indices]


class Mapped:
    """The bytes of a file, mapped into memory; Python reads single values through a view faster than through numpy."""

    __slots__ = ("data",)

    def __init__(self, path: Path) -> None:
        with path.open("rb") as stream:
            empty = not stream.seek(0, 2)
            self.data = memoryview(b"" if empty else mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))

    def view(self, code: str) -> memoryview[int]:
        """As integers of one type of the module `array`."""
        data: Any = self.data  # its stub knows literal codes only
        return data.cast(code)
