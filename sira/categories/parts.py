"""A part: what one dump file says of the graph, in one folder. Parts of all files are merged into the graph.

Page ids are MediaWiki's; names are numbered within the part. Any list may be empty: the page table has no edges, the
categorylinks table no pages.
"""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np

from sira.categories.arrays import Array, ArrayWriter, Strings, StringsWriter, load

HAS_PAGE, HIDDEN, MAINTENANCE = 1, 2, 4
"""Marks of a category: it has a page; the wiki hides it; its name is one of the maintenance patterns'."""

NOBODY = -1

_ARRAYS = {
    "category_page.i8": "page id of each page in the category namespace, or of a remark on one",
    "category_name.i4": "its name, or -1 where this part says none",
    "category_marks.u1": "its marks",
    "category_target.i4": "name that it redirects to, or -1",
    "page_id.i8": "page id of each article",
    "edge_page.u4": "page id of the member: an article or a category",
    "edge_name.i4": "name of the category that it is in",
}


class PartWriter:
    """Writes the files of a part as its dump is read; whole at the end of a `with` block."""

    def __init__(self, folder: Path) -> None:
        self._arrays = {name: ArrayWriter(folder / name) for name in _ARRAYS}
        self._names, self._titles = StringsWriter(folder / "names"), StringsWriter(folder / "titles")
        self._numbers: dict[bytes, int] = {}

    def number(self, name: bytes) -> int:
        """The number of a name; a new one is added."""
        return self._numbers.setdefault(name, len(self._numbers))

    def numbers(self, names: Sequence[bytes]) -> list[int]:
        known = self._numbers
        return [known.setdefault(name, len(known)) for name in names]

    def categories(
        self, pages: Sequence[int] | Array, names: Sequence[int], marks: Sequence[int], targets: Sequence[int]
    ) -> None:
        self._arrays["category_page.i8"].extend(pages)
        self._arrays["category_name.i4"].extend(names)
        self._arrays["category_marks.u1"].extend(marks)
        self._arrays["category_target.i4"].extend(targets)

    def articles(self, pages: Sequence[int] | Array, titles: Sequence[bytes]) -> None:
        self._arrays["page_id.i8"].extend(pages)
        self._titles.extend(titles)

    def edges(self, pages: Sequence[int] | Array, names: Sequence[int] | Array) -> None:
        self._arrays["edge_page.u4"].extend(pages)
        self._arrays["edge_name.i4"].extend(names)

    @property
    def counts(self) -> dict[str, int]:
        """What was written, by kind."""
        return {
            "categories": self._arrays["category_page.i8"].count,
            "articles": self._arrays["page_id.i8"].count,
            "links": self._arrays["edge_page.u4"].count,
        }

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._names.extend(list(self._numbers))
        for writer in (*self._arrays.values(), self._names, self._titles):
            writer.close()


class Part:
    """A written part, mapped into memory."""

    def __init__(self, folder: Path) -> None:
        self.category_page = load(folder / "category_page.i8")
        self.category_name = load(folder / "category_name.i4")
        self.category_marks = load(folder / "category_marks.u1")
        self.category_target = load(folder / "category_target.i4")
        self.page_id = load(folder / "page_id.i8")
        self.edge_page, self.edge_name = load(folder / "edge_page.u4"), load(folder / "edge_name.i4")
        self.names, self.titles = Strings(folder / "names"), Strings(folder / "titles")


def members_of(pages: Array, among: Array) -> Array:
    """Which of `pages` stand in `among`, page ids in ascending order, as a mask."""
    if not len(among):
        return np.zeros(len(pages), np.bool_)
    at = np.searchsorted(among, pages)
    at[at == len(among)] = 0
    return among[at] == pages
