"""Pi-Serini's bound on a result: whole lines from the top, and the full text in a file that the model cannot open."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

_NAME_CHARACTERS = 120
_ODD = re.compile(r"[^A-Za-z0-9._-]")


class Capped(NamedTuple):
    """The head of a text, in whole lines; sizes are bytes of UTF-8, line breaks between lines counted."""

    text: str
    truncated: bool
    lines: int
    all_lines: int
    size: int
    all_size: int


def capped(text: str, max_lines: int, max_bytes: int) -> Capped:
    """The first lines of a text, as many as fit both bounds; none where the first is too long by itself."""
    lines, all_size = text.split("\n"), len(text.encode())
    if len(lines) <= max_lines and all_size <= max_bytes:
        return Capped(text, False, len(lines), len(lines), all_size, all_size)
    size = count = 0
    for line in lines[:max_lines]:
        more = len(line.encode()) + (count > 0)
        if size + more > max_bytes:
            break
        size += more
        count += 1
    return Capped("\n".join(lines[:count]), True, count, len(lines), size, all_size)


def notice(cut: Capped, path: Path) -> str:
    """What is told below a truncated text."""
    return (
        f"[Output truncated: showing {cut.lines} of {cut.all_lines} lines "
        f"({size_text(cut.size)} of {size_text(cut.all_size)}). {cut.all_lines - cut.lines} lines "
        f"({size_text(cut.all_size - cut.size)}) omitted. Full output saved to: {path}]"
    )


def size_text(size: int) -> str:
    if size < 1024:
        return f"{size}B"
    return f"{size / 1024:.1f}KB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f}MB"


def spill_name(number: int, name: str, what: str, ending: str) -> str:
    """The name of a spill file: `7-s_1-ranks-1-5.json`. `what` says which part of it."""
    return f"{number}-{_ODD.sub('_', name)[:_NAME_CHARACTERS]}-{what}.{ending}"


def ranks_part(first: int, last: int, offset: int, limit: int) -> str:
    return f"ranks-{first}-{last}" if first else f"offset-{offset}-limit-{limit}-empty"


def lines_part(first: int | None, last: int | None, offset: int) -> str:
    return f"lines-{first or offset}-{last or offset}"


class SpillFolder:
    """The files of one controller, in a folder of its own that is made with the first of them."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._number = 0

    def count(self) -> int:
        """The number of the next call, from 1: it goes up whether or not a file is written."""
        self._number += 1
        return self._number

    def write(self, kind: str, name: str, text: str) -> Path:
        """`kind` is `search` or `read`."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="sira-agent-"))
        path = self._folder / kind / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def clean(self) -> None:
        """Remove all files. A second time does no harm."""
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
