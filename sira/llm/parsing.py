"""From the text of a reply to its phrases: strict JSON first, then only the items that are there in full.

Half an item would become a false posting, so whatever could be one is left out. In this order:

1. A reply that is JSON as a whole is read as it stands. Nothing was thought around it, whatever its phrases quote.
2. Thinking is cut (sira.llm.thinking). A damaged reply whose phrases quote one of its marks loses by it.
3. JSON inside prose or fences: the first object with one of the usual keys, else an object with exactly one list of
   strings, else a list of strings. The first, because what follows an answer is more often about another document.
4. Salvage (sira.llm.salvage) of the list under such a key, or of a bare list, item by item.

A list that closed is `ok` even where the model went on to its limit of tokens: nothing is missing. Running time is
linear in the text, and nothing is raised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from sira.errors import InputError
from sira.llm.base import Finish
from sira.llm.salvage import DECODER, KEYS, MAX_STARTS, End, Listed, salvage, under_a_key, unescape
from sira.llm.thinking import answer
from sira.records import Status

SENTENCE_FACTOR = 2
"""A phrase of more than twice the words asked for is a sentence, or a rule of the prompt repeated."""

_MAX_CHARACTERS = 1_000_000
"""Of an answer that is not JSON as a whole; what stands beyond is not read."""
_ESCAPED_LENGTH = 12
"""Characters of JSON for one of text, at most: an escaped pair of surrogates."""
_TAIL, _LOOP, _REPEATS = 2_000, 100, 4
"""A loop fills at least the last 100 characters with at least four repeats; looked for in the last 2,000."""
_MANY = 4
"""Times the phrases asked for: a list that long, most of it repeats, is a runaway even where it ends."""
_LOOPING_ITEMS = 10

_START = re.compile(r'\{\s*+"|(?<!\w)\[\s*+["\]]')
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")  # the others are white space


@dataclass(frozen=True, slots=True)
class ReplyLimits:
    """Most phrases of one reply, and most characters (code points) and words (between blanks; None: any number) of one
    phrase. Raises InputError below 1."""

    max_phrases: int
    max_characters: int
    max_words: int | None = None

    def __post_init__(self) -> None:
        if self.max_phrases < 1 or self.max_characters < 1:
            limits = f"max_phrases = {self.max_phrases}, max_characters = {self.max_characters}"
            raise InputError(f"limits of a reply: {limits}: both count from 1")
        if self.max_words is not None and self.max_words < 1:
            raise InputError(f"limits of a reply: max_words = {self.max_words}: it counts from 1, None sets no limit")

    def admit(self, phrase: str) -> bool:
        """Whether a phrase with single blanks only is short enough."""
        few = self.max_words is None or phrase.count(" ") < self.max_words
        return few and len(phrase) <= self.max_characters


@dataclass(frozen=True, slots=True)
class Parsed:
    """The phrases of one reply, in its order; repeats are kept (the gate drops them).

    `dropped` counts items by reason, without zeros: `not_text` (no string, a lone surrogate, a replacement character,
    or two items run into each other), `empty` (blank), `over_long`, `over_quota`. `salvaged` says that the phrases are
    of no valid JSON.
    """

    status: Status
    phrases: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    salvaged: bool = False


def parse_phrases(text: str, finish: Finish, limits: ReplyLimits) -> Parsed:
    """The phrases in a reply, and what became of it; of REFUSED, TOO_LONG and ERROR the text is not read.

    `truncated`: at the limit of tokens, or (finish STOP) where the text plainly ends inside the list. `runaway`: at the
    limit of tokens in white space, in a loop, or in a string above `max_characters`; also any list above four times
    `max_phrases` of which more than half repeats. Both keep their complete phrases.
    """
    if finish is not Finish.STOP and finish is not Finish.LENGTH:
        return Parsed(Status(finish.value))
    listed = _read(text)
    phrases, dropped = select(listed.items, limits)
    at_limit = finish is Finish.LENGTH
    if runs_away(text, at_limit, limits, listed):
        status = Status.RUNAWAY
    else:
        status = status_of(listed, at_limit, bool(phrases), dropped.get("not_text", 0))
    return Parsed(status, phrases, dropped, listed.salvaged and bool(phrases))


def select(items: Sequence[object], limits: ReplyLimits) -> tuple[tuple[str, ...], dict[str, int]]:
    """The items that are phrases, cleaned, and the others counted by reason as in `Parsed`."""
    kept: list[str] = []
    dropped: dict[str, int] = {}
    for item in items:
        if not isinstance(item, str) or "\ufffd" in item:
            phrase = None
        elif "  " not in item and item.isprintable():
            phrase = item.strip()
        else:
            phrase = _clean(item)
        if phrase is None:
            reason = "not_text"
        elif not phrase:
            reason = "empty"
        elif not limits.admit(phrase):
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


def status_of(listed: Listed, at_limit: bool, any_phrase: bool, not_text: int) -> Status:
    """What became of a reply that does not run away, by how its list ends."""
    match listed.end:
        case End.COMPLETE:
            if any_phrase:
                return Status.OK
            return Status.UNPARSABLE if 0 < len(listed.items) == not_text else Status.EMPTY
        case End.REFUSAL:
            return Status.REFUSED
        case End.FOREIGN:
            return Status.UNPARSABLE
        case end:
            if at_limit or end is End.OPEN:
                return Status.TRUNCATED
            return Status.OK if any_phrase else Status.UNPARSABLE


def runs_away(text: str, at_limit: bool, limits: ReplyLimits, listed: Listed) -> bool:
    """Whether a reply is a runaway, as `parse_phrases` defines it; `text` is all of the reply."""
    items = listed.items
    if listed.end is End.ENDLESS or (len(items) > _MANY * limits.max_phrases and _mostly_repeats(items)):
        return True
    if not at_limit:
        return False
    tail = text[-_TAIL:]
    if len(tail) - len(tail.rstrip()) >= _LOOP:
        return True
    if listed.open_item:
        begun = _clean(unescape(listed.open_item[: _ESCAPED_LENGTH * (limits.max_characters + 1)]))
        if begun is not None and len(begun) > limits.max_characters:
            return True
    if listed.end is End.OPEN and len(items) >= _LOOPING_ITEMS and _mostly_repeats(items):
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


def _read(text: str) -> Listed:
    whole = _whole(text)
    if whole is None:
        said = answer(text)
        if said is None:
            return Listed((), End.ABSENT)
        if len(said) > _MAX_CHARACTERS:
            # A mark after the cut, since a quote may close an item by being the last character.
            said = said[:_MAX_CHARACTERS] + "\0"
        whole = None if said is text else _whole(said)
        if whole is None:
            embedded = _embedded(said)
            return salvage(said) if embedded is None else Listed(embedded, End.COMPLETE)
    return whole


def _whole(text: str) -> Listed | None:
    """The list in a text that is JSON as a whole; None where it is not."""
    text = text.strip().removeprefix("\ufeff")
    if not text.startswith(("{", "[")):
        return None
    try:
        value, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):  # ValueError also for a number of more digits than Python converts
        return None
    if end < len(text):
        return None
    items = _phrases_of(value)
    return Listed((), End.FOREIGN) if items is None else Listed(items, End.COMPLETE)


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


def _embedded(text: str) -> list[object] | None:
    """The list in a JSON value inside prose.

    After JSON that broke off, only an object with a usual key is believed: other lists may be parts of the broken one.
    """
    objects: list[list[object]] = []
    lists: list[list[object]] = []
    at, work, broken = 0, 4 * len(text), False
    for _ in range(MAX_STARTS):
        start = _START.search(text, at)
        if start is None or work < 0:
            break
        try:
            value, at = DECODER.raw_decode(text, start.start())
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
            items, kind = None if under_a_key(text, start.start()) else _phrases_of(value), lists
        if items is not None and not broken:
            kind.append(items)
    lists.sort(key=lambda items: not items)
    return next(iter(objects + lists), None)
