"""Exports for tests: a few pages in MediaWiki's own XML, packed or not."""

from __future__ import annotations

import bz2
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

BASE = "https://en.wikipedia.org/wiki/"
HEAD = f"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <base>{BASE}Main_Page</base>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"


@dataclass(frozen=True)
class Page:
    number: int
    title: str
    text: str = ""
    namespace: int = 0
    redirect: str | None = None
    model: str = "wikitext"


def page_xml(page: Page) -> str:
    redirect = "" if page.redirect is None else f"    <redirect title={quoteattr(page.redirect)} />\n"
    return (
        f"  <page>\n    <title>{escape(page.title)}</title>\n    <ns>{page.namespace}</ns>\n"
        f"    <id>{page.number}</id>\n"
        f"{redirect}    <revision>\n      <id>77{page.number}</id>\n      <parentid>7</parentid>\n"
        "      <contributor>\n        <username>Nobody</username>\n        <id>5</id>\n      </contributor>\n"
        f"      <model>{page.model}</model>\n      <format>text/x-wiki</format>\n"
        f'      <text bytes="{len(page.text)}" xml:space="preserve">{escape(page.text)}</text>\n'
        "      <sha1>abc</sha1>\n    </revision>\n  </page>\n"
    )


def export(pages: Iterable[Page]) -> str:
    return HEAD + "".join(map(page_xml, pages)) + TAIL


def write_export(path: Path, pages: Sequence[Page], *, per_stream: int = 3) -> Path:
    """By the suffix of the name: plain, or bzip2 of many streams as multistream dumps are."""
    if path.suffix != ".bz2":
        path.write_text(export(pages), encoding="utf-8")
        return path
    streams = [HEAD, *("".join(map(page_xml, pages[at : at + per_stream])) for at in range(0, len(pages), per_stream))]
    path.write_bytes(b"".join(bz2.compress(text.encode()) for text in (*streams, TAIL)))
    return path


PAGES = [
    Page(10, "Kiln wash", "'''Kiln wash''' keeps [[glaze]] off shelves. [[Category:Kiln furniture|wash]]"),
    Page(11, "Glaze", "A [[glass]]y coat.\n\n[[Category:ceramic glazes]]\n[[Category:All stub articles]]"),
    Page(12, "Kiln coating", "#REDIRECT [[Kiln wash]]", redirect="Kiln wash"),
    Page(13, "Shelf wash", "#REDIRECT [[Kiln coating]]", redirect="Kiln coating"),
    Page(14, "Loop A", "#REDIRECT [[Loop B]]", redirect="Loop B"),
    Page(15, "Loop B", "#REDIRECT [[Loop A]]", redirect="Loop A"),
    Page(16, "Talk:Glaze", "Discussion.", namespace=1),
    Page(17, "Category:Kiln furniture", "[[Category:Kilns]]", namespace=14),
    Page(18, "O'Brien's \"AC/DC\" & Co. (100%)?", "Signs in a title. [[Category:1927 births]]"),
    Page(19, "שלום Žižek", "Right to left."),
    Page(20, "Nothing", " \n"),
    Page(21, "Module:Data", "return {}", model="Scribunto"),
    Page(22, "Gone", "#REDIRECT [[Never written]]", redirect="Never written"),
    Page(23, "Only templates", "{{Infobox|x=y}}"),
]
