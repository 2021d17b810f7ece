"""The index as MCP resources: its manifest, and each document."""

from __future__ import annotations

import json
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

from sira.agent.lines import Lines
from sira.errors import InputError, NotFoundError
from sira.serve.mcp.base import Desk

SCHEME = "sira"
MOST_BYTES = 1_000_000
"""Of one answer; longer documents are read in pages of lines."""
MOST_URI = 10_000


class Content(NamedTuple):
    text: str
    mime_type: str


def manifest_uri(name: str) -> str:
    return f"{SCHEME}://{quote(name, safe='')}/manifest"


def document_template(name: str) -> str:
    return f"{SCHEME}://{quote(name, safe='')}/documents/{{docid}}{{?offset,limit}}"


def document_uri(name: str, docid: str) -> str:
    return f"{SCHEME}://{quote(name, safe='')}/documents/{quote(docid, safe='')}"


def read_resource(desk: Desk, uri: str) -> Content:
    """Raises NotFoundError for what is not there, InputError for what cannot be given."""
    try:
        parts = urlsplit(uri) if len(uri) <= MOST_URI else None
    except ValueError:
        parts = None
    if parts is None or parts.scheme != SCHEME or unquote(parts.netloc) != desk.name:
        raise NotFoundError(f"no resource {uri[:200]!r}: there are {manifest_uri(desk.name)} and documents")
    if parts.path == "/manifest":
        return Content(json.dumps(desk.manifest(), ensure_ascii=False, indent=1), "application/json")
    kind, _, docid = parts.path.removeprefix("/").partition("/")
    if kind != "documents" or not docid:
        raise NotFoundError(f"no resource {uri[:200]!r}: there are {manifest_uri(desk.name)} and documents")
    asked = parse_qs(parts.query)
    document = desk.document(unquote(docid))
    if not asked:
        if len(document.text.encode("utf-8", "replace")) > MOST_BYTES:
            raise InputError(
                f"docid {document.docid!r} has more than {MOST_BYTES:,} bytes: add ?offset=1&limit=2000, or call "
                "read_document"
            )
        return Content(document.text, "text/plain")
    page = Lines(document.text, None).page(_number(asked, "offset", 1), _number(asked, "limit", 200), MOST_BYTES)
    return Content(page.text, "text/plain")


def _number(asked: dict[str, list[str]], name: str, usual: int) -> int:
    text = asked.get(name, [str(usual)])[-1]
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 15 and int(text)):
        raise InputError(f"{name}={text[:40]!r}: give a whole number from 1")
    return int(text)
