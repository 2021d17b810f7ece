"""What one episode has been shown: documents that were found, seen on a page, and opened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Seen(NamedTuple):
    """Where a document was first shown; rank 0 and no search_id: a place of its text, by find_in_document."""

    search_id: str
    rank: int


@dataclass(slots=True)
class Ledger:
    """Each in the order of first sight. `opened` has the lines that were read, as ranges that do not touch."""

    surfaced: dict[str, None] = field(default_factory=dict[str, None])
    seen: dict[str, Seen] = field(default_factory=dict[str, Seen])
    opened: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])

    def surface(self, docids: Iterable[str]) -> None:
        self.surfaced |= dict.fromkeys(docids)

    def see(self, search_id: str, hits: Iterable[tuple[int, str]]) -> None:
        for rank, docid in hits:
            self.seen.setdefault(docid, Seen(search_id, rank))

    def see_place(self, docid: str) -> None:
        self.seen.setdefault(docid, Seen("", 0))

    def open(self, docid: str, first: int, last: int) -> None:
        joined: list[tuple[int, int]] = []
        for start, end in sorted([*self.opened.get(docid, []), (first, last)]):
            if joined and start <= joined[-1][1] + 1:
                joined[-1] = joined[-1][0], max(end, joined[-1][1])
            else:
                joined.append((start, end))
        self.opened[docid] = joined

    def mark(self, docid: str) -> str:
        """What is told of a hit that was met before; nothing of a new one."""
        parts: list[str] = []
        if docid in self.seen:
            seen = self.seen[docid]
            parts.append(f"seen in {seen.search_id} rank {seen.rank}" if seen.rank else "seen by find_in_document")
        if docid in self.opened:
            ranges = self.opened[docid]
            told = ", ".join(f"{first}-{last}" for first, last in ranges[:5]) + (", ..." if len(ranges) > 5 else "")
            parts.append(f"opened lines {told}")
        return ", ".join(parts)
