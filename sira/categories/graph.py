"""The built graph, opened by memory map: opening takes milliseconds, memory holds what was looked at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sira.categories.arrays import Mapped, Strings
from sira.categories.name_table import NameTable
from sira.categories.nearest import NearestNames
from sira.categories.parts import HAS_PAGE, HIDDEN, MAINTENANCE
from sira.categories.stages import is_done
from sira.corpora.wikipedia.names import NameForm
from sira.errors import InputError

MANIFEST = "manifest.json"
FORMAT = 1
_LONGEST_CHAIN = 10


@dataclass(frozen=True, slots=True)
class Category:
    """All that is known of one category, names canonical and ascending; `level` is None where no root leads to it."""

    name: str
    has_page: bool
    level: int | None
    hidden: bool
    maintenance: bool
    parents: tuple[str, ...]
    children: tuple[str, ...]
    member_count: int


class CategoryGraph:
    """Look-ups in a graph that `sira categories build` made.

    Names are taken in any form that `NameForm.normalize` knows; a redirect stands for its target. A category is known
    if it has a page or anything in it. Of an unknown one, lists are empty, counts 0 and the level None.
    Safe for any number of threads, since nothing is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = _manifest(folder)
        graph, levels = folder / "graph", folder / "levels"
        self._form = NameForm(self.manifest["prefixes"])
        self._table, self._titles = NameTable(graph), Strings(graph / "titles")
        self._names = self._table.names
        self._target = Mapped(graph / "target.i4").view("i")
        self._parents, self._children = _Lists(graph, "parents"), _Lists(graph, "children")
        self._members = _Lists(graph, "members")
        self._levels = Mapped(levels / "levels.i4").view("i")
        self._marks = Mapped(levels / "marks.u1").data
        self._nearest = NearestNames(folder / "nearest", self._names)

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open a graph. Raises InputError if there is none, its build did not end, or a file of it is damaged."""
        folder = Path(folder)
        try:
            return cls(folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{folder}: damaged category graph ({error}); build it again") from None

    def __len__(self) -> int:
        """How many categories are known."""
        return len(self._names)

    def normalize(self, name: str) -> str:
        """The canonical form of a name, known or not."""
        return self._form.normalize(name)

    def number(self, name: str) -> int | None:
        """The number of a known category, redirects not followed."""
        return self._table.number(self._form.normalize(name))

    def exists(self, name: str) -> bool:
        """Whether the category is known: it has a page, or something is in it."""
        return self.number(name) is not None

    def resolve(self, name: str) -> str | None:
        """The canonical name of a known category, redirects followed; None if it is unknown."""
        number = self._resolved(name)
        return None if number is None else self.name(number)

    def parents(self, name: str) -> tuple[str, ...]:
        return self._listed(self._parents, name)

    def children(self, name: str) -> tuple[str, ...]:
        return self._listed(self._children, name)

    def members(self, name: str, limit: int | None = None, *, start: int = 0) -> list[str]:
        """Titles of the articles directly in the category, with underscores, by page id; `limit` of them from `start`.

        Raises InputError if start or limit is negative.
        """
        if start < 0 or (limit is not None and limit < 0):
            raise InputError(f"start = {start}, limit = {limit}: both count from 0")
        number = self._resolved(name)
        if number is None:
            return []
        end = None if limit is None else start + limit
        return [title.decode() for title in self._titles.take(self._members.of(number)[start:end])]

    def member_count(self, name: str) -> int:
        """How many articles are directly in the category."""
        number = self._resolved(name)
        return 0 if number is None else len(self._members.of(number))

    def level(self, name: str) -> int | None:
        """Steps from the nearest root; None if the category is unknown or no root leads to it."""
        number = self._resolved(name)
        return None if number is None or self._levels[number] < 0 else self._levels[number]

    def is_hidden(self, name: str) -> bool:
        """Whether the category serves the upkeep of the wiki: hidden by the wiki, or of maintenance by its name."""
        return bool(self._mark(name) & (HIDDEN | MAINTENANCE))

    def is_maintenance(self, name: str) -> bool:
        """Whether the name is one of the maintenance patterns'."""
        return bool(self._mark(name) & MAINTENANCE)

    def category(self, name: str) -> Category | None:
        """All that is known of a category, or None; members by `members`."""
        number = self._resolved(name)
        if number is None:
            return None
        marks, level = self._marks[number], self._levels[number]
        return Category(
            name=self.name(number),
            has_page=bool(marks & HAS_PAGE),
            level=None if level < 0 else level,
            hidden=bool(marks & HIDDEN),
            maintenance=bool(marks & MAINTENANCE),
            parents=self._all(self._parents.of(number)),
            children=self._all(self._children.of(number)),
            member_count=len(self._members.of(number)),
        )

    def nearest(self, name: str, n: int = 3) -> tuple[str, ...]:
        """The known names most like this one, at most n, the most alike first; redirects give their targets.

        Among names equally alike, those for readers come before hidden ones, then in ascending order. Names that share
        little are left out, so there may be none.
        """
        found = self._nearest.find(self._form.normalize(name))
        ranked = sorted(found, key=lambda item: (-item[0], self._marks[item[1]] & (HIDDEN | MAINTENANCE) != 0, item[1]))
        return tuple(dict.fromkeys(self.name(self._followed(number)) for _, number in ranked))[: max(0, n)]

    def name(self, number: int) -> str:
        """The name of a category by its number, from 0 in the order of names."""
        return self._names[number].decode()

    def _all(self, numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(name.decode() for name in self._names.take(numbers))

    def _listed(self, lists: _Lists, name: str) -> tuple[str, ...]:
        number = self._resolved(name)
        return () if number is None else self._all(lists.of(number))

    def _mark(self, name: str) -> int:
        number = self._resolved(name)
        return 0 if number is None else self._marks[number]

    def _resolved(self, name: str) -> int | None:
        number = self.number(name)
        return None if number is None else self._followed(number)

    def _followed(self, number: int) -> int:
        """The end of a chain of redirects; where it runs in a circle, the start."""
        end = number
        for _ in range(_LONGEST_CHAIN):
            if self._target[end] < 0:
                return end
            end = self._target[end]
        return number


class _Lists:
    """Lists of numbers, one a category."""

    __slots__ = ("_starts", "_values")

    def __init__(self, folder: Path, name: str) -> None:
        self._starts = Mapped(folder / f"{name}_starts.i8").view("q")
        self._values = Mapped(folder / f"{name}.i4").view("i")

    def of(self, number: int) -> memoryview[int]:
        return self._values[self._starts[number] : self._starts[number + 1]]


def _manifest(folder: Path) -> dict[str, Any]:
    """Raises InputError if the folder holds no whole graph."""
    path = folder / MANIFEST
    if not path.is_file():
        unfinished = (folder / "graph").exists() or (folder / "parts").exists()
        what = (
            "holds an unfinished build: run `sira categories build` again" if unfinished else "holds no category graph"
        )
        raise InputError(f"{folder}: {what}{'' if unfinished else '; make one by `sira categories build`'}")
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if manifest["format"] != FORMAT:
        raise InputError(f"{path}: format {manifest['format']}, this sira reads {FORMAT}: build the graph again")
    for stage, fingerprint in manifest["stages"].items():
        if not is_done(folder / stage, fingerprint):
            raise InputError(f"{folder}: a later build of {stage!r} did not end: run `sira categories build` again")
    return manifest
