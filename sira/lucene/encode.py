"""A program as the bytes that Engine.search reads."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping

from sira.errors import ProgramError
from sira.lucene.values import LONG_MAX, LONG_MIN, to_number, value_types
from sira.program import AnyOfClause, Clause, FacetClause, PhraseClause, Program, RangeClause, Scoring, TermClause

_OCCUR = {"should": b"?", "must": b"+", "must_not": b"-", "filter": b"#"}
_INT = struct.Struct("<i")
_DOUBLE = struct.Struct("<d")
_SCORING = struct.Struct("<dddd")


MAX_K1 = 1e30
MAX_FIELD_WEIGHT = 1e4
MIN_FIELD_WEIGHT = 1e-4


def encode_program(program: Program, value_fields: Mapping[str, str], *, positions: bool = True) -> bytes:
    """Raises ProgramError for what this index cannot run: a range on a field that it does not have or on a value that
    cannot be read, a phrase where it holds no positions, a parameter beyond Lucene's 32-bit numbers.
    """
    scoring = program.scoring
    _check_scoring(scoring)
    if not positions and any(isinstance(clause, PhraseClause) for clause in program.clauses):
        raise ProgramError("a phrase clause needs positions, which this index does not hold: search the single words")
    parts = [
        b"f" if scoring.combine == "bm25f" else b"s",
        _SCORING.pack(scoring.k1, scoring.b, scoring.contents_weight, scoring.expansion_weight),
        _INT.pack(len(program.clauses)),
    ]
    for clause in program.clauses:
        parts.append(_OCCUR[clause.occur])
        _encode(clause, value_fields, parts)
    return b"".join(parts)


def _check_scoring(scoring: Scoring) -> None:
    """Lucene adds weighted lengths as 32-bit integers: with field weights too far apart they would overflow unseen."""
    lowest = MIN_FIELD_WEIGHT if scoring.combine == "bm25f" else 0.0
    for name in ("contents_weight", "expansion_weight"):
        weight: float = getattr(scoring, name)
        if weight and not lowest <= weight <= MAX_FIELD_WEIGHT:
            raise ProgramError(f"{name} = {weight:g}: use 0 (drops the field) or {lowest:g} to {MAX_FIELD_WEIGHT:g}")
    if scoring.k1 > MAX_K1:
        raise ProgramError(f"k1 = {scoring.k1:g}: the largest is {MAX_K1:g}")


def _encode(clause: Clause, value_fields: Mapping[str, str], parts: list[bytes]) -> None:
    weight = _DOUBLE.pack(clause.weight)
    match clause:
        case TermClause():
            parts += (b"t", weight, _string(clause.term))
        case PhraseClause():
            parts += (b"p", weight, _INT.pack(len(clause.terms)), *map(_string, clause.terms))
        case AnyOfClause():
            parts += (b"a", weight, _INT.pack(len(clause.terms)), *map(_string, clause.terms))
        case FacetClause():
            parts += (b"f", weight, _string(clause.facet))
        case RangeClause():
            kind, low, high = _bounds(clause, value_fields)
            code, pair = (
                (b"d", struct.pack("<dd", low, high)) if kind == "number" else (b"l", struct.pack("<qq", low, high))
            )
            parts += (code, weight, _string(clause.field), pair)


def _string(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ProgramError(f"{text!r} is no Unicode (a lone surrogate): no document can hold it") from None
    return _INT.pack(len(data)) + data


def _bounds(clause: RangeClause, value_fields: Mapping[str, str]) -> tuple[str, int | float, int | float]:
    kind = value_fields.get(clause.field)
    if kind is None:
        raise ProgramError(
            f"range on {clause.field!r}: the index has no such field; it has: {value_types(value_fields)}"
        )
    lowest, highest = (-math.inf, math.inf) if kind == "number" else (LONG_MIN, LONG_MAX)
    try:
        low = lowest if clause.gte is None else to_number(kind, clause.gte)
        high = highest if clause.lte is None else to_number(kind, clause.lte)
    except ValueError as error:
        raise ProgramError(f"range on {clause.field!r}: {error}") from None
    return kind, low, high
