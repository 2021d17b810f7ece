"""The tools read_document and find_in_document."""

from __future__ import annotations

import re
from typing import Any

from sira.agent.arguments import Arguments, shown
from sira.agent.base import ToolResult
from sira.agent.capping import lines_part
from sira.agent.excerpts import around
from sira.agent.lines import Page
from sira.agent.patterns import MODES, MOST_MATCHES, occurrences
from sira.agent.rendering import Room, call_text
from sira.agent.session import REASON, Session, Spill, Text, ToolSpec, object_schema, string, whole
from sira.agent.settings import ToolSettings
from sira.llm.base import Tool

HEAD_BYTES = 2_000
"""Of a page of a document, for its head and its hint."""
FIND_LIMIT, FIND_CONTEXT, MOST_CONTEXT = 20, 200, 2_000
_READ, _FIND = "read_document", "find_in_document"


def _describe_read(settings: ToolSettings) -> Tool:
    properties = {
        "reason": REASON,
        "docid": string("The docid of a hit, as the ranking shows it."),
        "offset": whole(f"The first line to show, from 1. Default {settings.read_offset}."),
        "limit": whole(f"How many lines to show. Default {settings.read_limit}."),
    }
    text = (
        "Read a document in pages of lines. Begin at line 1 with a moderate limit, and follow the offset that the page "
        "names before you search again."
    )
    if settings.query_excerpts:
        text += " An excerpt names its line: begin there to read around it."
    return Tool(_READ, text, object_schema(("reason", "docid"), properties, strict=settings.strict_fields))


def _read(session: Session, arguments: Arguments) -> ToolResult:
    arguments.text("reason", blank=True)
    settings = session.settings
    docid = arguments.text("docid", number=True)
    offset = arguments.number("offset", settings.read_offset)
    limit = arguments.number("limit", settings.read_limit)
    text = session.text(_READ, docid)
    result = _ours(session, text, offset, limit) if settings.full_paging else _capped(session, text, offset, limit)
    if result.details["returnedOffsetStart"]:
        session.ledger.open(docid, result.details["returnedOffsetStart"], result.details["returnedOffsetEnd"])
    return result


def _ours(session: Session, text: Text, offset: int, limit: int) -> ToolResult:
    """What is shown decides where the next page begins; pages joined are the document, byte for byte."""
    settings = session.settings
    page = text.lines.page(offset, min(limit, settings.max_lines), settings.max_bytes - HEAD_BYTES)
    docid = text.document.docid
    told = f"{_head(docid, page)}\n\n{page.text}"
    if page.next_offset is not None:
        told += f"\n\n{_more(docid, page.next_offset, limit)}"
    elif not page.first and page.total:
        told += f"There is no line {offset}: begin at 1 to {page.total}."
    return ToolResult(told, _details(docid, offset, limit, page))


def _capped(session: Session, text: Text, offset: int, limit: int) -> ToolResult:
    """Pi-Serini's: the lines that were asked for, cut by the cap, and a next page behind all of them."""
    docid = text.document.docid
    page = text.lines.page(offset, limit)
    bare = "\n".join(text.lines.bare(offset, limit)) if page.first else ""
    details = _details(docid, offset, limit, page)
    told = f"{_head(docid, page)}\n\n{bare}"
    following = page.next_offset
    hint = "Use a smaller limit." if following is None else f"Continue with read_document(offset={following})."
    whole_text = told if following is None else f"{told}\n\n{_more(docid, following, limit)}"
    part = lines_part(page.first, page.last, offset)
    return ToolResult(session.with_cap(whole_text, Spill("read", docid, part, lambda: told), hint, details), details)


def _head(docid: str, page: Page) -> str:
    return f"[docid={docid} lines {page.first}-{page.last} of {page.total}]"


def _more(docid: str, offset: int, limit: int) -> str:
    return f"[Continue with {call_text(_READ, {'docid': docid, 'offset': offset, 'limit': limit})}]"


