"""Programs: the typed, weighted query that the compiler emits and the index runs as one search.

A program says all that decides its ranking: clauses, weights, and how scores are computed. The same program on the
same index gives the same run, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, cast

from sira.errors import ProgramError
from sira.records import Verdict

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SCHEMA_VERSION = 1
MOST_FAULTS = 10_000
"""Of a program as JSON; beyond them none is told."""
MAX_WEIGHT = 1e30
"""Lucene's scores are 32-bit floats (up to 3.4e38): this leaves room for idf and for sums of thousands of clauses."""

Occur = Literal["should", "must", "must_not", "filter"]
Combine = Literal["bm25f", "sum"]


@dataclass(frozen=True, slots=True)
class Scoring:
    """How BM25 is computed (Lucene's form, without the factor k1 + 1).

    `combine` names how the fields `contents` and `expansion` join: `bm25f` adds their term frequencies and lengths
    before one BM25 (Lucene's CombinedFieldQuery, with the df of the union); `sum` adds two BM25 scores.
    `expansion_weight` is w_e >= 0 in both; 0 drops the field (rollback). `contents_weight` is the same for `contents`.
    """

    combine: Combine = "bm25f"
    k1: float = 0.9
    b: float = 0.4
    expansion_weight: float = 1.0
    contents_weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("k1", "expansion_weight", "contents_weight"):
            value = getattr(self, name)
            if not (isfinite(value) and value >= 0):
                raise ProgramError(f"{name} = {value}: it must be a finite number >= 0")
        if not 0 <= self.b <= 1:
            raise ProgramError(f"b = {self.b}: it must lie between 0 and 1")
        if self.combine not in ("bm25f", "sum"):
            raise ProgramError(f"combine = {self.combine!r}: choose 'bm25f' or 'sum'")


PROFILES: dict[str, Scoring] = {
    "anserini": Scoring(k1=0.9, b=0.4),
    "sira": Scoring(k1=1.5, b=0.75),
    "long": Scoring(k1=25.0, b=1.0),
}
"""Named (k1, b) pairs: Anserini's default, the SIRA paper's, and Pi-Serini's for long documents."""


def scoring_of(
    profile: str = "anserini",
    *,
    combine: Combine = "bm25f",
    k1: float | None = None,
    b: float | None = None,
    contents_weight: float = 1.0,
    expansion_weight: float = 1.0,
) -> Scoring:
    """A profile's scoring, with k1 and b in place of the profile's where they are given."""
    named = PROFILES[profile]
    return Scoring(
        combine=combine,
        k1=named.k1 if k1 is None else k1,
        b=named.b if b is None else b,
        contents_weight=contents_weight,
        expansion_weight=expansion_weight,
    )


def _check(label: str, weight: float, occur: str) -> None:
    if isinstance(weight, bool) or not isfinite(weight):
        raise ProgramError(f"clause {label!r} has the weight {weight}: weights must be finite numbers")
    if weight < 0:
        raise ProgramError(
            f"clause {label!r} has the weight {weight}: weights must be >= 0; to exclude documents use must_not"
        )
    if weight > MAX_WEIGHT:
        raise ProgramError(
            f"clause {label!r} has the weight {weight}: the largest weight is {MAX_WEIGHT:g} (32-bit scores)"
        )
    if occur not in ("should", "must", "must_not", "filter"):
        raise ProgramError(f"clause {label!r} has the occur {occur!r}: choose should, must, must_not or filter")


@dataclass(frozen=True, slots=True)
class TermClause:
    """One analysed term. With a blank inside it is an n-gram atom, which stands only in `expansion`."""

    term: str
    weight: float = 1.0
    occur: Occur = "should"
    source: str | None = None
    df: int | None = None
    kind: Literal["term"] = "term"

    def __post_init__(self) -> None:
        _check(self.term, self.weight, self.occur)
        if not self.term:
            raise ProgramError("a term clause has an empty term: give the analysed word")

    @property
    def label(self) -> str:
        return self.term


