"""The items of a list that is no valid JSON: only those that are there in full.

Half an item would become a false posting, so whatever could be one is left out. Lists and items are bounded, so that
running time is linear in the text, and nothing is raised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

KEYS = ("phrases", "keywords", "search_phrases")
DECODER = json.JSONDecoder(strict=False)  # xgrammar lets raw control characters into strings
MAX_STARTS = 100
"""Places where JSON is looked for in prose, and lists for salvage: bounds the time on texts of brackets alone."""

_MAX_ITEMS = 10_000
"""Of one list; longer ones are runaways."""
_MAX_INNER_QUOTES = 32
"""Unescaped ones in one item."""

_NAMED_LIST = re.compile(rf"(?:([\"'])|(?<!\w))(?:{'|'.join(KEYS)})(?(1)\1)\s*+[:=]\s*+\[")
_BARE_LIST = re.compile(r"(?<!\w)\[\s*+(?=[\"'])")
_UNDER_A_KEY = re.compile(r"(?:[\"']\s*+:|\[)\s*+\Z")
_CUT_BEFORE_LIST = re.compile(r"(?:```\w*+\s*+)?[\[{]\s*+(?:[\"'][\w ]{0,40}+(?:[\"']\s*+(?::\s*+)?)?)?")
_LOOKS_CLOSED = ("}", "]", ")", "```")

_SPACE = re.compile(r"\s*+")
_COMMA = re.compile(r"\s*+,?+")
_TO_QUOTE = {quote: re.compile(rf"(?:[^{quote}\\]++|\\.)*+{quote}", re.DOTALL) for quote in "\"'"}
_LIST_ENDS = r"\](?=\s*+(?:[\]};.)`]|,\s*+(?:[\"'}]|\Z)|\Z)|[^\S\n]*+\n)"
"""Not one inside an item such as `raku [western] kiln`."""
_CLOSES = {
    (quote, either): re.compile(rf"\s*+(?:({_LIST_ENDS}|,\s*+[{quote}{other if either else ''}\]])|,?+\s*+\Z)")
    for quote, other in ("\"'", "'\"")
    for either in (False, True)
}
"""What follows a quote that closes an item. Group 1 is absent where the text ends first."""
_LOST_QUOTE = {q: re.compile(rf"[,:;\[\]{{}}{q}]\s*+{q}|{q}\s*+[,:;\[\]{{}}]") for q in "\"'"}
"""An inner quote beside punctuation of JSON: two items that run into each other for want of a quote or a comma."""
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|.|\Z)|"', re.DOTALL)

_REFUSAL = re.compile(
    r"[\s\"'*_>#]*+(?:i['’]?m (?:very |so |truly )?sorry|i am (?:very |so |truly )?sorry|sorry\b|(?:my )?apologies"
    r"|i apologi[sz]e|(?:unfortunately,? )?(?:i|we) (?:cannot|can['’]?t|can not|won['’]t|will not|must decline"
    r"|(?:am|are) (?:unable|not able)|(?:do|am) not feel comfortable|refuse)\b|i['’]m (?:unable|not able|afraid i)\b"
    r"|as an ai\b)",
    re.IGNORECASE,
)


class End(Enum):
    """How a list of a reply ends, or why there is none."""

    COMPLETE = auto()
    OPEN = auto()
    """The text ends inside the list, or where it should begin."""
    BROKEN = auto()
    """The list goes on in no known way."""
    ENDLESS = auto()
    FOREIGN = auto()
    """Valid JSON without phrases."""
    REFUSAL = auto()
    ABSENT = auto()


class Listed(NamedTuple):
    """Items as they stand; None is one that is no text. `open_item` is the string in which the text ends, `salvaged`
    whether the items are of no valid JSON."""

    items: Sequence[object]
    end: End
    open_item: str = ""
    salvaged: bool = False


def salvage(text: str) -> Listed:
    """The list under a usual key, or the first bare list, item by item; it is never FOREIGN.

    A text that begins as a refusal does is believed to be one, unless a list closed in it.
    """
    opened = None if text.lstrip().startswith("[") and _first_bare(text) else _NAMED_LIST.search(text)
    opened = opened or _first_bare(text)
    listed = None if opened is None else _scan(text, opened.end(), "'" in opened[0])
    if (listed is None or listed.end is not End.COMPLETE) and _REFUSAL.match(text):
        return Listed((), End.REFUSAL)
    if listed is not None:
        return listed._replace(salvaged=True)
    return Listed((), End.OPEN if _CUT_BEFORE_LIST.fullmatch(text.strip()) else End.ABSENT)


def under_a_key(text: str, at: int) -> bool:
    """Whether the list that opens at `at` is the value of a quoted key, or an item of another list."""
    return _UNDER_A_KEY.search(text, max(0, at - 40), at) is not None


def unescape(raw: str) -> str:
    """The text of a JSON string without its quotes, inner quotes and unknown escapes as they stand."""
    return DECODER.decode(f'"{_ESCAPE.sub(_mend, raw)}"') if "\\" in raw else raw


def _mend(escape: re.Match[str]) -> str:
    text = escape[0]
    if escape[1]:
        return text
    return {'"': '\\"', "\\'": "'"}.get(text, f"\\{text}")


def _first_bare(text: str) -> re.Match[str] | None:
    for opened, _ in zip(_BARE_LIST.finditer(text), range(MAX_STARTS), strict=False):
        if not under_a_key(text, opened.start()):
            return opened
    return None


def _scan(text: str, at: int, either_quote: bool) -> Listed:
    """The items of the list that was opened before `at`.

    A quote closes an item only before a `]` that ends the list, or before a comma and then an opening quote, `]` or the
    end of the text; other quotes belong to the item. Where the text ends right after it, a quote closes only if it is a
    double one (a single one may be an apostrophe) and no item so far held an inner one. `either_quote`: the list may
    mix both kinds, as Python writes it.
    """
    items: list[object] = []
    repaired = False
    while len(items) < _MAX_ITEMS:
        at = _skip(_SPACE, text, at)
        quote = text[at : at + 1]
        if quote == "]":
            return Listed(items, End.COMPLETE)
        if not quote:
            return Listed(items, End.OPEN)
        if quote not in _TO_QUOTE:
            return Listed(items, End.BROKEN)
        either_quote = either_quote or quote == "'"
        closed, inner = _close(text, at, quote, either_quote, repaired)
        if closed is None:
            broken = inner and text.rstrip().endswith(_LOOKS_CLOSED)
            return Listed(items, End.BROKEN if broken else End.OPEN, text[at + 1 :])
        raw = text[at + 1 : closed - 1]
        repaired = repaired or inner > 0
        items.append(None if inner and _LOST_QUOTE[quote].search(raw) else unescape(raw))
        at = _skip(_COMMA, text, closed)
    return Listed(items, End.ENDLESS)


def _close(text: str, at: int, quote: str, either_quote: bool, repaired: bool) -> tuple[int | None, int]:
    """The place after the quote that closes the item opened at `at`, or None; and how many inner quotes came before."""
    to_quote, closes = _TO_QUOTE[quote], _CLOSES[quote, either_quote]
    at += 1
    for inner in range(_MAX_INNER_QUOTES + 1):
        found = to_quote.match(text, at)
        if found is None:
            return None, inner
        at = found.end()
        after = closes.match(text, at)
        if after is not None:
            certain = after[1] is not None or (quote == '"' and not repaired and not inner)
            return at if certain else None, inner
    return None, _MAX_INNER_QUOTES


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()
