"""The texts of pages: lines of a hit, hints with the exact next call, and a bound that drops nothing unsaid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sira.agent.cache import CachedRanking
from sira.agent.excerpts import Excerpt

NO_EXCERPT = "   Excerpt: no snippet available; use read_document to inspect this document."
READ_HINT = "Use read_document(docid) to inspect a specific document in paginated chunks."
TITLE_CHARACTERS = 300
LABEL_CHARACTERS = 1_000
LISTED = 5
DOCID_CHARACTERS = 60
_LABELS = {"plain": "Plain query", "program": "Program", "fused": "Fused ranking"}
_FOOT_BYTES = 6_000
"""Room for what stands below the hits: two hints with a search_id, and a note on what was left out."""


def call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call as a model can copy it."""
    return f"{tool}({json.dumps(dict(arguments), ensure_ascii=False, separators=(',', ':'))})"


def query_line(ranking: CachedRanking, *, whole: bool) -> str:
    query = ranking.query
    if not whole and len(query) > LABEL_CHARACTERS:
        query = query[: LABEL_CHARACTERS - 1] + "…"
    return f"{_LABELS[ranking.mode]}: {json.dumps(query, ensure_ascii=False)}"


def safe_docid(docid: str) -> str:
    """As it is; one that would break its line, as JSON."""
    return docid if docid.isprintable() and " " not in docid else json.dumps(docid)


def hit_head(ranking: CachedRanking, rank: int) -> str:
    score = ranking.score(rank)
    return f"{rank}. docid={safe_docid(ranking.docid(rank))}" + ("" if score is None else f" score={score:.4f}")


def title_line(title: str, *, whole: bool) -> list[str]:
    if not whole:
        title = " ".join(title.split())
        title = title if len(title) <= TITLE_CHARACTERS else title[: TITLE_CHARACTERS - 1] + "…"
    return [f"   Title: {title}"] if title else []


def excerpt_lines(excerpts: Iterable[Excerpt]) -> list[str]:
    lines: list[str] = []
    for item in excerpts:
        lines.append(f"   Excerpt{'' if item.line is None else f' (line {item.line})'}: {item.text}")
        if item.truncated and item.line is None:
            lines.append("   Excerpt preview truncated.")
    return lines or [NO_EXCERPT]


def folded_line(ranking: CachedRanking, docid: str, ranks: Sequence[int]) -> str:
    """Which hits a hit stands for."""
    listed = ", ".join(f"{rank} docid={_clipped(ranking.docid(rank))}" for rank in ranks[:LISTED])
    more = f" and {len(ranks) - LISTED} more" if len(ranks) > LISTED else ""
    return f"Folded into docid={_clipped(docid)}: {len(ranks)} near-duplicates (rank {listed}{more})"


def _clipped(docid: str) -> str:
    docid = safe_docid(docid)
    return docid if len(docid) <= DOCID_CHARACTERS else docid[: DOCID_CHARACTERS - 1] + "…"


class Room:
    """How much of a page is left, in lines and bytes of UTF-8, below which its foot still fits."""

    def __init__(self, max_lines: int | None, max_bytes: int | None, head: Iterable[str]) -> None:
        self._lines = None if max_lines is None else max_lines - 12
        self._bytes = None if max_bytes is None else max_bytes - _FOOT_BYTES
        self._empty = True
        for line in head:
            self._take([line])

    def takes(self, block: Sequence[str]) -> bool:
        """Whether the block has room, which then is taken. The first block always has."""
        enough = self._enough(block) or self._empty
        if enough:
            self._take(block)
            self._empty = False
        return enough

    def _enough(self, block: Sequence[str]) -> bool:
        return not (
            (self._lines is not None and self._lines < _line_count(block))
            or (self._bytes is not None and self._bytes < _size(block))
        )

    def _take(self, block: Sequence[str]) -> None:
        if self._lines is not None:
            self._lines -= _line_count(block)
        if self._bytes is not None:
            self._bytes -= _size(block)


def _line_count(block: Sequence[str]) -> int:
    return len(block) + sum(line.count("\n") for line in block)


def _size(block: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8", "surrogatepass")) + 1 for line in block)
