"""A page of a cached ranking: which hits it shows, and their lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sira.agent.base import ToolResult
from sira.agent.cache import CachedRanking
from sira.agent.capping import ranks_part
from sira.agent.excerpts import Excerpt, PassageFinder, beginning, first_window
from sira.agent.folding import FOLD_CHARACTERS, FOLD_WORDS, Shingles, shingles
from sira.agent.rendering import (
    LISTED,
    READ_HINT,
    Room,
    call_text,
    excerpt_lines,
    folded_line,
    hit_head,
    query_line,
    title_line,
)
from sira.agent.session import Session, Spill, Text
from sira.errors import SiraError

CHUNK = 20
"""Hits whose texts are fetched at once."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a page is to hold: `limit` hits from rank `offset`; `notes` are lines of its head."""

    offset: int
    limit: int
    only_new: bool = False
    show_folded: bool = False
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Filled:
    """The hits of a page as they come together."""

    blocks: list[list[str]] = field(default_factory=list[list[str]])
    ranks: list[int] = field(default_factory=list[int])
    folded: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """docid of the hit that stands for them -> ranks."""
    not_new: int = 0
    last_looked_at: int = 0
    preview_fault: str | None = None


def ranking_page(
    session: Session, ranking: CachedRanking, wanted: Wanted, *, all_retrieved: bool = False
) -> ToolResult:
    """The page as text and details. `all_retrieved`: it is the search's own page, whose record lists every hit."""
    ours, total = session.settings.full_paging, len(ranking)
    query = query_line(ranking, whole=not ours)
    room = (
        Room(session.settings.max_lines, session.settings.max_bytes, [query, *wanted.notes])
        if ours
        else Room(None, None, [])
    )
    page = _fill(session, ranking, wanted, room)
    following = page.last_looked_at + 1
    next_offset = following if page.last_looked_at and following <= total else None
    shown = [ranking.docid(rank) for rank in page.ranks]
    first, last = (page.ranks[0], page.ranks[-1]) if page.ranks else (0, 0)
    if page.ranks:
        head = f"Showing ranks {first}-{last} of {total} cached hits for search_id={ranking.search_id}"
        lines = [head, query, *wanted.notes, ""]
        for block in page.blocks:
            lines += [*block, ""]
    else:
        what = "new or unfolded hits" if wanted.only_new or page.folded else "cached hits"
        lines = [f"No {what} remain for search_id={ranking.search_id}", query, *wanted.notes]
        lines += [f"Cached hits: {total}", ""]
    lines += _left_out(ranking, wanted, page)
    if next_offset is not None:
        following_call: dict[str, Any] = {"search_id": ranking.search_id, "offset": next_offset, "limit": wanted.limit}
        following_call |= {"only_new": True} if wanted.only_new else {}
        following_call |= {"show_folded": True} if wanted.show_folded else {}
        lines.append(f"Use {call_text('read_search_results', following_call)} to see the hits that follow.")
    if page.ranks:
        lines.append(READ_HINT)
    details: dict[str, Any] = {
        "searchId": ranking.search_id,
        "rawQuery": ranking.query,
        "queryMode": ranking.mode,
        "totalCached": total,
        "returnedRankStart": first,
        "returnedRankEnd": last,
        "nextOffset": next_offset,
        "retrievedDocids": list(ranking.found.docids) if all_retrieved else shown,
        "previewedDocids": shown,
    }
    if session.settings.fold_duplicates:
        details["foldedDocids"] = [ranking.docid(rank) for ranks in page.folded.values() for rank in ranks]
    if page.preview_fault is not None:
        details["previewFault"] = page.preview_fault
    text = "\n".join(lines).rstrip("\n")
    if not ours:
        text = _with_cap(session, ranking, wanted, text, details)
    session.ledger.see(ranking.search_id, zip(page.ranks, shown, strict=True))
    return ToolResult(text, details)


def _fill(session: Session, ranking: CachedRanking, wanted: Wanted, room: Room) -> Filled:
    page, settings = Filled(), session.settings
    folds = settings.fold_duplicates and session.backend.index is not None and not wanted.show_folded
    rank = wanted.offset
    while rank <= len(ranking) and len(page.ranks) < wanted.limit:
        ahead = range(rank, min(len(ranking) + 1, rank + min(CHUNK, wanted.limit - len(page.ranks))))
        rank = ahead.stop
        new = [at for at in ahead if not (wanted.only_new and ranking.docid(at) in session.ledger.seen)]
        texts = _texts(session, ranking, new, page)
        known = _shingles(session, ranking, texts) if folds else {}
        for at in ahead:
            if at not in texts:
                page.not_new += 1
                page.last_looked_at = at
                continue
            own = known.get(at)
            like = ranking.shown.duplicate_of(at, own, settings.fold_similarity) if own is not None else None
            if like is not None:
                page.folded.setdefault(like, []).append(at)
                page.last_looked_at = at
                continue
            block = _block(session, ranking, at, texts[at])
            if not room.takes(block):
                return page
            if own is not None:
                ranking.shown.add(ranking.docid(at), at, own)
            page.blocks.append(block)
            page.ranks.append(at)
            page.last_looked_at = at
    return page


