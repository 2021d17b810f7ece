"""Numeric and date fields: declared by name and type at index time, used by range clauses."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import Literal

from sira.errors import InputError

ValueType = Literal["integer", "number", "date"]
TYPES: tuple[ValueType, ...] = ("integer", "number", "date")
RESERVED = frozenset({"id", "contents", "expansion", "facet", "ord", "title", "text", "url", "raw"})

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


def parse_value_fields(declarations: Sequence[str]) -> dict[str, str]:
    """`["year:integer", "published:date"]` as a dictionary. Raises InputError naming the declaration."""
    fields: dict[str, str] = {}
    for declaration in declarations:
        name, _, kind = declaration.partition(":")
        if not name or kind not in TYPES:
            raise InputError(f"field {declaration!r}: write name:type with a type of {', '.join(TYPES)}")
        if name in RESERVED or name in fields:
            raise InputError(f"field {declaration!r}: the name is taken: choose another")
        fields[name] = kind
    return fields


def to_number(kind: str, value: object) -> int | float:
    """A value as the index holds it: an int64, a double, or milliseconds since 1970 UTC for a date.

    Raises ValueError saying what is wrong.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is no {kind}")
    if kind == "date":
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is no date: write YYYY-MM-DD")
        moment = dt.datetime.fromisoformat(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.UTC)
        return round((moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) / dt.timedelta(milliseconds=1))
    if kind == "number" or isinstance(value, float):
        try:
            number = float(value)
        except OverflowError:
            raise ValueError("the number is too large") from None
        if not math.isfinite(number):
            raise ValueError(f"{value!r} is not finite")
        if kind == "number":
            return number + 0.0  # -0.0 sorts before 0.0
        if not number.is_integer():
            raise ValueError(f"{value!r} is no whole number")
        value = number
    whole = int(value)  # an int or its digits: exact, where a float would round from 2**53
    if not LONG_MIN <= whole <= LONG_MAX:
        raise ValueError("the number does not fit into 64 bits")
    return whole


def value_types(fields: Mapping[str, str]) -> str:
    """The declared fields in words, for messages."""
    return ", ".join(f"{name}:{kind}" for name, kind in fields.items()) or "none"
