"""Pi-Serini's `http-json` contract on one open build of an index."""

from __future__ import annotations

import time
from typing import Any

from sira.agent.excerpts import first_window
from sira.agent.lines import Lines
from sira.compile import compile_sketch
from sira.errors import InputError
from sira.records import Document, Topic
from sira.serve.answers import documents_of
from sira.serve.limits import Limits
from sira.serve.pool import Opened
from sira.serve.requests import PiReadRequest, PiSearchRequest, Source
from sira.serve.sources import checked, within

SNIPPET_CHARACTERS, SNIPPET_RANKS = 220, 50
"""Excerpts of the first ranks alone."""
WIDTH = 1 << 20
"""Characters of a line, which the contract knows no other way to cut."""


def search(opened: Opened, asked: PiSearchRequest, limits: Limits) -> dict[str, Any]:
    """Plain BM25 by pages of `limit` hits to depth `limits.k`. Raises InputError."""
    if not asked.query.strip():
        raise InputError("query: it is blank: give words to search for")
    checked(Source(query=asked.query), limits)
    start = time.perf_counter()
    program = within(compile_sketch(Topic("", asked.query), None, opened.index), limits)
    ranking = opened.index.search(program, min(limits.k, asked.offset + asked.limit + 1))
    last = min(len(ranking), asked.offset + asked.limit)
    chosen = range(asked.offset, last)
    previewed = [ranking.docids[place] for place in chosen if place < SNIPPET_RANKS]
    stored = opened.index.manifest.stored_text and previewed
    texts = dict(zip(previewed, opened.index.documents(previewed), strict=True)) if stored else {}
    more = last < len(ranking) and len(chosen) > 0
    told: dict[str, Any] = {
        "hits": [
            _card(asked.query, ranking.docids[place], ranking.scores[place], texts.get(ranking.docids[place]))
            for place in chosen
        ],
        "hasMore": more,
        **({"nextOffset": last} if more else {}),
    }
    return {**told, "timingMs": {"search": round(1000 * (time.perf_counter() - start), 3)}}


def _card(query: str, docid: str, score: float, found: Document | None) -> dict[str, Any]:
    told: dict[str, Any] = {"docid": docid, "score": score}
    if found is not None:
        window = first_window(query, found.title, found.text, SNIPPET_CHARACTERS)
        told |= {"title": found.title} if found.title else {}
        told |= {"snippet": window.text, "snippetTruncated": window.truncated}
    return told


def read(opened: Opened, asked: PiReadRequest, limits: Limits) -> dict[str, Any]:
    """Lines with their ends; pages joined are the text. Raises InputError where the index stores no text."""
    (found,) = documents_of(opened, [asked.docid])
    if found is None:
        return {"found": False}
    lines = Lines(found.text, WIDTH).page(asked.offset, min(asked.limit, limits.lines), 8 * limits.page_bytes)
    told: dict[str, Any] = {
        "found": True,
        "text": lines.text,
        "offset": asked.offset,
        "limit": asked.limit,
        "totalUnits": lines.total,
        "returnedOffsetStart": lines.first,
        "returnedOffsetEnd": lines.last,
        "truncated": lines.next_offset is not None,
    }
    return told if lines.next_offset is None else {**told, "nextOffset": lines.next_offset}
