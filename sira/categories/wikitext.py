"""What the text of a page says about categories: links, the hiding mark, a redirect. Templates are not expanded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sira.categories.names import NameForm, prefix_pattern

_OPAQUE_TAGS = ("nowiki", "pre", "syntaxhighlight", "source", "math", "includeonly")
_OPAQUE = re.compile(rf"<!--|<({'|'.join(_OPAQUE_TAGS)})(?=[\s/>])[^<>]*>", re.IGNORECASE)
_CLOSING = {tag: re.compile(rf"</{tag}\s*>", re.IGNORECASE) for tag in _OPAQUE_TAGS}
_REDIRECT = re.compile(r"\s*#\w+\s*:?\s*\[\[[^\[\]]*\]\]")
_HIDDEN = "__HIDDENCAT__"
# Stands where a tag's content was, lest the text on both sides join into a link.
_GAP = "\x7f"


def visible(text: str) -> str:
    """The text without comments and without what nowiki, pre, source, math, includeonly enclose.

    A comment that does not end reaches to the end of the text; a tag that does not end is plain text.
    """
    if "<" not in text:
        return text
    pieces: list[str] = []
    unclosed: set[str] = set()
    kept = at = 0
    while found := _OPAQUE.search(text, at):
        at = found.end()
        tag = (found.group(1) or "").lower()
        if not tag:
            end = text.find("-->", at)
            end = len(text) if end < 0 else end + 3
        elif tag in unclosed or text[at - 2] == "/":
            continue
        else:
            closing = _CLOSING[tag].search(text, at)
            if closing is None:
                unclosed.add(tag)
                continue
            end = closing.end()
        pieces.append(text[kept : found.start()] + (_GAP if tag else ""))
        kept = at = end
    return "".join((*pieces, text[kept:]))


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