@dataclass(frozen=True, slots=True)
class PhraseClause:
    """Two or more analysed terms side by side, in this order, in `contents`."""

    terms: tuple[str, ...]
    weight: float = 1.0
    occur: Occur = "should"
    source: str | None = None
    df: int | None = None
    kind: Literal["phrase"] = "phrase"

    def __post_init__(self) -> None:
        _check(self.label, self.weight, self.occur)
        if len(self.terms) < 2 or not all(self.terms):
            raise ProgramError(f"phrase clause {self.label!r} needs two or more terms: use a term clause for one")

    @property
    def label(self) -> str:
        return f'"{" ".join(self.terms)}"'


@dataclass(frozen=True, slots=True)
class AnyOfClause:
    """Alternatives of which the best-scoring one counts (Lucene's DisjunctionMaxQuery)."""

    terms: tuple[str, ...]
    weight: float = 1.0
    occur: Occur = "should"
    source: str | None = None
    df: int | None = None
    kind: Literal["any_of"] = "any_of"

    def __post_init__(self) -> None:
        _check(self.label, self.weight, self.occur)
        if not self.terms or not all(self.terms):
            raise ProgramError("an any_of clause needs at least one non-empty term")

    @property
    def label(self) -> str:
        return f"({' | '.join(self.terms)})"


@dataclass(frozen=True, slots=True)
class FacetClause:
    """An atomic `field:value` string; scores weight * idf, without term frequency and length."""

    facet: str
    weight: float = 1.0
    occur: Occur = "should"
    source: str | None = None
    df: int | None = None
    kind: Literal["facet"] = "facet"

    def __post_init__(self) -> None:
        _check(self.facet, self.weight, self.occur)
        if not self.facet:
            raise ProgramError("a facet clause has an empty facet: give field:value")

    @property
    def label(self) -> str:
        return self.facet


@dataclass(frozen=True, slots=True)
class RangeClause:
    """Documents whose declared numeric or date field lies in [gte, lte]; None leaves a side open. Scores the weight."""

    field: str
    gte: int | float | str | None = None
    lte: int | float | str | None = None
    weight: float = 1.0
    occur: Occur = "filter"
    source: str | None = None
    df: int | None = None
    kind: Literal["range"] = "range"

    def __post_init__(self) -> None:
        _check(self.label, self.weight, self.occur)
        if self.gte is None and self.lte is None:
            raise ProgramError(f"range clause on {self.field!r} has neither gte nor lte")

    @property
    def label(self) -> str:
        return f"{self.field}:[{'*' if self.gte is None else self.gte} TO {'*' if self.lte is None else self.lte}]"


Clause = TermClause | PhraseClause | AnyOfClause | FacetClause | RangeClause


@dataclass(frozen=True, slots=True)
class Program:
    """The ordered clauses of one search, with the log of what was proposed and why it was kept or dropped.

    A clause's `source` is the phrase it came from; None marks the query's own words.
    """

    qid: str
    clauses: tuple[Clause, ...] = ()
    scoring: Scoring = field(default_factory=Scoring)
    verdicts: tuple[Verdict, ...] = ()
    text: str = ""
    schema_version: int = SCHEMA_VERSION


def longest_clause(program: Program) -> int:
    """Words of the longest phrase or any_of clause: Lucene's work grows with their square."""
    return max((len(item.terms) for item in program.clauses if isinstance(item, PhraseClause | AnyOfClause)), default=0)


@cache
def _adapter() -> TypeAdapter[Program]:
    from pydantic import TypeAdapter

    for part in (Program, Scoring, Verdict, TermClause, PhraseClause, AnyOfClause, FacetClause, RangeClause):
        part.__pydantic_config__ = {"extra": "forbid"}  # pyright: ignore[reportAttributeAccessIssue]
    return TypeAdapter(Program)


