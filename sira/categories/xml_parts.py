"""Parts out of MediaWiki's XML export: pages, and the category links in their texts; templates are not expanded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sira.categories.parts import HAS_PAGE, HIDDEN, NOBODY, PartWriter
from sira.categories.rules import Rules
from sira.corpora.wikipedia.dumps import open_dump
from sira.corpora.wikipedia.export import ARTICLES, CATEGORIES, Site, read_pages
from sira.corpora.wikipedia.names import NameForm
from sira.corpora.wikipedia.wikitext import WikitextReader

_BATCH = 1000


def xml_part(path: Path, rules: Rules, folder: Path, watch: Callable[[int], object]) -> dict[str, int]:
    """The articles and categories of one export, and the links between them."""
    site = Site()
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
            for page in read_pages(dump, site):
                if reader is None:
                    form = NameForm(prefix for prefix in [site.namespaces.get(CATEGORIES)] if prefix)
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
    site = Site()
    with open_dump(path) as dump:
        next(read_pages(dump, site), None)
    return tuple(name for name in [site.namespaces.get(CATEGORIES)] if name)