def _details(docid: str, offset: int, limit: int, page: Page) -> dict[str, Any]:
    return {
        "docid": docid,
        "offset": offset,
        "limit": limit,
        "totalLines": page.total,
        "returnedOffsetStart": page.first,
        "returnedOffsetEnd": page.last,
        "truncated": page.next_offset is not None,
        "nextOffset": page.next_offset,
    }


def _describe_find(settings: ToolSettings) -> Tool:
    properties = {
        "reason": REASON,
        "docid": string("The docid of a hit, as the ranking shows it."),
        "pattern": string("What to look for. Upper and lower case are the same; a blank is any white space."),
        "mode": {"type": "string", "enum": list(MODES), "description": "How the pattern is read. Default literal."},
        "before": whole(f"Characters shown before each match. Default {FIND_CONTEXT}."),
        "after": whole(f"Characters shown after each match. Default {FIND_CONTEXT}."),
        "offset": whole("The first match to show, from 1. Default 1."),
        "limit": whole(f"How many matches to show. Default {FIND_LIMIT}."),
    }
    text = "Find every place in one document where a text or a regular expression stands, with its line number."
    return Tool(_FIND, text, object_schema(("reason", "docid", "pattern"), properties, strict=settings.strict_fields))


def _find(session: Session, arguments: Arguments) -> ToolResult:
    arguments.text("reason", blank=True)
    docid = arguments.text("docid", number=True)
    pattern, mode = arguments.text("pattern"), arguments.choice("mode", MODES)
    before, after = (min(arguments.number(name, FIND_CONTEXT), MOST_CONTEXT) for name in ("before", "after"))
    offset, limit = arguments.number("offset", 1), arguments.number("limit", FIND_LIMIT)
    text = session.text(_FIND, docid)
    (spans,) = occurrences(_FIND, pattern, mode, [text.lines.text], seconds=session.settings.pattern_seconds)
    total = len(spans)
    going_on = {"docid": docid, "pattern": pattern, "mode": mode}
    room = Room(session.settings.max_lines, session.settings.max_bytes, [docid, pattern, call_text(_FIND, going_on)])
    blocks: list[str] = []
    last = 0
    for number, (start, end) in enumerate(spans[offset - 1 : offset - 1 + limit], start=offset):
        found = around(text.lines, start, min(end, start + MOST_CONTEXT), before, after)
        block = [f"--- match {number} (line {found.line})", re.sub(r"\s+", " ", found.text), ""]
        if not room.takes(block):
            break
        blocks += block
        last = number
    first = offset if last else 0
    next_offset = last + 1 if 0 < last < total else None
    lines = [f"[docid={docid} {mode}={shown(pattern)} matches {first}-{last} of {total}]", "", *blocks]
    if next_offset is not None:
        call = {**going_on, "before": before, "after": after, "offset": next_offset, "limit": limit}
        lines.append(f"[Continue with {call_text(_FIND, call)}]")
    if last:
        session.ledger.see_place(docid)
    if total == MOST_MATCHES:
        lines.append(f"[The first {MOST_MATCHES:,} matches are counted, and no more: give a longer pattern]")
    if not total:
        lines.append("Nothing of it stands in this document: try a shorter pattern or another document.")
    elif not last:
        lines.append(f"There is no match {offset}: begin at 1 to {total}.")
    details: dict[str, Any] = {
        "docid": docid,
        "pattern": pattern,
        "mode": mode,
        "totalMatches": total,
        "returnedMatchStart": first,
        "returnedMatchEnd": last,
        "nextOffset": next_offset,
        "previewedDocids": [docid] if last else [],
    }
    return ToolResult("\n".join(lines).rstrip("\n"), details)


READ_TOOLS = (
    ToolSpec(_READ, _describe_read, lambda _, __: True, _read),
    ToolSpec(_FIND, _describe_find, lambda settings, _: settings.find_in_document, _find),
)
