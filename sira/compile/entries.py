"""Verdicts with the clauses that they bring, and the quotas on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from sira.compile.settings import CompileSettings
from sira.program import Clause, FacetClause, PhraseClause, RangeClause, TermClause
from sira.records import Outcome, Verdict


class Entry(NamedTuple):
    """A verdict and the clauses that it brings."""

    verdict: Verdict
    clauses: tuple[Clause, ...] = ()

    @property
    def optional(self) -> bool:
        """Whether it brings clauses, and none of them a constraint."""
        return bool(self.clauses) and self.clauses[0].occur == "should"


def within_quotas(entries: Sequence[Entry], settings: CompileSettings) -> list[Entry]:
    """The entries, those beyond a quota as verdicts only: the heaviest stay, the earlier of equals.

    The quotas on phrases, facets and ranges go first, then `max_terms` on what is optional. Words that are required or
    excluded always stay; of ranges, filters stay before others.
    """
    found = _limit(entries, settings.max_phrases, _of_several_words)
    found = _limit(found, settings.max_facets, lambda entry: _brings(entry, FacetClause))
    found = _limit(found, settings.max_ranges, lambda entry: _brings(entry, RangeClause))
    return _limit(found, settings.max_terms, lambda entry: entry.optional)


def _of_several_words(entry: Entry) -> bool:
    first = entry.clauses[0] if entry.optional else None
    return isinstance(first, PhraseClause) or (isinstance(first, TermClause) and " " in first.term)


def _brings(entry: Entry, kind: type[Clause]) -> bool:
    return bool(entry.clauses) and isinstance(entry.clauses[0], kind)


def _limit(entries: Sequence[Entry], most: int | None, counts: Callable[[Entry], bool]) -> list[Entry]:
    if most is None:
        return list(entries)
    counted = [place for place, entry in enumerate(entries) if counts(entry)]
    counted.sort(key=lambda place: (entries[place].optional, -(entries[place].verdict.weight or 0.0)))
    dropped = set(counted[most:])
    return [
        Entry(replace(entry.verdict, outcome=Outcome.OVER_QUOTA, weight=None)) if place in dropped else entry
        for place, entry in enumerate(entries)
    ]
