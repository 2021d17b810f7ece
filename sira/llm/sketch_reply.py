"""From the text of a reply to a sketch with roles: strict JSON first, then only what is there in full.

The form is that of `sira.llm.schema.sketch_schema`. A reply that only lists strings is read by `parse_phrases`, so that
a model which does not keep to the form still gives its phrases. Half an item is left out: a constraint cut short would
hide documents. Running time is linear in the text, and nothing is raised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from sira.errors import InputError
from sira.llm.base import Finish
from sira.llm.parsing import ReplyLimits, parse_phrases, runs_away, select, status_of
from sira.llm.salvage import DECODER, End, Listed
from sira.llm.schema import ROLES
from sira.llm.thinking import answer
from sira.records import Role, SketchPhrase, Status

MAX_WEIGHT = 10.0
"""A model's weight multiplies lambda; above this one phrase would outweigh the topic itself."""

_MEMBERS = ("phrases", "facets", "searches")
_MAX_CHARACTERS = 1_000_000
_MAX_ITEMS = 10_000
_PHRASES = re.compile(r'"phrases"\s*+:\s*+\[\s*+(?=\{)')
_NEXT = re.compile(r'\s*+,\s*+"(facets|searches)"\s*+:\s*+\[')
_SPACE = re.compile(r"\s*+")
_OPEN_TEXT = re.compile(r'(?:\{\s*+"text"\s*+:\s*+)?"((?:[^"\\]++|\\.)*+)\\?\Z', re.DOTALL)
_AFTER_ITEM = re.compile(r"\s*+(?:,|(?=\])|\Z)")


@dataclass(frozen=True, slots=True)
class SketchLimits:
    """The bounds of one sketch: `phrases` holds for each search as well; 0 facets or searches: none are read."""

    phrases: ReplyLimits
    max_facets: int = 0
    max_searches: int = 0

    def __post_init__(self) -> None:
        if self.max_facets < 0 or self.max_searches < 0:
            given = f"max_facets = {self.max_facets}, max_searches = {self.max_searches}"
            raise InputError(f"limits of a sketch: {given}: both count from 0")


