"""A server of Pi-Serini's `http-json` contract as a backend: what it answers is checked before it is believed."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Mapping, Sequence
from threading import Event, Lock
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from sira.agent.backend import BackendFault, Card, Found
from sira.errors import InputError
from sira.lucene.reader import Index
from sira.records import Document

MAX_BYTES = 256 * 1024 * 1024
"""Of one answer."""
READ_LINES = 2000
_NAME = "http-json"

Answer = TypeVar("Answer", bound=BaseModel)


class _Hit(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    docid: str
    score: float | None = None
    title: str | None = None
    snippet: str | None = None
    snippetTruncated: bool | None = None


class _SearchAnswer(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    hits: list[_Hit]
    hasMore: bool
    totalHits: int | None = None
    nextOffset: int | None = None


class _ReadAnswer(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    found: bool
    text: str | None = None
    truncated: bool | None = None
    nextOffset: int | None = None


class HttpBackend:
    """POSTs `{query, limit, offset}` to one address and `{docid, offset, limit}` to another.

    A request ends after `timeout_s`, or at `cancel`, from any thread. Raises InputError for addresses that are none.
    """

    def __init__(
        self, search_url: str, read_document_url: str, *, max_page_size: int = 1000, timeout_s: float = 30.0
    ) -> None:
        for url in (search_url, read_document_url):
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise InputError(f"backend: {url!r} is no address: write http://HOST:PORT/PATH")
        if max_page_size < 1:
            raise InputError(f"backend: max_page_size = {max_page_size}: give 1 or more")
        self._search_url, self._read_url = search_url, read_document_url
        self._page_size, self._timeout_s = max_page_size, timeout_s
        self._cancelled, self._lock = Event(), Lock()
        self._open: set[http.client.HTTPConnection] = set()

    @property
    def index(self) -> Index | None:
        return None

    @property
    def facts(self) -> Mapping[str, Any]:
        return {
            "backend": _NAME,
            "search_url": self._search_url,
            "read_document_url": self._read_url,
            "max_page_size": self._page_size,
        }

    def search(self, query: str, depth: int) -> Found:
        hits: dict[str, _Hit] = {}
        offset: int | None = None
        while len(hits) < depth:
            asked: dict[str, Any] = {"query": query, "limit": min(depth - len(hits), self._page_size)}
            answer = self._ask(
                "search", self._search_url, asked | ({} if offset is None else {"offset": offset}), _SearchAnswer
            )
            new = {hit.docid: hit for hit in answer.hits if hit.docid not in hits}
            hits |= new
            if not answer.hasMore or not new or answer.nextOffset is None:  # the same hits again would never end
                break
            if offset is not None and answer.nextOffset <= offset:
                raise _invalid("search", "nextOffset does not grow")
            offset = answer.nextOffset
        kept = list(hits.values())[:depth]
        cards = {hit.docid: Card(hit.title or "", hit.snippet, bool(hit.snippetTruncated)) for hit in kept}
        return Found(tuple(cards), tuple(hit.score for hit in kept), (), cards)

    def documents(self, docids: Sequence[str]) -> list[Document | None]:
        return [self._document(docid) for docid in docids]

    def _document(self, docid: str) -> Document | None:
        parts: list[str] = []
        offset, letters = 1, 0
        while True:
            asked = {"docid": docid, "offset": offset, "limit": READ_LINES}
            answer = self._ask("readDocument", self._read_url, asked, _ReadAnswer)
            if not answer.found:
                return None
            if answer.text is None or answer.truncated is None:
                raise _invalid("readDocument", "a found document has text and truncated")
            parts.append(answer.text)
            letters += len(answer.text)
            if letters > MAX_BYTES or (answer.truncated and not answer.text):
                raise _invalid("readDocument", f"more than {MAX_BYTES} characters, or parts without text, have no end")
            if not answer.truncated:
                break
            if answer.nextOffset is None or answer.nextOffset <= offset:
                raise _invalid("readDocument", "truncated, but nextOffset does not grow")
            offset = answer.nextOffset
        ended = (part if part.endswith(("\n", "\r")) else part + "\n" for part in parts[:-1])
        return Document(docid, "".join([*ended, parts[-1]]))

    def cancel(self) -> None:
        """End the requests that run, and refuse others."""
        self._cancelled.set()
        with self._lock:
            for connection in self._open:
                if connection.sock is not None:
                    with contextlib.suppress(OSError):  # it ended by itself
                        connection.sock.shutdown(socket.SHUT_RDWR)

    def _ask(self, operation: str, url: str, asked: Mapping[str, Any], model: type[Answer]) -> Answer:
        if self._cancelled.is_set():
            raise BackendFault(f"{_NAME} backend {operation} was cancelled before it was sent")
        status, body = self._post(operation, url, json.dumps(asked).encode())
        if not 200 <= status < 300:
            said = " ".join(body[:300].decode("utf-8", "replace").split())
            raise BackendFault(f"{_NAME} backend {operation} failed: HTTP {status}: {said}")
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            said = " ".join(body[:200].decode("utf-8", "replace").split())
            raise BackendFault(f"Failed to parse {_NAME} {operation} response: {said}", "malformed_json") from None
        try:
            return model.model_validate(data)
        except ValidationError as error:
            faults = [f"{'.'.join(map(str, item['loc'])) or 'answer'} {item['msg']}" for item in error.errors()[:3]]
            raise _invalid(operation, "; ".join(faults)) from None

    def _post(self, operation: str, url: str, body: bytes) -> tuple[int, bytes]:
        parts = urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(str(parts.hostname), parts.port, timeout=self._timeout_s)
        sent = False
        try:
            connection.connect()
            with self._lock:
                self._open.add(connection)
            sent = True
            if self._cancelled.is_set():  # between the first look and the entry in the list
                raise OSError("cancelled")
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = answer.read(MAX_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            if self._cancelled.is_set():
                raise BackendFault(f"{_NAME} backend {operation} was cancelled while it ran") from None
            if not sent:
                raise BackendFault(f"{_NAME} backend unavailable: {url}: {error}") from None
            what = f"no answer in {self._timeout_s:g} s" if isinstance(error, TimeoutError) else repr(error)
            raise BackendFault(f"{_NAME} backend {operation} failed: {what}") from None
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()
        if self._cancelled.is_set():
            raise BackendFault(f"{_NAME} backend {operation} was cancelled while it ran")
        if len(data) > MAX_BYTES:
            raise _invalid(operation, f"more than {MAX_BYTES} bytes")
        return answer.status, data


def _invalid(operation: str, what: str) -> BackendFault:
    return BackendFault(f"Invalid {_NAME} {operation} response: {what}", "invalid_tool_result")
