"""From a page of the export to a row of the corpus, a redirect, or the reason why it is neither."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from sira.corpora.jsonl import is_valid_id
from sira.corpora.wikipedia.export import ARTICLES, CATEGORIES, WIKITEXT, ExportedPage, Site
from sira.corpora.wikipedia.names import NameForm, page_name
from sira.corpora.wikipedia.plain_text import PlainText, Templates
from sira.corpora.wikipedia.wikitext import WikitextReader

FILES = "6"
FACET = "category"
_REDIRECT = re.compile(r"\s*#redirect\s*:?\s*\[\[([^\[\]|]+)", re.IGNORECASE)
# What MediaWiki leaves as it is in the path of an address.
_SAFE = "/:;@$!*(),~"


@dataclass(frozen=True, slots=True)
class Settings:
    """`namespaces` by number; none means all. `redirects`: `aside` keeps them out of the corpus, `documents` makes each
    a document without text too."""

    namespaces: tuple[str, ...] = (ARTICLES,)
    redirects: Literal["aside", "documents"] = "aside"
    templates: Templates = "drop"


@dataclass(frozen=True, slots=True)
class Converted:
    """What became of a page. `row` is its document, `redirect` the page that it leads to, by name; without either,
    `skipped` says why: `redirect` (to nowhere), `other_namespace`, `not_wikitext`, `empty`, `bad_title`."""

    name: str
    row: dict[str, Any] | None = None
    redirect: str | None = None
    skipped: str | None = None


class Converter:
    """Converts the pages of one wiki. Made after the head of the export was read."""

    __slots__ = ("_base", "_namespaces", "_plain", "_reader", "_settings")

    def __init__(self, site: Site, settings: Settings) -> None:
        names = site.namespaces
        categories, files = _present(names.get(CATEGORIES)), _present(names.get(FILES))
        self._reader = WikitextReader(NameForm(categories))
        self._plain = PlainText((*categories, *files), settings.templates)
        self._base = site.base.rpartition("/")[0]
        self._namespaces, self._settings = frozenset(settings.namespaces), settings

    def __call__(self, page: ExportedPage) -> Converted:
        name = page.title.replace(" ", "_")
        if self._namespaces and page.namespace not in self._namespaces:
            return Converted(name, skipped="other_namespace")
        if not is_valid_id(name):
            return Converted(name, skipped="bad_title")
        target = page.redirect
        if target is None and (found := _REDIRECT.match(page.text)):  # exports older than 2011 do not say
            target = found.group(1)
        if target is not None:
            to = page_name(target)
            if not is_valid_id(to):
                return Converted(name, skipped="redirect")
            row = self._row(page, name, "") if self._settings.redirects == "documents" else None
            return Converted(name, row, to)
        if page.model != WIKITEXT:
            return Converted(name, skipped="not_wikitext")
        if not page.text or page.text.isspace():
            return Converted(name, skipped="empty")
        return Converted(name, self._row(page, name, self._plain(page.text)))

    def _row(self, page: ExportedPage, name: str, text: str) -> dict[str, Any]:
        row: dict[str, Any] = {"docid": name, "page_id": page.page, "title": page.title, "text": text}
        if self._base:
            row["url"] = f"{self._base}/{quote(name, safe=_SAFE)}"
        if facets := [f"{FACET}:{category}" for category in self._reader.links(page.text)]:
            row["facets"] = facets
        return row


def _present(name: str | None) -> Iterable[str]:
    return (name,) if name else ()
