"""Texts of many lines in pages: what a page leaves out stands on the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class LinePage(NamedTuple):
    """Lines `first` to `last` of `total`, from 1 (0: none); `next_offset` is None at the end."""

    text: str
    first: int
    last: int
    total: int
    next_offset: int | None


def line_page(lines: Sequence[str], offset: int, limit: int, max_bytes: int) -> LinePage:
    """Whole lines from `offset` on, as many as fit `limit` and `max_bytes` of UTF-8, but at least one of those left."""
    chosen: list[str] = []
    size = 0
    for line in lines[offset - 1 : offset - 1 + limit]:
        size += len(line.encode("utf-8", "replace")) + 1
        if chosen and size > max_bytes:
            break
        chosen.append(line)
    last = offset + len(chosen) - 1 if chosen else 0
    following = last + 1 if 0 < last < len(lines) else None
    return LinePage("\n".join(chosen), offset if chosen else 0, last, len(lines), following)