def program_to_json(program: Program) -> dict[str, Any]:
    """A JSON-ready dictionary, stable in key order; `program_from_json` reads it back to an equal program.

    Equal programs give equal text: numbers that may be given as int or float are written as float. A verdict has
    `reason` and `suggestion` only where it says something there.
    """
    data = asdict(program)
    for part in (data["scoring"], *data["clauses"], *data["verdicts"]):
        for key in ("k1", "b", "expansion_weight", "contents_weight", "weight"):
            if part.get(key) is not None:
                part[key] = float(part[key])
    for verdict in data["verdicts"]:
        for key in ("reason", "suggestion"):
            if verdict[key] is None:
                del verdict[key]
    return data


def program_from_json(data: object) -> Program:
    """Read a program from decoded JSON. Neither `true` nor `"2"` is a number.

    Raises ProgramError naming the field and the fault.
    """
    from pydantic import ValidationError

    if isinstance(data, dict) and data.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:  # pyright: ignore[reportUnknownMemberType]
        raise ProgramError(
            f"this program has schema_version {data['schema_version']!r}; this sira reads {SCHEMA_VERSION}"
        )
    try:
        program = _adapter().validate_python(data)
    except ValidationError as error:
        if error.error_count() > MOST_FAULTS:  # to list them takes seconds
            raise ProgramError(
                f"program JSON, program: it has {error.error_count():,} faults: send a program"
            ) from None
        place, fault = _fault(error.errors(), data)
        raise ProgramError(f"program JSON, {place}: {fault}") from None
    for place, value in _numbers(data):  # pydantic's strict mode would take no list for a tuple
        if isinstance(value, bool | str):
            raise ProgramError(f"program JSON, {place}: it is no number: give one")
    return program


def _numbers(data: Any) -> Iterator[tuple[str, object]]:
    """The places and values of the numbers of a program that is right but for them. Dates may be text."""
    parts: list[tuple[str, Any, Sequence[str]]] = [("", data, ("schema_version",))]
    if isinstance(data, dict):
        read = cast("dict[str, Any]", data)
        parts.append(("scoring.", read.get("scoring"), ("k1", "b", "expansion_weight", "contents_weight")))
        for name, numbers in (("clauses", ("weight", "df", "gte", "lte")), ("verdicts", ("weight", "df"))):
            parts += [(f"{name}.{number}.", part, numbers) for number, part in enumerate(read.get(name, ()))]
    for place, part, names in parts:
        for name in names if isinstance(part, dict) else ():
            value = cast("dict[str, Any]", part).get(name)
            if not (isinstance(value, str) and name in ("gte", "lte")):
                yield f"{place}{name}", value


_CLAUSES = {
    "term": TermClause,
    "phrase": PhraseClause,
    "any_of": AnyOfClause,
    "facet": FacetClause,
    "range": RangeClause,
}


def _fault(errors: Sequence[Any], data: Any) -> tuple[str, str]:
    """The first fault and its place. pydantic lists those of every kind that a clause could have: the one that it names
    counts."""
    loc = errors[0]["loc"]
    if len(loc) > 2 and loc[0] == "clauses":
        clause = data["clauses"][loc[1]]
        kind: Any = cast("dict[str, Any]", clause).get("kind", "term") if isinstance(clause, dict) else "term"
        if not isinstance(kind, str) or kind not in _CLAUSES:
            return f"clauses.{loc[1]}.kind", f"choose {', '.join(_CLAUSES)}"
        name = _CLAUSES[kind].__name__
        errors = [error for error in errors if error["loc"][:3] == (*loc[:2], name)] or errors
    first = errors[0]
    told = {"missing": "it is missing: give it", "unexpected_keyword_argument": "there is no such field: leave it out"}
    place = ".".join(str(part) for part in first["loc"] if not str(part).endswith("Clause")) or "program"
    return place, told.get(first["type"]) or first["msg"]
