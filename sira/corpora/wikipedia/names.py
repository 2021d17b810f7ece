"""Canonical names, as MediaWiki's tables have them, whatever way they were written: of pages (`Ada_Lovelace`) and of
categories, these without their namespace (`1927_births`)."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import parse_qs, unquote, urlsplit

DEFAULT_PREFIX = "Category"
# What MediaWiki takes for a blank in a title, and the marks of direction that it removes.
_BLANKS = re.compile("[ _\t\r\n\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]")
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_PAGE_PATH = re.compile(r"/(?:wiki|[a-z]{2,3}(?:-[a-z]+)+)/(?!index\.php$)(.+)", re.IGNORECASE)
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
        name = _tidy(name)
        if ":" in name:
            name = self._prefix.sub("", name, count=1) if self._prefix.match(name) else name
        return _large(name)

    def has_prefix(self, title: str) -> bool:
        """Whether a title is of a page in the category namespace."""
        return self._prefix.match(title.replace(" ", "_")) is not None


def page_name(title: str) -> str:
    """The name of a page by its title, its namespace in front; "" where nothing is left.

    Takes blanks or underscores, character references, any Unicode normal form (NFC comes out), a small first letter, a
    `#section`. What looks like percent-encoding is part of a title here.
    """
    if _CANONICAL.fullmatch(title):
        return title
    return _large(_tidy(unescaped(title)).lstrip(":_"))


def page_of_url(url: str) -> tuple[str, str] | None:
    """(site, page name) of a page's address, or None where it names no page by its title.

    `site` is the host without `www.` and the mobile `m.`. Takes `/wiki/Title`, a language variant (`/zh-cn/Title`),
    `?title=Title`, and archived copies; with or without a scheme; query and fragment are dropped, and percent-encoding
    is undone as often as it was done, since no title holds a `%` before two hexadecimal digits.
    """
    url = url.strip()
    if (inner := url.rfind("://")) > 8:  # an archive's address with the page's own in its path
        url = "https" + url[inner:]
    try:
        parts = urlsplit(url if "//" in url[:8] else f"//{url}")
        site = ".".join(label for label in (parts.hostname or "").split(".") if label not in ("www", "m"))
    except ValueError:
        return None
    found = _PAGE_PATH.match(parts.path)
    title = found.group(1) if found else next(iter(parse_qs(parts.query).get("title", ())), "")
    for _ in range(3):
        title = _decoded(title) if "%" in title else title
    name = page_name(title)
    return (site, name) if site and name else None


def unescaped(text: str) -> str:
    """Character references as characters; as in MediaWiki only those that end in a semicolon."""
    return _REFERENCE.sub(lambda found: html.unescape(found.group()), text) if "&" in text else text


def _tidy(name: str) -> str:
    return _BLANKS.sub("_", _MARKS.sub("", unicodedata.normalize("NFC", name)).partition("#")[0]).strip("_")


def _large(name: str) -> str:
    # Title case, not upper case: MediaWiki leaves Georgian letters and the German sharp s alone.
    first = name[:1].title()
    return first + name[1:] if len(first) == 1 else name


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
