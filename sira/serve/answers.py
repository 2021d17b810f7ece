"""What a service answers, as JSON-ready dictionaries; pure functions of an open index and values of sira."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sira.agent.arguments import CallFault
from sira.agent.controller import Controller
from sira.agent.excerpts import around
from sira.agent.lines import Lines
from sira.agent.patterns import occurrences
from sira.agent.settings import SIRA
from sira.errors import InputError, NotFoundError
from sira.lucene.reader import Index
from sira.program import Program, program_to_json
from sira.programtext import program_to_text
from sira.records import Document
from sira.search.explanation.lines import field_of
from sira.serve.limits import Limits
from sira.serve.pool import Opened
from sira.serve.requests import DocumentRequest, FindRequest, TermsRequest
from sira.systems import Answer

WRAP_CHARACTERS = SIRA.wrap_characters
"""Lines are numbered as the tools number them, so that a line of an excerpt is a line of a document."""
_UNTOLD = ("skipped_examples", "expansion", "foreign", "schema_version")
"""Of a manifest: names of files, and where the expansions lay."""


def manifest(opened: Opened) -> dict[str, Any]:
    """What an index is made of; no path."""
    index = opened.index
    told = {name: value for name, value in asdict(index.manifest).items() if name not in _UNTOLD}
    return {
        "name": opened.name,
        "generation": opened.generation,
        **told,
        "documents": index.document_count,
        "segments": index.segments,
        "average_length": index.average_length,
        "expanded_documents": index.expanded_documents,
        "has_positions": index.has_positions,
        "contents_fingerprint": index.contents_fingerprint,
    }


def compiled(index: Index, program: Program) -> dict[str, Any]:
    """A program with its text, and its clauses and verdicts with df and share."""
    documents = index.document_count
    return {
        "documents": documents,
        "program": program_to_json(program),
        "text": program_to_text(program),
        "clauses": [
            {
                "label": clause.label,
                "kind": clause.kind,
                "field": field_of(clause),
                "occur": clause.occur,
                "weight": float(clause.weight),
                "df": clause.df,
                "share": _share(clause.df, documents),
                "source": clause.source,
            }
            for clause in program.clauses
        ],
        "verdicts": [
            {
                "phrase": verdict.phrase,
                "term": verdict.term,
                "outcome": verdict.outcome.value,
                "df": verdict.df,
                "share": _share(verdict.df, documents),
                "weight": None if verdict.weight is None else float(verdict.weight),
                "reason": verdict.reason,
                "suggestion": verdict.suggestion,
            }
            for verdict in program.verdicts
        ],
    }


def _share(df: int | None, documents: int) -> float | None:
    return None if df is None or not documents else df / documents


def page(
    opened: Opened, answer: Answer, *, offset: int, limit: int | None, titles: bool, programs: bool
) -> dict[str, Any]:
    """The hits of ranks `offset` to `offset + limit - 1`. Raises InputError for titles that the index does not have."""
    ranking = answer.ranking
    last = len(ranking) if limit is None else min(len(ranking), offset - 1 + limit)
    hits: list[dict[str, Any]] = [
        {"docid": docid, "score": score, "rank": rank}
        for rank, (docid, score) in enumerate(
            zip(ranking.docids[offset - 1 : last], ranking.scores[offset - 1 : last], strict=True), start=offset
        )
    ]
    if titles and hits:
        found = documents_of(opened, [hit["docid"] for hit in hits])
        for hit, document in zip(hits, found, strict=True):
            hit["title"] = "" if document is None else document.title
    told: dict[str, Any] = {
        "hits": hits,
        "total": len(ranking),
        "next_offset": last + 1 if hits and last < len(ranking) else None,
        "generation": opened.generation,
        "took_ms": round(answer.compile_ms + answer.search_ms, 3),
        "note": dict(answer.note),
    }
    if programs:
        told["programs"] = [program_to_json(program) for program in answer.programs]
    return told


def documents_of(opened: Opened, docids: Sequence[str]) -> list[Document | None]:
    """Raises InputError where the index stores no text."""
    if not opened.index.manifest.stored_text:
        raise InputError(f"index {opened.name}: it stores no texts: build it with them, or ask for docids alone")
    return opened.index.documents(docids)


def _document(opened: Opened, docid: str) -> Document:
    (found,) = documents_of(opened, [docid])
    if found is None:
        raise NotFoundError(f"docid: {_shown(docid)} is not in index {opened.name}: choose one from a search")
    return found


def _shown(text: str) -> str:
    return json.dumps(text if len(text) <= 80 else text[:79] + "…", ensure_ascii=False)


def document(opened: Opened, asked: DocumentRequest, limits: Limits) -> dict[str, Any]:
    """Lines of a document; pages joined are its text, byte for byte. Raises NotFoundError, InputError."""
    _within("limit", asked.limit, limits.lines)
    found = _document(opened, asked.docid)
    lines = Lines(found.text, WRAP_CHARACTERS).page(asked.offset, asked.limit, limits.page_bytes)
    return {
        "docid": found.docid,
        "title": found.title,
        "url": found.url,
        "facets": list(found.facets),
        "values": dict(found.values),
        "text": lines.text,
        "first": lines.first,
        "last": lines.last,
        "total": lines.total,
        "next_offset": lines.next_offset,
    }


def _within(name: str, value: int, most: int) -> None:
    if value > most:
        raise InputError(f"{name}: {value:,} is more than this server gives at once: at most {most:,}")


def find(opened: Opened, asked: FindRequest, limits: Limits) -> dict[str, Any]:
    """Every place of a text or a regular expression in one document, by pages. Raises NotFoundError, InputError."""
    if not asked.pattern.strip():
        raise InputError("pattern: it is blank: give what to look for")
    lines = Lines(_document(opened, asked.docid).text, WRAP_CHARACTERS)
    try:
        (spans,) = occurrences("find", asked.pattern, asked.mode, [lines.text], seconds=SIRA.pattern_seconds)
    except CallFault as fault:
        raise InputError(f"{fault.field or 'pattern'}: {_reason(str(fault))}") from None
    matches: list[dict[str, Any]] = []
    size = 0
    for number, (start, end) in enumerate(spans[asked.offset - 1 : asked.offset - 1 + asked.limit], asked.offset):
        shown = around(lines, start, min(end, start + 2_000), asked.before, asked.after)
        size += len(shown.text.encode())
        if matches and size > limits.page_bytes:
            break
        matches.append({"number": number, "line": shown.line, "text": shown.text})
    last = matches[-1]["number"] if matches else 0
    return {
        "docid": asked.docid,
        "total": len(spans),
        "matches": matches,
        "next_offset": last + 1 if matches and last < len(spans) else None,
    }


def terms(opened: Opened, asked: TermsRequest, limits: Limits) -> dict[str, Any]:
    """df, share and idf of words and phrases, as the tool term_statistics counts them. Raises InputError."""
    _within("terms", len(asked.terms), limits.terms)
    with Controller(opened.index) as controller:
        result = controller.call("term_statistics", json.dumps({"reason": "", "terms": asked.terms}))
    if result.failure is not None:
        raise InputError(f"terms: {_reason(result.text)}")
    return dict(result.details)


def _reason(text: str) -> str:
    """What a tool says, without its name."""
    return text.partition(" arguments: ")[2] or text