def _texts(session: Session, ranking: CachedRanking, ranks: Sequence[int], page: Filled) -> dict[int, Text | None]:
    """The texts that the page needs; without those that cannot be had, a hit is its docid and score."""
    settings = session.settings
    most = len(ranking) if settings.excerpt_ranks is None else settings.excerpt_ranks
    wanted = [rank for rank in ranks if rank <= most or settings.fold_duplicates]
    found: dict[int, Text | None] = dict.fromkeys(ranks)
    if session.backend.index is not None and wanted:
        try:
            found |= zip(wanted, session.texts([ranking.docid(rank) for rank in wanted]), strict=True)
            if settings.query_excerpts:
                known = {text.document.docid: text.lines.text for text in found.values() if text is not None}
                _finder(session, ranking).learn(known)
        except SiraError as error:
            page.preview_fault = str(error)
    return found


def _finder(session: Session, ranking: CachedRanking) -> PassageFinder:
    if ranking.finder is None:
        assert session.backend.index is not None
        ranking.finder = PassageFinder(session.backend.index, ranking.found.programs)
    return ranking.finder


def _shingles(session: Session, ranking: CachedRanking, texts: Mapping[int, Text | None]) -> dict[int, Shingles]:
    """The shingles of hits by rank, analysed in one batch; of those that were shown none, since they stay."""
    index = session.backend.index
    new = {rank: text.document for rank, text in texts.items() if text and text.document.docid not in ranking.shown}
    if index is None or not new:
        return {}
    if session.settings.query_excerpts:
        finder = _finder(session, ranking)
        return {rank: shingles(finder.keys(document.docid, FOLD_WORDS)) for rank, document in new.items()}
    analysed = index.analyze([document.text[:FOLD_CHARACTERS] for document in new.values()])
    return {rank: shingles(terms[:FOLD_WORDS]) for rank, terms in zip(new, analysed, strict=True)}


def _block(session: Session, ranking: CachedRanking, rank: int, text: Text | None) -> list[str]:
    """The lines of one hit."""
    settings, card = session.settings, ranking.found.cards.get(ranking.docid(rank))
    within = settings.excerpt_ranks is None or rank <= settings.excerpt_ranks
    if text is not None and within:
        return hit_block(session, ranking, rank, text.document.title, _excerpts(session, ranking, text))
    if card is None or card.snippet is None:
        return hit_block(session, ranking, rank, card.title if card else "", [])
    return hit_block(session, ranking, rank, card.title, [Excerpt(card.snippet, None, card.snippet_truncated)])


def hit_block(
    session: Session, ranking: CachedRanking, rank: int, title: str, excerpts: Sequence[Excerpt]
) -> list[str]:
    """The lines of a hit with these excerpts, and where it was met before."""
    lines = [hit_head(ranking, rank), *title_line(title, whole=not session.settings.full_paging)]
    lines += excerpt_lines(excerpts)
    if session.settings.marks and (mark := session.ledger.mark(ranking.docid(rank))):
        lines.append(f"   Known: {mark}")
    return lines


def _excerpts(session: Session, ranking: CachedRanking, text: Text) -> list[Excerpt]:
    settings, document = session.settings, text.document
    if settings.query_excerpts:
        finder = _finder(session, ranking)
        found = finder.passages(document.docid, text.lines, settings.excerpt_characters, settings.excerpt_passages)
        return found or beginning(text.lines, settings.excerpt_characters)
    window = first_window(ranking.query, document.title, document.text, settings.excerpt_characters)
    return [window] if window.text else []


def _left_out(ranking: CachedRanking, wanted: Wanted, page: Filled) -> list[str]:
    """What the page passed over, and how to see it."""
    lines: list[str] = []
    if page.not_new:
        lines.append(f"Passed over {page.not_new} hits that were shown before.")
    if page.folded:
        lines += [folded_line(ranking, docid, ranks) for docid, ranks in list(page.folded.items())[:LISTED]]
        first = min(rank for ranks in page.folded.values() for rank in ranks)
        again = {"search_id": ranking.search_id, "offset": first, "limit": wanted.limit, "show_folded": True}
        lines.append(f"Use {call_text('read_search_results', again)} to see folded hits.")
    return lines


def _with_cap(session: Session, ranking: CachedRanking, wanted: Wanted, text: str, details: dict[str, Any]) -> str:
    """Pi-Serini's bound: the head, and where the rest was written."""
    part = ranks_part(details["returnedRankStart"], details["returnedRankEnd"], wanted.offset, wanted.limit)
    following = details["nextOffset"]
    hint = "Use a smaller limit." if following is None else f"Continue with read_search_results(offset={following})."

    def whole() -> str:
        return json.dumps({**details, "text": text}, ensure_ascii=False, indent=1)

    return session.with_cap(text, Spill("search", ranking.search_id, part, whole), hint, details)
