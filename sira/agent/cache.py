"""The rankings of one question's searches: s1, s2 ..., the oldest of which goes when there are too many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sira.agent.backend import Found
from sira.agent.folding import ShownTexts

if TYPE_CHECKING:
    from sira.agent.excerpts import PassageFinder

Mode = Literal["plain", "program", "fused"]
KEPT_QUERIES = 1000
"""Evicted searches whose query is still told."""


@dataclass(slots=True)
class CachedRanking:
    """One ranking, and what its pages have shown. `query` is the search as the model wrote it."""

    search_id: str
    query: str
    mode: Mode
    found: Found
    finder: PassageFinder | None = None
    shown: ShownTexts = field(default_factory=ShownTexts)
    filters: dict[tuple[str, ...], tuple[int, ...]] = field(default_factory=dict[tuple[str, ...], tuple[int, ...]])
    """What was looked for in it -> the ranks that hold it."""

    def __len__(self) -> int:
        return len(self.found.docids)

    def docid(self, rank: int) -> str:
        return self.found.docids[rank - 1]

    def score(self, rank: int) -> float | None:
        return self.found.scores[rank - 1]


class RankingCache:
    """At most `size` rankings, first in first out: asking for one makes it no younger. Ids are never used twice."""

    def __init__(self, size: int) -> None:
        self._size, self._count = size, 0
        self._rankings: dict[str, CachedRanking] = {}
        self._evicted: dict[str, tuple[Mode, str]] = {}

    def add(self, query: str, mode: Mode, found: Found) -> CachedRanking:
        self._count += 1
        ranking = CachedRanking(f"s{self._count}", query, mode, found)
        self._rankings[ranking.search_id] = ranking
        while len(self._rankings) > self._size:
            oldest = self._rankings.pop(next(iter(self._rankings)))
            self._evicted[oldest.search_id] = oldest.mode, oldest.query
            if len(self._evicted) > KEPT_QUERIES:
                del self._evicted[next(iter(self._evicted))]
        return ranking

    def get(self, search_id: str) -> CachedRanking | None:
        return self._rankings.get(search_id)

    def evicted(self, search_id: str) -> tuple[Mode, str] | None:
        """How a ranking that is gone was searched for."""
        return self._evicted.get(search_id)

    def same(self, query: str, mode: Mode) -> CachedRanking | None:
        """The ranking of the same search, where it is still here."""
        return next((item for item in self._rankings.values() if item.query == query and item.mode == mode), None)

    @property
    def ids(self) -> tuple[str, ...]:
        """Those that can be asked for, oldest first."""
        return tuple(self._rankings)
