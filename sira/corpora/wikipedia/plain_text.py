"""Wikitext as plain text, in time linear in its length, whatever is nested or left open.

Links give their label; tables the text of their cells, a line a row; headings, lists and emphasis their words.
Templates are not expanded: they are dropped, or give the values of their arguments. Files, categories, references,
formulas, code and galleries are dropped. A bracket without its partner is dropped alone; what follows it stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from sira.corpora.wikipedia.names import unescaped
from sira.corpora.wikipedia.wikitext import Opaque

Templates = Literal["drop", "values"]

_LITERAL = ("nowiki", "pre")
_DROPPED = (
    *("math", "chem", "ce", "hiero", "score", "timeline", "gallery", "imagemap", "syntaxhighlight", "source", "graph"),
    *("mapframe", "maplink", "templatedata", "includeonly", "inputbox", "categorytree", "style", "script"),
)
_OPAQUE = Opaque((*_LITERAL, *_DROPPED))
# Signs that would be markup stand as private-use characters while the text is worked on.
_SIGNS = "[]{}<>|!'=*#:;&_-"
_PROTECT = {ord(sign): 0xF8E0 + at for at, sign in enumerate(_SIGNS)}
_RESTORE = {private: sign for sign, private in _PROTECT.items()}

_MARK = re.compile(
    r"(\{\{|\}\}|\[\[|\]\]|<ref(?=[\s/>])[^<>]*>|</ref\s*>|\n[ \t:]*\{\||\n[ \t]*\|\}(?!\}))", re.IGNORECASE
)
_TEMPLATE, _LINK, _TABLE, _REF = range(4)
_MAX_DEPTH = 100
"""Brackets nested deeper are dropped alone: what stands inside d of them is copied d times."""

_FIXED_PREFIXES = ("file", "image", "media", "category")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*|simple")
_EXTERNAL = re.compile(r"\[(?:(?:https?:|ftps?:)?//|mailto:)[^\s\[\]]*+[ \t]*+([^\[\]\n]*+)\]")
_BREAK = re.compile(
    r"</?(?:br|p|div|li|ul|ol|dl|dd|dt|td|th|tr|table|caption|hr|h[1-6]|blockquote|poem|center)(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?=[\s/>])[^<>]*>")
_EMPHASIS = re.compile("''+")
_SWITCH = re.compile(r"__[A-Z]{3,20}__")
_EMPTY_BRACKETS = re.compile(r"\([ ,;:]*\)")
_BLANKS = re.compile("  +")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200e\u200f]")


class PlainText:
    """Makes wikitext plain. `prefixes` are the wiki's own names of its namespaces of files and categories."""

    __slots__ = ("_hidden", "_templates")

    def __init__(self, prefixes: Iterable[str] = (), templates: Templates = "drop") -> None:
        self._hidden = {prefix.lower().replace("_", " ") for prefix in (*_FIXED_PREFIXES, *prefixes)}
        self._templates: Templates = templates

    def __call__(self, text: str) -> str:
        """Plain text: lines without blanks at their ends, no two empty lines in a row."""
        literals: list[str] = []

        def instead(tag: str, content: str) -> str:
            if tag not in _LITERAL:
                return " "
            literals.append(tag)
            return content.translate(_PROTECT)

        text = self._nested(_OPAQUE.replace(text, instead))
        if "//" in text or "mailto:" in text:
            text = _EXTERNAL.sub(r"\1", text)
        if "<" in text:
            text = _TAG.sub("", _BREAK.sub("\n", text))
        text = _EMPHASIS.sub("", text)
        if "__" in text:
            text = _SWITCH.sub("", text)
        text = _CONTROL.sub("", unescaped(text).replace("\xa0", " ").replace("\t", " "))
        text = _BLANKS.sub(" ", _EMPTY_BRACKETS.sub("", text))
        text = "\n".join(_lines(text)).strip()
        return text.translate(_RESTORE) if literals else text

    def _nested(self, text: str) -> str:
        """The text with its templates, links, tables and references resolved, the innermost first."""
        kinds, stack, opened = [-1], [list[str]()], [0, 0, 0, 0]
        for at, piece in enumerate(_MARK.split(f"\n{text}")):  # a table's marks stand at the begin of a line
            if not at % 2:
                if piece:
                    stack[-1].append(piece)
                continue
            kind, opens = _mark(piece)
            if kind == _TABLE:
                stack[-1].append("\n")
            if kind == _REF and piece.endswith("/>"):
                continue
            if opens:
                if len(kinds) <= _MAX_DEPTH:
                    kinds.append(kind)
                    stack.append([])
                    opened[kind] += 1
            elif opened[kind]:
                while kinds[-1] != kind:  # what was opened inside and never closed
                    _merge(kinds, stack, opened)
                inside = stack.pop()
                kinds.pop()
                opened[kind] -= 1
                if kind != _REF and (kind != _TEMPLATE or self._templates == "values"):
                    stack[-1].append(self._resolved(kind, "".join(inside)))
        while len(kinds) > 1:
            _merge(kinds, stack, opened)
        return "".join(stack[0])

    def _resolved(self, kind: int, inside: str) -> str:
        if kind == _LINK:
            return self._link(inside)
        return _table(inside) if kind == _TABLE else _values(inside)

    def _link(self, inside: str) -> str:
        target, bar, label = inside.partition("|")
        target = target.strip()
        prefix, colon, _ = target.partition(":")
        if colon and prefix:
            hidden = prefix.strip().lower().replace("_", " ") in self._hidden
            if hidden or (not bar and _LANGUAGE.fullmatch(prefix)):
                return ""
        return label if label.strip() else target.lstrip(":#")


