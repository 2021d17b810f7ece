"""Parts out of MediaWiki's XML export: pages, and the category links in their texts; templates are not expanded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from sira.categories.dumps import Dump, open_dump
from sira.categories.names import NameForm
from sira.categories.parts import HAS_PAGE, HIDDEN, NOBODY, PartWriter
from sira.categories.rules import Rules
from sira.categories.wikitext import WikitextReader
from sira.errors import InputError

ARTICLES, CATEGORIES = "0", "14"
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class ExportedPage:
    """A page as the export has it, with the text of its last revision; `redirect` is the title of its target."""

    page: int
    namespace: str
    title: str
    redirect: str | None
    text: str


def read_pages(dump: Dump, namespaces: dict[str, str]) -> Iterator[ExportedPage]:
    """The pages of an export, one in memory at a time.

    `namespaces` is filled with the wiki's namespaces, number to name, before the first page comes.
    Raises InputError naming the file and the line for what is no export, and for one that is damaged or cut.
    """
    try:
        events = ET.iterparse(dump.stream, events=("start", "end"))
        _, root = next(events)
        space, brace, kind = root.tag.rpartition("}")
        if kind != "mediawiki":
            raise InputError(f"{dump.path}: an XML file of <{kind}>, not a MediaWiki export (<mediawiki>)")
        space += brace
        page_tag, info_tag = f"{space}page", f"{space}siteinfo"
        for event, element in events:
            if event == "end" and element.tag == page_tag:
                yield _page(dump.path, element, space, namespaces)
                root.clear()
            elif event == "end" and element.tag == info_tag:
                for item in element.iter(f"{space}namespace"):
                    namespaces[item.get("key", "")] = item.text or ""
    except ET.ParseError as error:
        line, column = error.position
        raise InputError(
            f"{dump.path}, line {line}, column {column + 1}, near byte {dump.offset()} of the file: damaged or cut XML "
            f"({error.msg}); fetch it again"
        ) from None


def xml_part(path: Path, rules: Rules, folder: Path, watch: Callable[[int], object]) -> dict[str, int]:
    """The articles and categories of one export, and the links between them."""
    namespaces = dict[str, str]()
    reader: WikitextReader | None = None
    form = NameForm()
    before = 0
    articles, categories = list[tuple[int, bytes]](), list[tuple[int, int, int, int]]()
    edges = list[tuple[int, int]]()

    with PartWriter(folder) as writer:

        def flush() -> None:
            writer.articles([page for page, _ in articles], [title for _, title in articles])
            writer.categories(*([row[column] for row in categories] for column in range(4)))
            writer.edges([page for page, _ in edges], [number for _, number in edges])
            for rows in (articles, categories, edges):
                rows.clear()

        with open_dump(path) as dump:
            for page in read_pages(dump, namespaces):
                if reader is None:
                    form = NameForm(prefix for prefix in [namespaces.get(CATEGORIES)] if prefix)
                    reader = WikitextReader(form, rules.file.hidden_templates, rules.file.redirect_templates)
                if page.namespace == ARTICLES:
                    articles.append((page.page, page.title.replace(" ", "_").encode()))
                    links = reader.links(page.text)
                elif page.namespace == CATEGORIES:
                    found = reader.category_page(
                        page.text, page.redirect if form.has_prefix(page.redirect or "") else None
                    )
                    links, marks = found.parents, HAS_PAGE | (HIDDEN if found.hidden else 0)
                    name = writer.number(form.normalize(page.title).encode())
                    target = NOBODY if found.redirect is None else writer.number(found.redirect.encode())
                    categories.append((page.page, name, marks, target))
                else:
                    continue
                edges += [(page.page, writer.number(link.encode())) for link in links]
                if len(articles) + len(categories) >= _BATCH:
                    flush()
                    watch((now := dump.offset()) - before)
                    before = now
            flush()
    return writer.counts


def category_prefixes(path: Path) -> tuple[str, ...]:
    """What the wiki of an export calls its category namespace."""
    namespaces: dict[str, str] = {}
    with open_dump(path) as dump:
        next(read_pages(dump, namespaces), None)
    return tuple(name for name in [namespaces.get(CATEGORIES)] if name)


def _page(path: Path, element: ET.Element, space: str, namespaces: dict[str, str]) -> ExportedPage:
    title = element.findtext(f"{space}title") or ""
    number = element.findtext(f"{space}id") or ""
    if not title or not number.isdecimal() or not number.isascii() or int(number) >= 1 << 32:
        raise InputError(f"{path}: the page {title!r} with the id {number!r} lacks a title or a number; fetch it again")
    namespace = element.findtext(f"{space}ns")
    if namespace is None:  # exports older than 2012
        begin = title.partition(":")[0] if ":" in title else ""
        namespace = next((key for key, name in namespaces.items() if name and name == begin), ARTICLES)
    redirect = element.find(f"{space}redirect")
    revisions = element.findall(f"{space}revision")
    text = (revisions[-1].findtext(f"{space}text") if revisions else None) or ""
    return ExportedPage(int(number), namespace, title, None if redirect is None else redirect.get("title"), text)