@dataclass(frozen=True, slots=True)
class ParsedSketch:
    """What one reply proposes, in its order; never more than the limits.

    `dropped` counts items by reason, without zeros: those of `Parsed`, `bad_facet` (no `field:value`) and
    `empty_search`. Of a phrase that stays it counts what was mended: `bad_role` (none of the three: should),
    `bad_weight` (no finite number: none), `clipped_weight` (outside [0, 10]).
    """

    status: Status
    phrases: tuple[SketchPhrase, ...] = ()
    facets: tuple[str, ...] = ()
    searches: tuple[tuple[SketchPhrase, ...], ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    salvaged: bool = False


class _Found(NamedTuple):
    """The members of a reply as they stand; `end` and `open_item` are those of the list that the text ends in."""

    phrases: Sequence[object]
    facets: Sequence[object] = ()
    searches: Sequence[object] = ()
    end: End = End.COMPLETE
    open_item: str = ""
    salvaged: bool = False


def parse_sketch(text: str, finish: Finish, limits: SketchLimits) -> ParsedSketch:
    """The sketch in a reply, and what became of it; statuses as of `parse_phrases`."""
    found = _read(text) if finish in (Finish.STOP, Finish.LENGTH) else None
    if found is None:
        plain = parse_phrases(text, finish, limits.phrases)
        phrases = tuple(SketchPhrase(phrase) for phrase in plain.phrases)
        return ParsedSketch(plain.status, phrases, dropped=plain.dropped, salvaged=plain.salvaged)
    dropped: Counter[str] = Counter()
    phrases = _phrases(found.phrases, limits.phrases, dropped)
    not_text = dropped["not_text"]
    facets = _facets(found.facets, limits, dropped)
    searches = _searches(found.searches, limits, dropped)
    listed = Listed([_text_of(item) for item in found.phrases], found.end, found.open_item, found.salvaged)
    at_limit = finish is Finish.LENGTH
    if runs_away(text, at_limit, limits.phrases, listed):
        status = Status.RUNAWAY
    else:
        status = status_of(listed, at_limit, bool(phrases or facets or searches), not_text)
    return ParsedSketch(status, phrases, facets, searches, dict(dropped), found.salvaged)


def _phrases(items: Sequence[object], limits: ReplyLimits, dropped: Counter[str]) -> tuple[SketchPhrase, ...]:
    kept: list[SketchPhrase] = []
    for item in items:
        texts, reasons = select([_text_of(item)], limits)
        if texts and len(kept) == limits.max_phrases:
            texts, reasons = (), {"over_quota": 1}
        dropped.update(reasons)
        if texts:
            fields = cast("dict[str, object]", item) if isinstance(item, dict) else {}
            weight = _weight(fields.get("weight"), dropped)
            kept.append(SketchPhrase(texts[0], _role(fields.get("role", "should"), dropped), weight))
    return tuple(kept)


def _text_of(item: object) -> object:
    return cast("dict[str, object]", item).get("text") if isinstance(item, dict) else item


def _role(role: object, dropped: Counter[str]) -> Role:
    if isinstance(role, str) and role in ROLES:
        return cast("Role", role)
    dropped["bad_role"] += 1
    return "should"


def _weight(weight: object, dropped: Counter[str]) -> float | None:
    if weight is None:
        return None
    if isinstance(weight, bool) or not isinstance(weight, int | float) or weight != weight:  # noqa: PLR0124 - nan
        dropped["bad_weight"] += 1
        return None
    clipped = max(0.0, min(MAX_WEIGHT, weight))  # before float(), which refuses the largest integers
    if clipped != weight:
        dropped["clipped_weight"] += 1
    return float(clipped)


def _facets(items: Sequence[object], limits: SketchLimits, dropped: Counter[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for item in items if limits.max_facets else ():
        texts, reasons = select([item], limits.phrases)
        name, colon, value = texts[0].partition(":") if texts else ("", "", "")
        if texts and not (name and colon and value):
            reasons = {"bad_facet": 1}
        elif texts and len(kept) == limits.max_facets:
            reasons = {"over_quota": 1}
        elif texts:
            kept.append(texts[0])
        dropped.update(reasons)
    return tuple(kept)


def _searches(
    items: Sequence[object], limits: SketchLimits, dropped: Counter[str]
) -> tuple[tuple[SketchPhrase, ...], ...]:
    kept: list[tuple[SketchPhrase, ...]] = []
    for item in items if limits.max_searches else ():
        listed = cast("dict[str, object]", item).get("phrases") if isinstance(item, dict) else item
        if not isinstance(listed, list):
            dropped["not_text"] += 1
        elif len(kept) == limits.max_searches:
            dropped["over_quota"] += 1
        elif phrases := _phrases(cast("list[object]", listed), limits.phrases, dropped):
            kept.append(phrases)
        else:
            dropped["empty_search"] += 1
    return tuple(kept)


def _read(text: str) -> _Found | None:
    """The members of the first object of the form; None where `parse_phrases` has to look at the text."""
    whole = _whole(text)
    if whole is not None:
        return whole
    said = answer(text)
    if said is None:
        return None
    said = said[:_MAX_CHARACTERS]
    whole = None if said == text else _whole(said)
    opened = None if whole is not None else _PHRASES.search(said)
    return whole if opened is None else _salvaged(said, opened.end())


def _whole(text: str) -> _Found | None:
    """The members of a text that is one JSON object with a list of phrases."""
    text = text.strip().removeprefix("\ufeff")
    if not text.startswith("{"):
        return None
    try:
        value, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    members = cast("dict[str, object]", value)
    if end < len(text) or not any(isinstance(members.get(name), list) for name in _MEMBERS):
        return None
    phrases, facets, searches = (_list_of(members, name) for name in _MEMBERS)
    return _Found(phrases, facets, searches)


def _list_of(members: Mapping[str, object], name: str) -> Sequence[object]:
    value = members.get(name)
    return cast("list[object]", value) if isinstance(value, list) else ()


def _salvaged(text: str, at: int) -> _Found:
    """The complete items of the lists from `at` on, inside prose or a reply that breaks off."""
    phrases, at, end, open_item = _scan(text, at)
    lists: dict[str, list[object]] = {}
    while end is End.COMPLETE and (named := _NEXT.match(text, at)) is not None and named[1] not in lists:
        lists[named[1]], at, end, open_item = _scan(text, named.end())
    after = _skip(text, at)
    closed = end is End.COMPLETE and text.startswith("}", after)
    if end is End.COMPLETE and after >= len(text):
        end = End.OPEN
    return _Found(phrases, lists.get("facets", ()), lists.get("searches", ()), end, open_item, salvaged=not closed)


def _scan(text: str, at: int) -> tuple[list[object], int, End, str]:
    """The items of the list that was opened before `at`; the place behind it; how it ends, and the text it ends in.

    An item counts where a comma, the list's end or the text's follows it.
    """
    items: list[object] = []
    while len(items) < _MAX_ITEMS:
        at = _skip(text, at)
        if at >= len(text):
            return items, at, End.OPEN, ""
        if text[at] == "]":
            return items, at + 1, End.COMPLETE, ""
        try:
            item, behind = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            opened = _OPEN_TEXT.match(text, at)
            return items, at, End.OPEN if _is_open(text, at) else End.BROKEN, "" if opened is None else opened[1]
        after = _AFTER_ITEM.match(text, behind)
        if after is None:
            return items, at, End.BROKEN, ""
        items.append(item)
        at = after.end()
    return items, at, End.ENDLESS, ""


def _is_open(text: str, at: int) -> bool:
    """Whether the item that begins at `at` is cut off by the end of the text: nothing behind it closes a reply."""
    return not text[at:].rstrip().endswith(("}", "]", "```"))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