def _mark(piece: str) -> tuple[int, bool]:
    """The kind of a bracket, and whether it opens."""
    if piece in ("{{", "}}"):
        return _TEMPLATE, piece == "{{"
    if piece in ("[[", "]]"):
        return _LINK, piece == "[["
    if piece[0] == "<":
        return _REF, piece[1] != "/"
    return _TABLE, piece[-1] == "|"


def _merge(kinds: list[int], stack: list[list[str]], opened: list[int]) -> None:
    """Give up the innermost bracket: what it holds is plain text of the one around it."""
    opened[kinds.pop()] -= 1
    inside = stack.pop()
    stack[-1] += inside


def _values(inside: str) -> str:
    """The values of a template's arguments, without their names; a line each where the template has lines."""
    values: list[str] = []
    for argument in inside.split("|")[1:]:
        name, equals, value = argument.partition("=")
        values.append((value if equals and "\n" not in name.strip() else argument).strip())
    return ("\n" if "\n" in inside else " ").join(value for value in values if value)


def _table(inside: str) -> str:
    """The text of the cells: those of one line of wikitext in one line."""
    rows = [""]
    for line in inside.split("\n")[1:]:  # the first line holds attributes
        line = line.strip(" \t")
        if line.startswith("|-"):
            continue
        if line.startswith("|+"):
            line = line[2:].partition("|")[2] or line[2:]
        elif line.startswith(("|", "!")):
            cells = (line[1:].replace("!!", "||") if line[0] == "!" else line[1:]).split("||")
            line = " ".join((cell.partition("|")[2] if "|" in cell else cell).strip() for cell in cells)
        rows.append(line)
    return "\n".join((*rows, ""))


def _lines(text: str) -> Iterable[str]:
    """Lines without the marks of headings, lists and rules; of several empty ones the first."""
    empty = False
    for line in text.split("\n"):
        line = line.strip(" ")
        if line:
            first = line[0]
            if first in "*#:;":
                line = line.lstrip("*#:; ")
            elif first == "=" and line[-1] == "=":
                line = line.strip("= ")
            elif line.startswith("----"):
                line = line.lstrip("- ")
        if line or not empty:
            yield line
        empty = not line
