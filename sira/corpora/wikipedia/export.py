"""Pages out of MediaWiki's XML export, one in memory at a time.

An export has no document type, so a file with one is refused: no entity of its own making is ever expanded or fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from sira.corpora.wikipedia.dumps import Dump
from sira.errors import InputError

ARTICLES, CATEGORIES = "0", "14"
WIKITEXT = "wikitext"
_CHUNK = 1 << 17
_PAGE_TEXTS = {"title", "ns", "id"}
_REVISION_TEXTS = {"text", "model"}


@dataclass(slots=True)
class Site:
    """What the head of an export says of its wiki, filled while it is read. `namespaces`: number to name."""

    namespaces: dict[str, str] = field(default_factory=dict[str, str])
    base: str = ""
    """The address of the main page."""


@dataclass(frozen=True, slots=True)
class ExportedPage:
    """A page as the export has it, with the text of its last revision; `redirect` is the title of its target.

    `model` is the content model: `wikitext`, `css`, `json`, `Scribunto`, ...
    """

    page: int
    namespace: str
    title: str
    redirect: str | None
    text: str
    model: str = WIKITEXT


def read_pages(dump: Dump, site: Site) -> Iterator[ExportedPage]:
    """The pages of an export in its order; `site` is filled before the first one comes.

    Raises InputError naming the file and the place for what is no export, for a page without a title or a number, and
    for XML that is damaged, cut, or brings a document type.
    """
    reader = _Reader(dump, site)
    while block := dump.stream.read(_CHUNK):
        yield from reader.feed(block)
    yield from reader.feed(b"", last=True)


class _Reader:
    """Handlers of an expat parser that collect pages. Elements are told by depth and name: ids and texts stand in
    other elements of a page too."""

    def __init__(self, dump: Dump, site: Site) -> None:
        self._dump, self._site = dump, site
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = _CHUNK
        parser.StartDoctypeDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        self._depth = 0
        self._pages: list[ExportedPage] = []
        self._pieces: list[str] = []
        self._values: dict[str, str] = {}
        self._redirect: str | None = None
        self._key = ""

    def feed(self, block: bytes, *, last: bool = False) -> list[ExportedPage]:
        """Parse a block; the pages that ended in it."""
        self._pages = []
        try:
            self._parser.Parse(block, last)
        except expat.ExpatError as error:
            line, column = error.lineno, error.offset + 1
            raise InputError(
                f"{self._dump.path}, line {line}, column {column}, near byte {self._dump.offset()} of the file: "
                f"damaged or cut XML ({expat.ErrorString(error.code)}); fetch it again"
            ) from None
        return self._pages

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        depth = self._depth
        if depth == 3:
            if name in _PAGE_TEXTS:
                self._collect()
            elif name == "redirect":
                self._redirect = attributes.get("title")
            elif name == "revision":
                self._values.pop("text", None)
                self._values.pop("model", None)
            elif name == "base":
                self._collect()
        elif depth == 4:
            if name in _REVISION_TEXTS:
                self._collect()
            elif name == "namespace":
                self._key = attributes.get("key", "")
                self._collect()
        elif depth == 1 and name.rpartition(":")[2] != "mediawiki":
            raise InputError(f"{self._dump.path}: an XML file of <{name}>, not a MediaWiki export (<mediawiki>)")

    def _collect(self) -> None:
        self._pieces = []
        self._parser.CharacterDataHandler = self._pieces.append

    def _end(self, name: str) -> None:
        depth = self._depth
        self._depth -= 1
        if self._parser.CharacterDataHandler is not None:
            self._parser.CharacterDataHandler = None
            text = "".join(self._pieces)
            if depth == 3 and name == "base":
                self._site.base = text
            elif depth == 4 and name == "namespace":
                self._site.namespaces[self._key] = text
            else:
                self._values[name] = text
        elif depth == 2 and name == "page":
            self._pages.append(self._page())
            self._values, self._redirect = {}, None

    def _page(self) -> ExportedPage:
        values = self._values
        title, number = values.get("title", ""), values.get("id", "")
        if not title or not number.isdecimal() or not number.isascii() or int(number) >= 1 << 32:
            raise InputError(
                f"{self._dump.path}, line {self._parser.CurrentLineNumber}: the page {title!r} with the id {number!r} "
                "lacks a title or a number; fetch the file again"
            )
        namespace = values.get("ns")
        if namespace is None:  # exports older than 2012
            begin = title.partition(":")[0] if ":" in title else ""
            known = self._site.namespaces.items()
            namespace = next((key for key, name in known if name and name == begin), ARTICLES)
        text, model = values.get("text", ""), values.get("model", WIKITEXT)
        return ExportedPage(int(number), namespace, title, self._redirect, text, model)

    def _refuse(self, name: str, *_: object) -> None:
        raise InputError(
            f"{self._dump.path}, line {self._parser.CurrentLineNumber}: a document type <!DOCTYPE {name}>, which no "
            "MediaWiki export has; fetch the file from its wiki"
        )
