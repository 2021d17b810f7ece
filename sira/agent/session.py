"""What the tools of one episode share: backend, settings, cached rankings, what was shown, texts just read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sira.agent.arguments import Arguments, CallFault, shown
from sira.agent.backend import Backend
from sira.agent.base import Failure, ToolResult
from sira.agent.cache import CachedRanking, RankingCache
from sira.agent.capping import SpillFolder, capped, notice, spill_name
from sira.agent.ledger import Ledger
from sira.agent.lines import Lines
from sira.agent.settings import ToolSettings
from sira.llm.base import Tool
from sira.records import Document

KEPT_TEXTS = 32
KEPT_CHARACTERS = 5_000_000
"""Of texts just read, so that page after page of a long document is cut from one copy."""


@dataclass(frozen=True, slots=True)
class Text:
    """A document with its lines."""

    document: Document
    lines: Lines


class Spill(NamedTuple):
    """A file for what the cap cuts: `search` or `read`, the id and the part for its name, and what it will hold."""

    kind: str
    id: str
    part: str
    whole: Callable[[], str]


class Session:
    """One thread at a time uses it."""

    def __init__(self, backend: Backend, settings: ToolSettings) -> None:
        self.backend, self.settings = backend, settings
        self.cache = RankingCache(settings.cached_rankings)
        self.ledger = Ledger()
        self.spills = SpillFolder()
        self._texts: dict[str, Text] = {}

    @property
    def width(self) -> int | None:
        """The most characters of a line; where long lines are not ours, a page must still hold one."""
        if self.settings.wrap_lines:
            return self.settings.wrap_characters
        return self.settings.max_bytes // 8 if self.settings.full_paging else None

    def ranking(self, tool: str, search_id: str) -> CachedRanking:
        """Raises CallFault for an id that is not in the cache, saying how to go on."""
        found = self.cache.get(search_id)
        if found is not None:
            return found
        start = f"Invalid {tool} arguments: search_id {shown(search_id)}"
        gone = self.cache.evicted(search_id) if self.settings.tell_evicted else None
        if gone is not None:
            mode, query = gone
            field = {"plain": "query", "program": "program", "fused": "search_ids"}[mode]
            raise CallFault(
                f"{start} was evicted: the last {self.settings.cached_rankings} rankings are kept "
                f"({self.cache.ids[0]} to {self.cache.ids[-1]}). It was the search with {field} {shown(query)}. "
                + ("Fuse" if mode == "fused" else "Search")
                + " again to get it back under a new search_id.",
                field="search_id",
            )
        raise CallFault(
            f"{start} is unknown. Call search(...) first and use the search_id that it returns"
            + (f"; now there are {', '.join(self.cache.ids[-5:])}." if self.cache.ids else "."),
            field="search_id",
        )

    def text(self, tool: str, docid: str) -> Text:
        """Raises CallFault for a docid that the backend does not have."""
        (found,) = self.texts([docid])
        if found is None:
            raise CallFault(
                f"{tool} failed: docid {shown(docid)} was not found. "
                "Choose a docid returned by search(...) or read_search_results(...).",
                field="docid",
                failure=Failure.EXECUTION,
            )
        return found

    def texts(self, docids: Sequence[str]) -> list[Text | None]:
        """The documents with their lines, None for those that are not there."""
        missing = [docid for docid in docids if docid not in self._texts]
        new: dict[str, Text | None] = {}
        if missing:
            for docid, document in zip(missing, self.backend.documents(missing), strict=True):
                new[docid] = None if document is None else Text(document, Lines(document.text, self.width))
        found = [self._texts.get(docid) or new.get(docid) for docid in docids]
        self._keep(new)
        return found

    def with_cap(self, text: str, spill: Spill, hint: str, details: dict[str, Any]) -> str:
        """Pi-Serini's bound on a text: its head, and where all of it was written."""
        number = self.spills.count()
        cut = capped(text, self.settings.max_lines, self.settings.max_bytes)
        if not cut.truncated:
            return text
        name = spill_name(number, spill.id, spill.part, "json" if spill.kind == "search" else "txt")
        path = self.spills.write(spill.kind, name, spill.whole())
        details["truncation"] = {
            "shownLines": cut.lines,
            "totalLines": cut.all_lines,
            "shownBytes": cut.size,
            "totalBytes": cut.all_size,
        }
        details["fullOutputPath"] = str(path)
        return f"{cut.text}\n\n{notice(cut, path)}\n{hint}"

    def _keep(self, new: dict[str, Text | None]) -> None:
        self._texts |= {docid: text for docid, text in new.items() if text is not None}
        size = sum(len(text.lines.text) for text in self._texts.values())
        while len(self._texts) > KEPT_TEXTS or (size > KEPT_CHARACTERS and len(self._texts) > 1):
            size -= len(self._texts.pop(next(iter(self._texts))).lines.text)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool: `describe` gives what the model is told, `enabled` whether it is among the tools of these settings and
    this backend, `run` carries out a call. `run` raises CallFault for what a model can mend."""

    name: str
    describe: Callable[[ToolSettings], Tool]
    enabled: Callable[[ToolSettings, Backend], bool]
    run: Callable[[Session, Arguments], ToolResult]


def object_schema(required: Sequence[str], properties: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {**schema, "additionalProperties": False} if strict else schema


def string(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def whole(description: str) -> dict[str, Any]:
    return {"type": "number", "description": description}


REASON = string("Why this call, and why now: what it should settle. At most 100 words.")
