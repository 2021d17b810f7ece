"""MediaWiki's XML export: which pages come out, and what is refused with one clear line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from sira.corpora.wikipedia.dumps import open_dump
from sira.corpora.wikipedia.export import ExportedPage, Site, read_pages
from sira.errors import InputError

from .wiki import HEAD, PAGES, TAIL, Page, export, page_xml, write_export


def pages_of(path: Path, site: Site | None = None) -> list[ExportedPage]:
    with open_dump(path) as dump:
        return list(read_pages(dump, site or Site()))


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        (tmp_path / "dump.xml").write_text(text, encoding="utf-8")
        return tmp_path / "dump.xml"

    return write


@pytest.mark.parametrize("name", ["dump.xml", "dump.xml.bz2"])
def test_pages_come_in_order_with_what_the_export_says_of_them(tmp_path: Path, name: str) -> None:
    site = Site()
    found = pages_of(write_export(tmp_path / name, PAGES), site)
    assert [(p.page, p.namespace, p.title, p.redirect, p.text, p.model) for p in found] == [
        (p.number, str(p.namespace), p.title, p.redirect, p.text, p.model) for p in PAGES
    ]
    assert site.base == "https://en.wikipedia.org/wiki/Main_Page"
    assert site.namespaces == {"0": "", "1": "Talk", "6": "File", "14": "Category"}


def test_gzip_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "dump.xml.gz").write_bytes(gzip.compress(export(PAGES).encode()))
    assert len(pages_of(tmp_path / "dump.xml.gz")) == len(PAGES)


def test_of_several_revisions_the_last_one_counts(written: Callable[[str], Path]) -> None:
    page = page_xml(Page(1, "A", "new")).replace(
        "    <revision>", "    <revision><id>3</id><model>json</model><text>old</text></revision>\n    <revision>", 1
    )
    [found] = pages_of(written(HEAD + page + TAIL))
    assert (found.page, found.text, found.model) == (1, "new", "wikitext")
    deleted = page.replace('<text bytes="3" xml:space="preserve">new</text>', '<text deleted="deleted" />')
    [found] = pages_of(written(HEAD + deleted + TAIL))
    assert found.text == ""


def test_an_export_without_numbers_of_namespaces_goes_by_their_names(written: Callable[[str], Path]) -> None:
    text = export([Page(1, "Talk:A", "x"), Page(2, "2001: A title", "y")])
    text = "\n".join(line for line in text.splitlines() if "<ns>" not in line)
    assert [page.namespace for page in pages_of(written(text))] == ["1", "0"]


def test_the_first_page_comes_before_the_rest_is_read(tmp_path: Path) -> None:
    path = write_export(tmp_path / "dump.xml", [Page(n, f"P{n}", "word " * 20_000) for n in range(1, 60)])
    with open_dump(path) as dump:
        first = next(read_pages(dump, Site()))
        assert first.page == 1
        assert dump.offset() < path.stat().st_size / 4


def test_a_page_of_ten_megabytes_comes_whole(tmp_path: Path) -> None:
    text = "a line of text with שלום\n" * 420_000
    path = write_export(tmp_path / "dump.xml", [Page(1, "Large", text), Page(2, "Next", "x")])
    large, following = pages_of(path)
    assert len(text.encode()) > 10_000_000
    assert large.text == text
    assert following.text == "x"


LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<mediawiki><page><title>&c;</title><ns>0</ns><id>1</id></page></mediawiki>
"""
EXTERNAL = """<!DOCTYPE mediawiki [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<mediawiki><page><title>&x;</title><ns>0</ns><id>1</id></page></mediawiki>
"""


@pytest.mark.parametrize(("text", "line"), [(LAUGHS, 2), (EXTERNAL, 1)])
def test_a_document_type_and_its_entities_are_refused(written: Callable[[str], Path], text: str, line: int) -> None:
    with pytest.raises(InputError, match=rf"dump\.xml, line {line}: a document type <!DOCTYPE \w+>"):
        pages_of(written(text))


WHOLE = export(PAGES)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (WHOLE[: len(WHOLE) // 2], r"line \d+, column .*, near byte .* of the file: damaged or cut XML"),
        (WHOLE.replace("glaze", "gla\0ze", 1), r"line 25, column .* \(not well-formed \(invalid token\)\)"),
        (WHOLE.replace("glaze", "gla\x01ze", 1), "line 25, .*not well-formed"),
        (WHOLE.replace("glaze", "gla&#1;ze", 1), "line 25, .*invalid character number"),
        (WHOLE.replace("glaze", "gla&nbsp;ze", 1), "line 25, .*undefined entity"),
        (WHOLE.replace("</text>", "", 1), "line .*mismatched tag"),
        (WHOLE + "<page>", "line .*junk after document element"),
        ("", "line 1, column 1, near byte 0 of the file: damaged or cut XML"),
        ("<html></html>", "an XML file of <html>, not a MediaWiki export"),
        (WHOLE.replace("<id>10</id>", "<id>ten</id>", 1), r"line \d+: the page 'Kiln wash' with the id 'ten' lacks"),
        (WHOLE.replace("<title>Glaze</title>", "<title></title>", 1), "the page '' with the id '11' lacks a title"),
    ],
)
def test_bad_xml_is_one_line_with_the_file_and_the_place(written: Callable[[str], Path], text: str, fault: str) -> None:
    with pytest.raises(InputError, match=fault) as caught:
        pages_of(written(text))
    assert str(caught.value).startswith(str(written(text)))
    assert "\n" not in str(caught.value)


def test_a_cut_bzip2_file_is_named_with_the_byte(tmp_path: Path) -> None:
    path = write_export(tmp_path / "dump.xml.bz2", PAGES)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"dump\.xml\.bz2: damaged or cut bzip2 file near byte \d+"):
        pages_of(path)
