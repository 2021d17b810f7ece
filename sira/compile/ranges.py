"""Proposed ranges, checked against the declared fields of the collection and against what the topic states."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from sira.compile.entries import Entry
from sira.compile.safety import Safety
from sira.compile.statistics import Statistics, ValueFields
from sira.program import RangeClause
from sira.records import Outcome, SketchRange, Topic, Verdict

Bound = int | float | str

_WHOLE_MAX = 2**63
_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.])\d+(?:\.\d+)?(?!\w)")
_DECADE = re.compile(r"(?<!\w)(\d{3}0)['’]?s(?!\w)")
_CENTURY = re.compile(r"(?<!\w)(\d{1,2})(?:st|nd|rd|th)[ -]century", re.IGNORECASE)
_BELOW = re.compile(r"(?<!\w)(?:before|below|under|less|fewer|earlier|older|prior)(?!\w)|<", re.IGNORECASE)
_ABOVE = re.compile(r"(?<!\w)(?:after|above|over|more|later|newer|younger)(?!\w)|>", re.IGNORECASE)
"""How an English topic excludes the number that it names: after 2000 begins with 2001."""


def range_entries(
    topic: Topic, ranges: Sequence[SketchRange], statistics: Statistics, weight: float, *, safety: Safety
) -> list[Entry]:
    """The entries of the ranges, in their order.

    `invalid`: the field is not declared in the collection, a bound is not of its type, or the bounds are in the wrong
    order. A filter of a model whose bounds the topic does not state, or which looks the other way than the topic, is
    `untraceable` and stands as `should`: it prefers what it would have shown alone.
    """
    fields: Mapping[str, str] = statistics.value_fields if isinstance(statistics, ValueFields) else {}
    entries: list[Entry] = []
    seen: set[SketchRange] = set()
    for item in ranges:
        if not safety.trusted and item.role == "filter" and not _traced(topic.text, item):
            entries.append(Entry(Verdict(item.label, item.label, Outcome.UNTRACEABLE)))
            item = replace(item, role="should")
        if item in seen:
            entries.append(Entry(Verdict(item.label, item.label, Outcome.DUPLICATE)))
        else:
            entries.append(_entry(item, topic, fields, 1.0 if item.role == "filter" else weight, safety))
        seen.add(item)
    return entries


def _entry(item: SketchRange, topic: Topic, fields: Mapping[str, str], weight: float, safety: Safety) -> Entry:
    label = item.label
    fault = range_fault(item, fields)
    if fault is not None:
        reason, suggestion = fault
        return Entry(Verdict(label, label, Outcome.INVALID, reason=reason, suggestion=suggestion))
    refused = safety.forbidden(label)
    if refused is None and item.role == "should" and safety.answer_guesses and not states(topic.text, item):
        refused = Outcome.ANSWER_GUESS, ", ".join(str(bound) for bound in (item.gte, item.lte) if bound is not None)
    if refused is not None:
        outcome, reason = refused
        return Entry(Verdict(label, label, outcome, reason=reason))
    clause = RangeClause(item.field, item.gte, item.lte, weight, item.role, label)
    return Entry(Verdict(label, label, Outcome.KEPT, None, weight), (clause,) if weight else ())


def range_fault(item: SketchRange, fields: Mapping[str, str]) -> tuple[str, str | None] | None:
    """(what is wrong, what would do where that is plain), or None where the collection can run the range."""
    kind = fields.get(item.field)
    if kind is None:
        near = {name.casefold(): name for name in fields}
        found = get_close_matches(item.field.casefold()[:100], near, 1)
        declared = ", ".join(f"{name}:{of}" for name, of in fields.items()) or "none"
        suggestion = replace(item, field=near[found[0]]).label if found else None
        return f"no such field; declared: {declared}", suggestion
    low, high = (None if bound is None else _value(kind, bound) for bound in (item.gte, item.lte))
    for bound, value in ((item.gte, low), (item.lte, high)):
        if bound is not None and value is None:
            return f"{str(bound)[:40]!r} is no {kind}", _mended(item, kind)
    if low is not None and high is not None and low > high:
        return "the lower bound is above the upper", replace(item, gte=item.lte, lte=item.gte).label
    return None


def _value(kind: str, bound: Bound) -> int | float | None:
    """A bound as the index compares it (dates: seconds); None where it is none of this kind."""
    try:
        if kind == "date":
            if not isinstance(bound, str):
                return None
            moment = dt.datetime.fromisoformat(bound)
            return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
        number = float(bound)
        if not math.isfinite(number):
            return None
        if kind == "number":
            return number
        whole = int(bound)
        return whole if number == number // 1 and -_WHOLE_MAX <= whole < _WHOLE_MAX else None
    except (ValueError, OverflowError):
        return None


def _mended(item: SketchRange, kind: str) -> str | None:
    """A range of years, for a field of dates, in dates."""
    if kind != "date":
        return None
    years = [None if bound is None else str(bound) for bound in (item.gte, item.lte)]
    if not all(year is None or re.fullmatch(r"\d{4}", year, re.ASCII) for year in years):
        return None
    low, high = years
    gte, lte = low and f"{low}-01-01", high and f"{high}-12-31"
    return replace(item, gte=gte, lte=lte).label


def _traced(topic: str, item: SketchRange) -> bool:
    """Whether a topic states the range; not what lies from 2000 on where it says `before 2000` alone."""
    above, below = _ABOVE.search(topic), _BELOW.search(topic)
    turned = (item.lte is None and below and not above) or (item.gte is None and above and not below)
    return not turned and states(topic, item)


def states(topic: str, item: SketchRange) -> bool:
    """Whether a topic states the bounds of a range: their numbers, the ends of its decades and centuries, or, of a
    date, the date as it stands or the year whose first or last day it is. `after 2000` states 2001 as a lower bound,
    `before 2000` 1999 as an upper one."""
    said = _numbers(topic)
    above = {number + 1 for number in said} if _ABOVE.search(topic) else set[float]()
    below = {number - 1 for number in said} if _BELOW.search(topic) else set[float]()
    return all(
        bound is None or _stated(bound, said | nearby, topic)
        for bound, nearby in ((item.gte, above), (item.lte, below))
    )


def _stated(bound: Bound, said: set[float], topic: str) -> bool:
    if isinstance(bound, str):
        if re.search(rf"(?<![\w-]){re.escape(bound)}(?![\w-])", topic):
            return True
        edge = re.fullmatch(r"(\d{4})(?:-01-01|-12-31)(?:T.*)?", bound, re.ASCII)
        year = edge[1] if edge else bound
        return bool(re.fullmatch(r"-?\d{1,19}(?:\.\d{1,19})?", year, re.ASCII)) and float(year) in said
    try:
        return float(bound) in said
    except OverflowError:
        return False


def _numbers(topic: str) -> set[float]:
    """The numbers that a text states, and the first and last years of its decades and centuries."""
    said = {float(match.group().replace(",", "")) for match in _NUMBER.finditer(topic)}
    for match in _DECADE.finditer(topic):
        said |= {float(match[1]), float(match[1]) + 9}
    for match in _CENTURY.finditer(topic):
        last = 100.0 * int(match[1])
        said |= {last - 100, last - 99, last - 1, last}
    return said
