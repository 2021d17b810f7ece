"""Proposed facets, checked against the index and, where there is one, against what knows the facets of a field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

from sira.compile.entries import Entry
from sira.compile.safety import Safety
from sira.compile.statistics import Statistics
from sira.program import FacetClause
from sira.records import Outcome, Topic, Verdict

MOST_RESPELT, LONGEST_RESPELT = 100, 1_000
"""The unseen facets of one sketch for which other spellings are looked up, and their characters."""


class FacetValidator(Protocol):
    """Says of a facet whether it may be searched for; `sira.categories.CategoryValidator` is one."""

    def check(self, facet: str) -> tuple[bool, tuple[str, ...]]:
        """(valid, suggestions) of a `field:value` string; suggestions are whole facets, the best first.

        A valid facet with a suggestion is the same thing spelt otherwise: the suggestion is what the index holds. For
        an invalid one, the suggestions are the nearest valid facets, if any are near. A facet of a field that the
        validator does not know is valid.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Facet:
    """One proposed facet and what is searched for; `verdict` where that is settled without the index."""

    text: str
    facet: str
    verdict: Verdict | None = None


def facet_entries(
    topic: Topic,
    facets: Sequence[str],
    statistics: Statistics,
    weight: float,
    *,
    safety: Safety,
    validator: FacetValidator | None = None,
) -> list[Entry]:
    """An entry a facet, in their order. A facet is atomic: it stands in the index as it is spelt, or is dropped.

    `invalid`: the validator does not know it. `unseen`: no document has it; the suggestion is a spelling with other
    capitals, or blanks for underscores, that some have. One that the validator spells otherwise is taken in that form.
    """
    checked = [_checked(text, topic, safety, validator) for text in facets]
    asked = list(dict.fromkeys(item.facet for item in checked if item.verdict is None))
    df = dict(zip(asked, statistics.facet_df(asked) if asked else [], strict=True))
    unseen = [facet for facet in asked if df[facet] == 0 and len(facet) <= LONGEST_RESPELT]
    respelt = _respelt(unseen[:MOST_RESPELT], statistics)
    entries: list[Entry] = []
    seen: set[str] = set()
    for item in checked:
        entries.append(_entry(item, df.get(item.facet, 0), respelt.get(item.facet), seen, weight))
        seen.add(item.facet)
    return entries


def _checked(text: str, topic: Topic, safety: Safety, validator: FacetValidator | None) -> _Facet:
    if not text.strip():
        return _Facet(text, "", Verdict(text, "", Outcome.EMPTY))
    valid, suggestions = validator.check(text) if validator else (True, ())
    first = suggestions[0] if suggestions else None
    facet = first if valid and first else text
    refused = safety.forbidden(text) or safety.refusal(_value(text), topic)
    refused = refused or safety.forbidden(facet) or safety.forbidden(_value(facet))
    if refused is not None:
        outcome, reason = refused
        return _Facet(text, text, Verdict(text, text, outcome, reason=reason))
    if not valid:
        return _Facet(text, text, Verdict(text, text, Outcome.INVALID, suggestion=first))
    return _Facet(text, facet)


def _value(facet: str) -> str:
    """What stands behind the field, in words."""
    return facet.partition(":")[2].replace("_", " ")


def _entry(item: _Facet, df: int, respelt: str | None, seen: set[str], weight: float) -> Entry:
    if item.verdict is not None:
        return Entry(item.verdict)
    text, facet = item.text, item.facet
    if facet in seen:
        return Entry(Verdict(text, facet, Outcome.DUPLICATE, df))
    if df == 0:
        return Entry(Verdict(text, facet, Outcome.UNSEEN, 0, suggestion=respelt))
    clause = FacetClause(facet, weight, "should", text, df)
    return Entry(Verdict(text, facet, Outcome.KEPT, df, weight), (clause,) if weight else ())


def _respelt(unseen: Sequence[str], statistics: Statistics) -> dict[str, str]:
    """The most frequent other spelling of each facet that some document has, in one question."""
    spellings = {facet: list(dict.fromkeys(_spellings(facet))) for facet in unseen}
    asked = list(dict.fromkeys(spelling for listed in spellings.values() for spelling in listed))
    df = dict(zip(asked, statistics.facet_df(asked) if asked else [], strict=True))
    best = {facet: max(listed, key=lambda spelling: df[spelling]) for facet, listed in spellings.items()}
    return {facet: spelling for facet, spelling in best.items() if df[spelling]}


def _spellings(facet: str) -> list[str]:
    field, colon, value = facet.partition(":")
    if not colon:
        return [facet]
    value = " ".join(value.replace("_", " ").split())
    cases = (value, value.lower(), value.upper(), value.title(), value[:1].upper() + value[1:], value.capitalize())
    fields = (field.strip(), field.strip().lower())
    return [f"{name}:{form.replace(' ', blank)}" for name, form, blank in product(fields, cases, ("_", " "))]
