"""The canonical name of a category, as MediaWiki's tables have it: `1927_births`, whatever way it was written."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import unquote

DEFAULT_PREFIX = "Category"
# What MediaWiki takes for a blank in a title, and the marks of direction that it removes.
_BLANKS = re.compile("[ _\t\r\n\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]")
# Canonical already, and without a colon: by far the most frequent case.
_CANONICAL = re.compile(r"[A-Z0-9][A-Za-z0-9,.()'!*$-]*(?:_[A-Za-z0-9,.()'!*$-]+)*")


class NameForm:
    """Brings names of categories into their canonical form.

    `prefixes` are the names of the category namespace in the wiki's language; `Category` is always one of them.
    """

    __slots__ = ("_prefix", "prefixes")

    def __init__(self, prefixes: Iterable[str] = ()) -> None:
        self.prefixes = tuple(dict.fromkeys((DEFAULT_PREFIX, *prefixes)))
        self._prefix = re.compile(rf":?_?(?:{prefix_pattern(self.prefixes)})_?:_?", re.IGNORECASE)

    def normalize(self, name: str) -> str:
        """The canonical name, without the namespace; "" where nothing is left.

        Takes blanks or underscores, the prefix (`Category:`, `:category :`), an address of the page, percent-encoding,
        character references, any Unicode normal form (NFC comes out), a small first letter, a `#section`.
        """
        if _CANONICAL.fullmatch(name):
            return name
        if "://" in name:
            _, found, page = name.partition("/wiki/")
            name = page.partition("?")[0] if found else name
        if "%" in name:
            name = _decoded(name)
        if "&" in name:
            name = html.unescape(name)
        name = _BLANKS.sub("_", _MARKS.sub("", unicodedata.normalize("NFC", name)).partition("#")[0]).strip("_")
        if ":" in name:
            name = self._prefix.sub("", name, count=1) if self._prefix.match(name) else name
        # Title case, not upper case: MediaWiki leaves Georgian letters and the German sharp s alone.
        first = name[:1].title()
        return first + name[1:] if len(first) == 1 else name

    def has_prefix(self, title: str) -> bool:
        """Whether a title is of a page in the category namespace."""
        return self._prefix.match(title.replace(" ", "_")) is not None


def prefix_pattern(prefixes: Iterable[str]) -> str:
    """A regular expression of the prefixes, blanks in them written as blanks or underscores."""
    return "|".join("[ _]+".join(map(re.escape, re.split("[ _]+", prefix))) for prefix in prefixes)


def _decoded(name: str) -> str:
    """Percent-encoding undone, unless that gives no UTF-8: then the signs belong to the name."""
    try:
        return unquote(name, errors="strict")
    except UnicodeDecodeError:
        return name


_DEFAULT = NameForm()


def normalize(name: str) -> str:
    """`NameForm.normalize` of a wiki whose category namespace is called `Category`."""
    return _DEFAULT.normalize(name)
