"""A small wiki, and its dumps: as an XML export, and as SQL in the older and the newer schema of categorylinks."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from sira.categories.build import Sources

SPECIAL = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\r": "\\r", "\0": "\\0", "\x1a": "\\Z"}


@dataclass(frozen=True)
class Page:
    """`title` is without the namespace; `categories` by canonical name."""

    number: int
    namespace: int
    title: str
    categories: Sequence[str] = ()
    hidden: bool = False
    redirect: str | None = None


WIKI = [
    Page(1, 14, "Articles"),
    Page(2, 14, "Science", ["Articles"]),
    Page(3, 14, "Physics", ["Science"]),
    Page(4, 14, "Chemistry", ["Science"]),
    # a cycle: Optics, Light, Optics; and one that holds itself
    Page(5, 14, "Optics", ["Physics", "Light"]),
    Page(6, 14, "Light", ["Optics", "Light"]),
    Page(7, 14, "Kept_aside", [], hidden=True),
    Page(8, 14, "All_stub_articles", ["Kept_aside"]),
    Page(9, 14, "Natural_philosophy", redirect="Physics"),
    Page(10, 14, "O'Brien's_\"laws\"_(100)", ["Physics"]),
    Page(11, 14, "Ägyptologie_日本"),
    Page(40, 0, "Lens", ["Optics", "All_stub_articles"]),
    Page(41, 0, "Isaac_Newton", ["Physics", "1643_births", "O'Brien's_\"laws\"_(100)"]),
    Page(42, 0, "Back\\slash", ["Chemistry", "Ägyptologie_日本"]),
    Page(43, 0, "Sola"),
    Page(44, 1, "Lens", ["Talk_only"]),
    Page(30, 0, "Robert_Boyle", ["Chemistry", "Physics"]),
]


def quoted(text: str) -> str:
    return "'" + "".join(SPECIAL.get(letter, letter) for letter in text) + "'"


def dump(table: str, columns: Sequence[str], rows: Iterable[Sequence[str | int]], *, lines: bool = False) -> str:
    """One table as mysqldump writes it, three rows a statement; `lines`: one row a line, as newer MariaDB does."""
    values = ["(" + ",".join(str(value) for value in row) + ")" for row in rows]
    separator = ",\n" if lines else ","
    statements = [
        f"INSERT INTO `{table}` VALUES{chr(10) if lines else ' '}{separator.join(values[at : at + 3])};\n"
        for at in range(0, len(values), 3)
    ]
    definition = "".join(f"  `{name}` varbinary(255) NOT NULL DEFAULT '',\n" for name in columns)
    return (
        "-- MySQL dump 10.19\n\n/*!40101 SET NAMES utf8 */;\n"
        f"DROP TABLE IF EXISTS `{table}`;\nCREATE TABLE `{table}` (\n"
        f"{definition}  PRIMARY KEY (`{columns[0]}`),\n  KEY `both` (`{columns[0]}`,`{columns[1]}`)\n) ENGINE=InnoDB;\n"
        f"LOCK TABLES `{table}` WRITE;\n{''.join(statements)}UNLOCK TABLES;\n-- Dump completed on 2026-05-01  1:02:03\n"
    )


SORTKEY = quoted("\0D'\\,),(\n\x1a;")


def sql_dumps(pages: Sequence[Page], folder: Path, *, older: bool = False, lines: bool = False) -> Sources:
    """page.sql.gz, categorylinks.sql and the rest in the folder."""
    names = sorted({name for page in pages for name in page.categories} | {"Only_linked"})
    texts = {
        "page.sql": dump(
            "page",
            ["page_id", "page_namespace", "page_title", "page_is_redirect", "page_random", "page_lang"],
            [(p.number, p.namespace, quoted(p.title), int(bool(p.redirect)), "0.25e-3", "NULL") for p in pages],
            lines=lines,
        ),
        "linktarget.sql": dump(
            "linktarget",
            ["lt_id", "lt_namespace", "lt_title"],
            [(5, 0, "'Optics'"), *((100 + at, 14, quoted(name)) for at, name in enumerate(names))],
            lines=lines,
        ),
        "page_props.sql": dump(
            "page_props",
            ["pp_page", "pp_propname", "pp_value"],
            [(40, "'hiddencat_not'", "''"), *((p.number, "'hiddencat'", "''") for p in pages if p.hidden)],
            lines=lines,
        ),
        "redirect.sql": dump(
            "redirect",
            ["rd_from", "rd_namespace", "rd_title"],
            [(43, 0, "'Lens'"), *((p.number, 14, quoted(p.redirect)) for p in pages if p.redirect)],
            lines=lines,
        ),
    }
    links = [(page.number, name) for page in pages for name in page.categories]
    if older:
        columns = ["cl_from", "cl_to", "cl_sortkey", "cl_type"]
        rows = [(number, quoted(name), SORTKEY, "'page'") for number, name in links]
    else:
        columns = ["cl_from", "cl_sortkey", "cl_type", "cl_target_id"]
        rows = [(number, SORTKEY, "'page'", 100 + names.index(name)) for number, name in links]
    texts["categorylinks.sql"] = dump("categorylinks", columns, rows, lines=lines)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    packed = folder / "page.sql.gz"
    packed.write_bytes(gzip.compress((folder / "page.sql").read_bytes()))
    return Sources(
        page=packed,
        categorylinks=folder / "categorylinks.sql",
        linktarget=None if older else folder / "linktarget.sql",
        page_props=folder / "page_props.sql",
        redirect=folder / "redirect.sql",
    )


def export(pages: Sequence[Page], category: str = "Category") -> str:
    """The pages as an XML export."""
    spaces = {0: "", 1: "Talk:", 14: f"{category}:"}
    items = []
    for page in pages:
        links = [f"[[{category}:{name.replace('_', ' ')}|{{{{PAGENAME}}}}]]\n" for name in page.categories]
        text = "Text.\n" + "".join(links) + ("__HIDDENCAT__" if page.hidden else "")
        target = escape(spaces[14] + (page.redirect or ""), {'"': "&quot;"})
        redirect = f'<redirect title="{target}" />' if page.redirect else ""
        title = escape(spaces[page.namespace] + page.title.replace("_", " "))
        items.append(
            f"  <page>\n    <title>{title}</title>\n    <ns>{page.namespace}</ns>\n"
            f"    <id>{page.number}</id>{redirect}\n"
            f'    <revision>\n      <id>9</id>\n      <text xml:space="preserve">{escape(text)}</text>\n'
            "    </revision>\n  </page>\n"
        )
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n  <siteinfo>\n'
        f'    <namespaces>\n      <namespace key="0" />\n      <namespace key="14">{category}</namespace>\n'
        f"    </namespaces>\n  </siteinfo>\n{''.join(items)}</mediawiki>\n"
    )


def xml_dumps(pages: Sequence[Page], folder: Path, shards: int = 2) -> Sources:
    """Several exports: bzip2 of two streams each, as in multistream dumps."""
    files = []
    for shard in range(shards):
        text = export(pages[shard::shards]).encode()
        middle = len(text) // 2
        files.append(folder / f"pages-{shard}.xml.bz2")
        files[-1].write_bytes(bz2.compress(text[:middle]) + bz2.compress(text[middle:]))
    return Sources(xml=tuple(files))


def content(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a graph, less the records that name times and inputs."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name not in ("stage.json", "manifest.json", ".lock")
    }
