"""(Query, Statistics) -> Program: raw words become the terms of an index. Pure and deterministic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from sira.errors import ProgramError
from sira.program import MAX_WEIGHT, AnyOfClause, Clause, FacetClause, PhraseClause, Program, Scoring, TermClause
from sira.programtext.query import MAX_CLAUSES, Exact, Query, Raw
from sira.records import Outcome, Verdict

if TYPE_CHECKING:
    from sira.compile.statistics import Statistics

_Key = tuple[Literal["term", "phrase", "facet"], tuple[str, ...]]
"""What has a df."""


@runtime_checkable
class _Declared(Protocol):
    """Statistics that know the numeric and date fields of the index."""

    @property
    def value_fields(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class _Draft:
    """A clause before its df is known, with the text and the key of each verdict. `joins`: equal ones become one.

    Without a clause it is a verdict only: `empty`, or (with keys) `duplicate`.
    """

    clause: Clause | None
    proposals: tuple[tuple[str, _Key | None], ...]
    joins: bool = True


def bind(query: Query, statistics: Statistics, scoring: Scoring | None = None, *, qid: str = "") -> Program:
    """The program of a text on one index.

    Nothing that was written is dropped but what has no term (verdict `empty`): words that no document holds stay, with
    the verdict `unseen`. A word of several terms gives one clause a term; excluded (`-`), it excludes as a whole, as a
    phrase. An alternative of several words is an atom of the field `expansion`. Equal clauses join: the weights add up.
    Exact items stay as written, with the df where the text has none. The text's own scoring and qid go first.

    Raises ProgramError for weights or clauses beyond the limits, and for a facet of a declared field, which has ranges.
    """
    raws = [item for item in query.items if isinstance(item, Raw)]
    texts = [text for item in raws for text in item.texts]
    analysed = iter(statistics.analyze(texts) if texts else [])
    drafts = [draft for item in query.items for draft in _drafts(item, analysed)]
    if isinstance(statistics, _Declared):
        for draft in drafts:
            _check_field(draft.clause, statistics.value_fields)
    df = _frequencies(drafts, statistics)
    clauses: list[Clause] = []
    verdicts = list(query.verdicts)
    places: dict[Clause, int] = {}
    for draft in drafts:
        clause, duplicate = draft.clause, draft.clause is None
        if clause is not None:
            same = replace(clause, weight=1.0, source=None)
            duplicate = draft.joins and same in places
            if duplicate:
                _join(clauses, places[same], clause)
            else:
                if draft.joins:
                    places[same] = len(clauses)
                clauses.append(replace(clause, df=_clause_df(draft, df)))
        weight = clause.weight if clause else None
        verdicts += (_verdict(text, key, df, weight, duplicate=duplicate) for text, key in draft.proposals)
    if len(clauses) > MAX_CLAUSES:
        raise ProgramError(f"the text gives {len(clauses):,} clauses: at most {MAX_CLAUSES:,} make a program")
    return Program(
        qid if query.qid is None else query.qid,
        tuple(clauses),
        query.scoring or scoring or Scoring(),
        tuple(verdicts),
        query.text if query.program_text is None else query.program_text,
    )


def _check_field(clause: Clause | None, declared: Mapping[str, str]) -> None:
    if isinstance(clause, FacetClause):
        field, _, value = clause.facet.partition(":")
        if field in declared:
            raise ProgramError(
                f"{clause.facet!r}: {field} is a declared field ({declared[field]}) and has ranges: "
                f"write {field}:[{value} TO {value}]"
            )


def _join(clauses: list[Clause], place: int, clause: Clause) -> None:
    """Add the weight to an equal clause."""
    weight = clauses[place].weight + clause.weight
    if weight > MAX_WEIGHT:
        raise ProgramError(f"the weights of {clause.label!r} add up to {weight:g}: the largest is {MAX_WEIGHT:g}")
    clauses[place] = replace(clauses[place], weight=weight)


def _clause_df(draft: _Draft, df: Mapping[_Key, int]) -> int | None:
    """That of its one term, phrase or facet; several alternatives have none."""
    keys = [key for _, key in draft.proposals if key]
    return df[keys[0]] if len(keys) == 1 else draft.clause and draft.clause.df


def _verdict(text: str, key: _Key | None, df: Mapping[_Key, int], weight: float | None, *, duplicate: bool) -> Verdict:
    if key is None:
        return Verdict(text, "", Outcome.EMPTY)
    count = df[key]
    outcome = Outcome.DUPLICATE if duplicate else Outcome.KEPT if count else Outcome.UNSEEN
    return Verdict(text, " ".join(key[1]), outcome, count, weight)


def _drafts(item: Raw | Exact, analysed: Iterator[list[str]]) -> Iterator[_Draft]:
    """The clauses of one item. `analysed` goes on by one entry for each of its texts."""
    if isinstance(item, Exact):
        yield _exact(item.clause)
        return
    found = [(text, next(analysed)) for text in item.texts]
    yield from (_Draft(None, ((text, None),)) for text, terms in found if not terms)
    if item.kind == "any_of":
        yield from _any_of(item, [(text, " ".join(terms)) for text, terms in found if terms])
        return
    ((text, terms),) = found
    source = text if item.kind == "phrase" else None
    if len(terms) > 1 and (item.kind == "phrase" or item.occur == "must_not"):
        clause = PhraseClause(tuple(terms), item.weight, item.occur, source)
        yield _Draft(clause, ((text, ("phrase", clause.terms)),))
    else:
        for term in terms:
            yield _Draft(TermClause(term, item.weight, item.occur, source), ((text, ("term", (term,))),))


def _any_of(item: Raw, found: list[tuple[str, str]]) -> Iterator[_Draft]:
    """One clause of the distinct alternatives; a single one is a term."""
    first: dict[str, str] = {}
    for text, term in found:
        if first.setdefault(term, text) is not text:
            yield _Draft(None, ((text, ("term", (term,))),))
    terms, source = tuple(first), " | ".join(item.texts)
    if terms:
        one = TermClause(terms[0], item.weight, item.occur, source)
        clause = one if len(terms) == 1 else AnyOfClause(terms, item.weight, item.occur, source)
        yield _Draft(clause, tuple((text, ("term", (term,))) for term, text in first.items()))


def _exact(clause: Clause) -> _Draft:
    """An exact clause, which asks for its df where the text does not say."""
    key: _Key | None = None
    if clause.df is None:
        match clause:
            case TermClause():
                key = ("term", (clause.term,))
            case PhraseClause():
                key = ("phrase", clause.terms)
            case FacetClause():
                key = ("facet", (clause.facet,))
            case _:
                pass
    text = clause.label if clause.source is None else clause.source
    return _Draft(clause, ((text, key),) if key else (), joins=False)


def _frequencies(drafts: list[_Draft], statistics: Statistics) -> dict[_Key, int]:
    """df of every key, in one question for terms, one for phrases and one for facets."""
    asked = dict.fromkeys(key for draft in drafts for _, key in draft.proposals if key)
    df: dict[_Key, int] = {}
    for kind, look_up in (("term", statistics.df), ("phrase", statistics.window_df), ("facet", statistics.facet_df)):
        keys = [key for key in asked if key[0] == kind]
        if keys:
            names: list[Any] = [terms if kind == "phrase" else terms[0] for _, terms in keys]
            df |= dict(zip(keys, look_up(names), strict=True))
    return df
