"""The tool find_in_results: a cached ranking, filtered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sira.agent.arguments import Arguments, CallFault, shown
from sira.agent.base import ToolResult
from sira.agent.cache import CachedRanking
from sira.agent.excerpts import Excerpt, PassageFinder, around
from sira.agent.pages import hit_block
from sira.agent.patterns import MODES, occurrences
from sira.agent.rendering import READ_HINT, Room, call_text, query_line
from sira.agent.session import REASON, Session, Text, ToolSpec, object_schema, string, whole
from sira.agent.settings import ToolSettings
from sira.errors import InputError
from sira.llm.base import Tool
from sira.program import Clause, PhraseClause, Program, TermClause

MOST_TERMS = 20
CHUNK = 100
_FIND = "find_in_results"


@dataclass(frozen=True, slots=True)
class Sought:
    """What is looked for: a pattern in the texts, or words and phrases that the index matches, all of them."""

    label: str
    pattern: str = ""
    mode: str = "literal"
    terms: tuple[str, ...] = ()
    clauses: tuple[Clause, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        return (self.mode, self.pattern) if self.pattern else ("terms", *self.terms)


def _describe_find(settings: ToolSettings) -> Tool:
    properties = {
        "reason": REASON,
        "search_id": string("The search_id of a ranking, such as s1."),
        "terms": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Words or phrases that a hit must hold, all of them, in any form of the word.",
        },
        "pattern": string("In place of terms: a text as it stands. Case does not matter, a blank is any white space."),
        "mode": {"type": "string", "enum": list(MODES), "description": "How the pattern is read. Default literal."},
        "offset": whole("The first of the matching hits to show, from 1. Default 1."),
        "limit": whole(f"How many hits to show. Default {settings.browse_limit}."),
    }
    text = (
        f"Filter a ranking: of its hits, up to {settings.depth}, show those that hold all terms or the pattern, with "
        "their ranks and the place. It finds what stands deep in a ranking without another search."
    )
    return Tool(_FIND, text, object_schema(("reason", "search_id"), properties, strict=settings.strict_fields))


def _find(session: Session, arguments: Arguments) -> ToolResult:
    arguments.text("reason", blank=True)
    ranking = session.ranking(_FIND, arguments.text("search_id").strip())
    sought = _sought(session, arguments)
    offset, limit = arguments.number("offset", 1), arguments.number("limit", session.settings.browse_limit)
    if sought.key not in ranking.filters:
        ranking.filters[sought.key] = tuple(_matching(session, ranking, sought))
    return _page(session, ranking, sought, offset, limit)


def _sought(session: Session, arguments: Arguments) -> Sought:
    if ("terms" in arguments) == ("pattern" in arguments):
        raise arguments.fault("terms", "give either terms (a list of words or phrases) or pattern (a text).")
    if "pattern" in arguments:
        pattern, mode = arguments.text("pattern"), arguments.choice("mode", MODES)
        return Sought(f"{mode}={shown(pattern)}", pattern, mode)
    terms = arguments.texts("terms", MOST_TERMS)
    index = session.backend.index
    assert index is not None
    clauses: list[Clause] = []
    for text, analysed in zip(terms, index.analyze(terms), strict=True):
        if not analysed:
            raise arguments.fault("terms", f"{shown(text)} has no word that is indexed: leave it out, or use pattern.")
        if len(analysed) > 1:
            clauses.append(PhraseClause(tuple(analysed), 1.0, "filter"))
        else:
            clauses.append(TermClause(analysed[0], 1.0, "filter"))
    label = f"terms={', '.join(map(shown, terms))}"
    return Sought(label, terms=tuple(terms), clauses=tuple(dict.fromkeys(clauses)))


def _matching(session: Session, ranking: CachedRanking, sought: Sought) -> Iterator[int]:
    """The ranks of the hits that hold what is sought."""
    if sought.clauses:
        held = _holding(session, ranking, sought.clauses)
        yield from (rank for rank, docid in enumerate(ranking.found.docids, start=1) if docid in held)
        return
    documents = session.backend.documents
    texts: list[str] = []
    for start in range(0, len(ranking), CHUNK):
        texts += ["" if item is None else item.text for item in documents(ranking.found.docids[start : start + CHUNK])]
    found = occurrences(_FIND, sought.pattern, sought.mode, texts, seconds=session.settings.pattern_seconds, most=1)
    yield from (rank for rank, spans in enumerate(found, start=1) if spans)


def _holding(session: Session, ranking: CachedRanking, clauses: Sequence[Clause]) -> set[str]:
    """Which documents of the ranking hold all of the clauses.

    A filter adds no score: a program with these filters gives the hits of the cached program that match them before
    any other of its own, in the same order. So as many hits as the ranking was asked for hold all of them.
    """
    index, held = session.backend.index, set[str]()
    assert index is not None
    for program in ranking.found.programs:
        try:
            held.update(
                index.search(replace(program, clauses=(*program.clauses, *clauses)), session.settings.depth).docids
            )
        except InputError as error:  # an index without positions has no phrases
            raise CallFault(f"Invalid {_FIND} arguments: {error}.", field="terms") from None
    return held


def _page(session: Session, ranking: CachedRanking, sought: Sought, offset: int, limit: int) -> ToolResult:
    settings, ranks = session.settings, ranking.filters[sought.key]
    total = len(ranks)
    head = f"of {total} matches for {sought.label} among {len(ranking)} cached hits of search_id={ranking.search_id}"
    call: dict[str, Any] = {"search_id": ranking.search_id}
    call |= {"pattern": sought.pattern, "mode": sought.mode} if sought.pattern else {"terms": list(sought.terms)}
    outside = [head, query_line(ranking, whole=False), call_text(_FIND, call)]
    room = Room(settings.max_lines, settings.max_bytes, outside)
    chosen = ranks[offset - 1 : offset - 1 + min(limit, settings.max_lines)]
    blocks: list[str] = []
    shown_ranks: list[int] = []
    full = False
    for start in range(0, len(chosen), CHUNK):
        part = chosen[start : start + CHUNK]
        texts = session.texts([ranking.docid(rank) for rank in part])
        for rank, text, excerpts in zip(part, texts, _excerpts(session, sought, texts), strict=True):
            title = "" if text is None else text.document.title
            block = [*hit_block(session, ranking, rank, title, excerpts), ""]
            if not room.takes(block):
                full = True
                break
            blocks += block
            shown_ranks.append(rank)
        if full:
            break
    last = offset + len(shown_ranks) - 1 if shown_ranks else 0
    next_offset = last + 1 if 0 < last < total else None
    lines = [f"Showing {offset if last else 0}-{last} {head}", query_line(ranking, whole=False), "", *blocks]
    if next_offset is not None:
        lines.append(f"Use {call_text(_FIND, {**call, 'offset': next_offset, 'limit': limit})} to see the rest.")
    if not total:
        lines.append("No cached hit holds it: look for fewer or shorter terms, or search for them.")
    elif not last:
        lines.append(f"There is no match {offset}: begin at 1 to {total}.")
    lines += [READ_HINT] if last else []
    docids = [ranking.docid(rank) for rank in shown_ranks]
    session.ledger.see(ranking.search_id, zip(shown_ranks, docids, strict=True))
    details: dict[str, Any] = {
        "searchId": ranking.search_id,
        "rawQuery": ranking.query,
        "queryMode": ranking.mode,
        "totalCached": len(ranking),
        "filter": sought.label,
        "totalMatches": total,
        "returnedRankStart": shown_ranks[0] if shown_ranks else 0,
        "returnedRankEnd": shown_ranks[-1] if shown_ranks else 0,
        "nextOffset": next_offset,
        "retrievedDocids": docids,
        "previewedDocids": docids,
    }
    return ToolResult("\n".join(lines).rstrip("\n"), details)


def _excerpts(session: Session, sought: Sought, texts: Sequence[Text | None]) -> Iterator[list[Excerpt]]:
    """What each hit shows: the first place of a pattern, or the best passages for the terms."""
    settings = session.settings
    if sought.clauses:
        index = session.backend.index
        assert index is not None
        finder = PassageFinder(index, [Program("", tuple(sought.clauses))])
        finder.learn({text.document.docid: text.lines.text for text in texts if text is not None})
        for text in texts:
            shown_as = (settings.excerpt_characters, settings.excerpt_passages)
            yield finder.passages(text.document.docid, text.lines, *shown_as) if text else []
        return
    known = [text.lines.text if text else "" for text in texts]
    found = occurrences(_FIND, sought.pattern, sought.mode, known, seconds=settings.pattern_seconds, most=1)
    side = max(1, settings.excerpt_characters // 2)
    for text, spans in zip(texts, found, strict=True):
        if text is None or not spans:
            yield []
            continue
        start, end = spans[0]
        item = around(text.lines, start, min(end, start + settings.excerpt_characters), side, side)
        yield [item._replace(text=re.sub(r"\s+", " ", item.text))]


FIND_TOOLS = (
    ToolSpec(
        _FIND, _describe_find, lambda settings, backend: settings.find_in_results and backend.index is not None, _find
    ),
)
