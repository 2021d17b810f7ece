"""From the text of a reply to its phrases: strict JSON first, then only the items that are there in full.

Half an item would become a false posting, so whatever could be one is left out. In this order:

1. A reply that is JSON as a whole is read as it stands. Nothing was thought around it, whatever its phrases quote.
2. Thinking is cut: what follows the last end of a think block counts, and nothing where a block stays open. A damaged
   reply whose phrases quote such a mark loses by it.
3. JSON inside prose or fences: the first object with one of the usual keys, else an object with exactly one list of
   strings, else a list of strings. The first, because what follows an answer is more often about another document.
4. Salvage of the list under such a key, or of a bare list, item by item.

A list that closed is `ok` even where the model went on to its limit of tokens: nothing is missing. Running time is
linear in the text, and nothing is raised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple, cast

from sira.errors import InputError
from sira.llm.base import Finish
from sira.records import Status

KEYS = ("phrases", "keywords", "search_phrases")

_DECODER = json.JSONDecoder(strict=False)  # xgrammar lets raw control characters into strings
_MAX_STARTS = 100
"""Places where JSON is looked for in prose, and lists for salvage: bounds the time on texts of brackets alone."""
_MAX_CHARACTERS = 1_000_000
"""Of an answer that is not JSON as a whole; what stands beyond is not read."""
_MAX_ITEMS = 10_000
"""Of a list that is no valid JSON; longer ones are runaways."""
_MAX_INNER_QUOTES = 32
"""Unescaped ones in one item."""
_ESCAPED_LENGTH = 12
"""Characters of JSON for one of text, at most: an escaped pair of surrogates."""
_TAIL, _LOOP, _REPEATS = 2_000, 100, 4
"""A loop fills at least the last 100 characters with at least four repeats; looked for in the last 2,000."""
_MANY = 4
"""Times the phrases asked for: a list that long, most of it repeats, is a runaway even where it ends."""
_LOOPING_ITEMS = 10

_THINK_BEGINS = (
    "<think>", "<thinking>", "<thought>", "<reasoning>", "<seed:think>", "[think]", "◁think▷", "<|start_thinking|>",
    "<|channel|>analysis", "<|channel|>commentary",
)  # fmt: skip
_THINK_ENDS = (
    "</think>", "</thinking>", "</thought>", "</reasoning>", "</seed:think>", "[/think]", "◁/think▷",
    "<|end_thinking|>", "<|channel|>final",
)  # fmt: skip
"""In lower case: Qwen and DeepSeek, others by prompt, Seed, Mistral, Kimi, Command, gpt-oss (harmony)."""
_FINAL_HEADER = re.compile(r"[^{\[]{0,60}?<\|message\|>")
_BARE_HARMONY = re.compile(r'\s*+analysis(?=[A-Z"{\[*])')  # as it reads where special tokens are left out
_BARE_FINAL = "assistantfinal"

_START = re.compile(r'\{\s*+"|(?<!\w)\[\s*+["\]]')
_NAMED_LIST = re.compile(rf"(?:([\"'])|(?<!\w))(?:{'|'.join(KEYS)})(?(1)\1)\s*+[:=]\s*+\[")
_BARE_LIST = re.compile(r"(?<!\w)\[\s*+(?=[\"'])")
_UNDER_A_KEY = re.compile(r"(?:[\"']\s*+:|\[)\s*+\Z")
_CUT_BEFORE_LIST = re.compile(r"(?:```\w*+\s*+)?[\[{]\s*+(?:[\"'][\w ]{0,40}+(?:[\"']\s*+(?::\s*+)?)?)?")
_LOOKS_CLOSED = ("}", "]", ")", "```")

_SPACE = re.compile(r"\s*+")
_COMMA = re.compile(r"\s*+,?+")
_TO_QUOTE = {quote: re.compile(rf"(?:[^{quote}\\]++|\\.)*+{quote}", re.DOTALL) for quote in "\"'"}
_LIST_ENDS = r"\](?=\s*+(?:[\]};.)`]|,\s*+(?:[\"'}]|\Z)|\Z)|[^\S\n]*+\n)"
"""Not inside an item such as `raku [western] kiln`."""
_CLOSES = {
    (quote, either): re.compile(rf"\s*+(?:({_LIST_ENDS}|,\s*+[{quote}{other if either else ''}\]])|,?+\s*+\Z)")
    for quote, other in ("\"'", "'\"")
    for either in (False, True)
}
"""What follows a quote that closes an item. Group 1 is absent where the text ends first."""
_LOST_QUOTE = {q: re.compile(rf"[,:;\[\]{{}}{q}]\s*+{q}|{q}\s*+[,:;\[\]{{}}]") for q in "\"'"}
"""An inner quote beside punctuation of JSON: two items that run into each other for want of a quote or a comma."""
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|.|\Z)|"', re.DOTALL)

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")  # the others are white space
_REFUSAL = re.compile(
    r"[\s\"'*_>#]*+(?:i['’]?m (?:very |so |truly )?sorry|i am (?:very |so |truly )?sorry|sorry\b|(?:my )?apologies"
    r"|i apologi[sz]e|(?:unfortunately,? )?(?:i|we) (?:cannot|can['’]?t|can not|won['’]t|will not|must decline"
    r"|(?:am|are) (?:unable|not able)|(?:do|am) not feel comfortable|refuse)\b|i['’]m (?:unable|not able|afraid i)\b"
    r"|as an ai\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReplyLimits:
    """Most phrases of one reply, and most characters (code points) of one phrase. Raises InputError below 1."""

    max_phrases: int
    max_characters: int

    def __post_init__(self) -> None:
        if self.max_phrases < 1 or self.max_characters < 1:
            limits = f"max_phrases = {self.max_phrases}, max_characters = {self.max_characters}"
            raise InputError(f"limits of a reply: {limits}: both count from 1")


@dataclass(frozen=True, slots=True)
class Parsed:
    """The phrases of one reply, in its order; repeats are kept (the gate drops them).

    `dropped` counts items by reason, without zeros: `not_text` (no string, a lone surrogate, or two items run into each
    other), `empty` (blank), `over_long`, `over_quota`. `salvaged` says that the phrases are of no valid JSON.
    """

    status: Status
    phrases: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    salvaged: bool = False


class _End(Enum):
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


class _Listed(NamedTuple):
    """Items as they stand; None is one that is no text. `open_item` is the string in which the text ends."""

    items: Sequence[object]
    end: _End
    salvaged: bool = False
    open_item: str = ""


def parse_phrases(text: str, finish: Finish, limits: ReplyLimits) -> Parsed:
    """The phrases in a reply, and what became of it; of REFUSED, TOO_LONG and ERROR the text is not read.

    `truncated`: at the limit of tokens, or (finish STOP) where the text plainly ends inside the list. `runaway`: at the
    limit of tokens in white space, in a loop, or in a string above `max_characters`; also any list above four times
    `max_phrases` of which more than half repeats. Both keep their complete phrases.
    """
    if finish is not Finish.STOP and finish is not Finish.LENGTH:
        return Parsed(Status(finish.value))
    listed = _read(text)
    phrases, dropped = _select(listed.items, limits)
    at_limit = finish is Finish.LENGTH
    if _runs_away(text, at_limit, limits, listed):
        status = Status.RUNAWAY
    else:
        status = _status(listed, at_limit, bool(phrases), dropped.get("not_text", 0))
    return Parsed(status, phrases, dropped, listed.salvaged and bool(phrases))


def _select(items: Sequence[object], limits: ReplyLimits) -> tuple[tuple[str, ...], dict[str, int]]:
    kept: list[str] = []
    dropped: dict[str, int] = {}
    for item in items:
        if not isinstance(item, str):
            phrase = None
        elif "  " not in item and item.isprintable():
            phrase = item.strip()
        else:
            phrase = _clean(item)
        if phrase is None:
            reason = "not_text"
        elif not phrase:
            reason = "empty"
        elif len(phrase) > limits.max_characters:
            reason = "over_long"
        elif len(kept) == limits.max_phrases:
            reason = "over_quota"
        else:
            kept.append(phrase)
            continue
        dropped[reason] = dropped.get(reason, 0) + 1
    return tuple(kept), dropped


def _clean(item: str) -> str | None:
    """White space as single blanks, no control characters; None for a text that UTF-8 cannot hold."""
    if not item.isprintable():
        if _SURROGATE.search(item):
            return None
        item = _CONTROL.sub("", item)
    return " ".join(item.split())


def _status(listed: _Listed, at_limit: bool, any_phrase: bool, not_text: int) -> Status:
    match listed.end:
        case _End.COMPLETE:
            if any_phrase:
                return Status.OK
            return Status.UNPARSABLE if 0 < len(listed.items) == not_text else Status.EMPTY
        case _End.REFUSAL:
            return Status.REFUSED
        case _End.FOREIGN:
            return Status.UNPARSABLE
        case end:
            if at_limit or end is _End.OPEN:
                return Status.TRUNCATED
            return Status.OK if any_phrase else Status.UNPARSABLE


def _runs_away(text: str, at_limit: bool, limits: ReplyLimits, listed: _Listed) -> bool:
    items = listed.items
    if listed.end is _End.ENDLESS or (len(items) > _MANY * limits.max_phrases and _mostly_repeats(items)):
        return True
    if not at_limit:
        return False
    tail = text[-_TAIL:]
    if len(tail) - len(tail.rstrip()) >= _LOOP:
        return True
    if listed.open_item:
        begun = _clean(_unescape(listed.open_item[: _ESCAPED_LENGTH * (limits.max_characters + 1)]))
        if begun is not None and len(begun) > limits.max_characters:
            return True
    if listed.end is _End.OPEN and len(items) >= _LOOPING_ITEMS and _mostly_repeats(items):
        return True
    return _loops(tail)


def _mostly_repeats(items: Sequence[object]) -> bool:
    texts = [item for item in items if isinstance(item, str)]
    return 2 * len(set(texts)) < len(texts)


def _loops(tail: str) -> bool:
    """Whether an end of the tail repeats one segment: the periods of all ends, by the failure function of Knuth, Morris
    and Pratt."""
    back = tail[::-1]
    borders, border = [0], 0
    for at in range(1, len(back)):
        while border and back[at] != back[border]:
            border = borders[border - 1]
        border += back[at] == back[border]
        borders.append(border)
        size = at + 1
        if size >= _LOOP and size >= _REPEATS * (size - border):
            return True
    return False


def _read(text: str) -> _Listed:
    whole = _whole(text)
    if whole is None:
        answer = _answer(text)
        if answer is None:
            return _Listed((), _End.ABSENT)
        whole = None if answer is text else _whole(answer)
        if whole is None:
            embedded = _embedded(answer)
            return _salvage(answer) if embedded is None else _Listed(embedded, _End.COMPLETE)
    return whole


def _whole(text: str) -> _Listed | None:
    """The list in a text that is JSON as a whole; None where it is not."""
    text = text.strip().removeprefix("\ufeff")
    if not text.startswith(("{", "[")):
        return None
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):  # ValueError also for a number of more digits than Python converts
        return None
    if end < len(text):
        return None
    items = _phrases_of(value)
    return _Listed((), _End.FOREIGN) if items is None else _Listed(items, _End.COMPLETE)


def _phrases_of(value: object) -> list[object] | None:
    """The list of phrases in a JSON value; a list of one object stands for that object."""
    if isinstance(value, list):
        values = cast("list[object]", value)
        if len(values) != 1 or not isinstance(values[0], dict):
            return values if not values or any(isinstance(item, str) for item in values) else None
        (value,) = values
    if not isinstance(value, dict):
        return None
    members = cast("dict[str, object]", value)
    named = _named(members)
    if named is not None:
        return named
    lists = [cast("list[object]", member) for member in members.values() if isinstance(member, list)]
    lists = [items for items in lists if all(isinstance(item, str) for item in items)]
    lists = [items for items in lists if items] or lists
    return lists[0] if len(lists) == 1 else None


def _named(members: Mapping[str, object]) -> list[object] | None:
    for key in KEYS:
        items = members.get(key)
        if isinstance(items, list):
            return cast("list[object]", items)
    return None


def _answer(text: str) -> str | None:
    """What follows the thinking, the text itself where there is none; None where the thinking does not end."""
    lowered = text.replace("İ", "i").lower()  # the one letter whose lower case is longer
    begins, ends = _THINK_BEGINS, _THINK_ENDS
    if _BARE_HARMONY.match(text):
        begins, ends = (*begins, "analysis"), (*ends, _BARE_FINAL)
    end = max(at + len(mark) if (at := lowered.rfind(mark)) >= 0 else 0 for mark in ends)
    if any(lowered.find(mark, end) >= 0 for mark in begins):
        return None
    answer = text[_skip(_FINAL_HEADER, text, end) if end else 0 :]
    # A mark after the cut, since a quote may close an item by being the last character.
    return answer if len(answer) <= _MAX_CHARACTERS else answer[:_MAX_CHARACTERS] + "\0"


def _embedded(text: str) -> list[object] | None:
    """The list in a JSON value inside prose.

    After JSON that broke off, only an object with a usual key is believed: other lists may be parts of the broken one.
    """
    objects: list[list[object]] = []
    lists: list[list[object]] = []
    at, work, broken = 0, 4 * len(text), False
    for _ in range(_MAX_STARTS):
        start = _START.search(text, at)
        if start is None or work < 0:
            break
        try:
            value, at = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            at, broken = start.start() + 1, True
            work -= error.pos - start.start()
            continue
        except (ValueError, RecursionError):
            return None
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            named = _named(members)
            if named is not None:
                return named
            items, kind = _phrases_of(members), objects
        else:
            items, kind = None if _under_a_key(text, start.start()) else _phrases_of(value), lists
        if items is not None and not broken:
            kind.append(items)
    lists.sort(key=lambda items: not items)
    return next(iter(objects + lists), None)


def _under_a_key(text: str, at: int) -> bool:
    """Whether the list that opens at `at` is the value of a quoted key, or an item of another list."""
    return _UNDER_A_KEY.search(text, max(0, at - 40), at) is not None


def _salvage(text: str) -> _Listed:
    opened = None if text.lstrip().startswith("[") and _first_bare(text) else _NAMED_LIST.search(text)
    opened = opened or _first_bare(text)
    listed = None if opened is None else _scan(text, opened.end(), "'" in opened[0])
    if (listed is None or listed.end is not _End.COMPLETE) and _REFUSAL.match(text):
        return _Listed((), _End.REFUSAL)
    if listed is not None:
        return listed
    return _Listed((), _End.OPEN if _CUT_BEFORE_LIST.fullmatch(text.strip()) else _End.ABSENT)


def _first_bare(text: str) -> re.Match[str] | None:
    for opened, _ in zip(_BARE_LIST.finditer(text), range(_MAX_STARTS), strict=False):
        if not _under_a_key(text, opened.start()):
            return opened
    return None


def _scan(text: str, at: int, either_quote: bool) -> _Listed:
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
            return _Listed(items, _End.COMPLETE, True)
        if not quote:
            return _Listed(items, _End.OPEN, True)
        if quote not in _TO_QUOTE:
            return _Listed(items, _End.BROKEN, True)
        either_quote = either_quote or quote == "'"
        closed, inner = _close(text, at, quote, either_quote, repaired)
        if closed is None:
            broken = inner and text.rstrip().endswith(_LOOKS_CLOSED)
            return _Listed(items, _End.BROKEN if broken else _End.OPEN, True, text[at + 1 :])
        raw = text[at + 1 : closed - 1]
        repaired = repaired or inner > 0
        items.append(None if inner and _LOST_QUOTE[quote].search(raw) else _unescape(raw))
        at = _skip(_COMMA, text, closed)
    return _Listed(items, _End.ENDLESS, True)


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


def _unescape(raw: str) -> str:
    """The text of a JSON string without its quotes, inner quotes and unknown escapes as they stand."""
    return _DECODER.decode(f'"{_ESCAPE.sub(_mend, raw)}"') if "\\" in raw else raw


def _mend(escape: re.Match[str]) -> str:
    text = escape[0]
    if escape[1]:
        return text
    return {'"': '\\"', "\\'": "'"}.get(text, f"\\{text}")
