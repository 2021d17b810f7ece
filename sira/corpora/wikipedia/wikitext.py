"""What the text of a page says about categories: links, the hiding mark, a redirect. Templates are not expanded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sira.corpora.wikipedia.names import NameForm, prefix_pattern

_REDIRECT = re.compile(r"\s*#\w+\s*:?\s*\[\[[^\[\]]*\]\]")
_HIDDEN = "__HIDDENCAT__"
# Stands where a tag's content was, lest the text on both sides join into a link.
_GAP = "\x7f"


class Opaque:
    """Replaces what certain tags enclose, in which nothing is markup, and removes comments.

    A comment that does not end reaches to the end of the text; a tag that does not end is plain text.
    """

    __slots__ = ("_closing", "_opening")

    def __init__(self, tags: Iterable[str]) -> None:
        tags = tuple(tags)
        self._opening = re.compile(rf"<!--|<({'|'.join(tags)})(?=[\s/>])[^<>]*>", re.IGNORECASE)
        self._closing = {tag: re.compile(rf"</{tag}\s*>", re.IGNORECASE) for tag in tags}

    def replace(self, text: str, instead: Callable[[str, str], str]) -> str:
        """`instead` gives what stands in place of a tag (small letters) with its content."""
        if "<" not in text:
            return text
        pieces: list[str] = []
        unclosed: set[str] = set()
        kept = at = 0
        while found := self._opening.search(text, at):
            at = found.end()
            tag = (found.group(1) or "").lower()
            shown = ""
            if not tag:
                end = text.find("-->", at)
                end = len(text) if end < 0 else end + 3
            elif tag in unclosed or text[at - 2] == "/":
                continue
            else:
                closing = self._closing[tag].search(text, at)
                if closing is None:
                    unclosed.add(tag)
                    continue
                end = closing.end()
                shown = instead(tag, text[at : closing.start()])
            pieces += (text[kept : found.start()], shown)
            kept = at = end
        return "".join((*pieces, text[kept:]))


_OPAQUE = Opaque(("nowiki", "pre", "syntaxhighlight", "source", "math", "includeonly"))


def visible(text: str) -> str:
    """The text without comments and without what nowiki, pre, source, math, includeonly enclose."""
    return _OPAQUE.replace(text, _gap)


def _gap(*_: str) -> str:
    return _GAP


@dataclass(frozen=True, slots=True)
class CategoryPage:
    """What a category's own page says: its parents, whether it is hidden, the name that it redirects to."""

    parents: tuple[str, ...]
    hidden: bool
    redirect: str | None


class WikitextReader:
    """Reads pages of one wiki. Names come out canonical, each once, in order of first appearance.

    `hidden_templates` and `redirect_templates` are templates that stand for the hiding mark and for a redirect.
    """

    __slots__ = ("_form", "_hidden", "_link", "_redirect")

    def __init__(
        self, form: NameForm, hidden_templates: Iterable[str] = (), redirect_templates: Iterable[str] = ()
    ) -> None:
        self._form = form
        prefix = prefix_pattern(form.prefixes)
        self._link = re.compile(
            rf"\[\[[ _]*(?:{prefix})[ _]*:([^\[\]{{}}|<>\n\x7f]+)(?:\|[^\[\]]*)?\]\]", re.IGNORECASE
        )
        self._hidden = _template(hidden_templates, r"\s*[|}]")
        self._redirect = _template(redirect_templates, r"\s*\|\s*(?:1\s*=)?([^|{}\[\]]+)")

    def links(self, text: str) -> tuple[str, ...]:
        """The categories that a page is in by its own text; not those that it only links to (`[[:Category:X]]`)."""
        return self._links(visible(text)) if "[[" in text else ()

    def category_page(self, text: str, redirect: str | None = None) -> CategoryPage:
        """What a category's page says; `redirect` is the title that the export names as its target."""
        text = visible(text)
        if redirect is None and self._redirect and (found := self._redirect.search(text)):
            redirect = found.group(1)
        hidden = _HIDDEN in text or bool(self._hidden and self._hidden.search(text))
        return CategoryPage(self._links(text), hidden, self._form.normalize(redirect or "") or None)

    def _links(self, text: str) -> tuple[str, ...]:
        found = self._link.finditer(text, 0 if (start := _REDIRECT.match(text)) is None else start.end())
        names = dict.fromkeys(self._form.normalize(match.group(1)) for match in found)
        return tuple(name for name in names if name)


def _template(names: Iterable[str], rest: str) -> re.Pattern[str] | None:
    pattern = prefix_pattern(names)
    return re.compile(rf"\{{\{{\s*(?:{pattern}){rest}", re.IGNORECASE) if pattern else None
