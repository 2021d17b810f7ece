"""Verdicts on windows, and the clauses of those that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sira.compile.entries import Entry
from sira.compile.gates import DfGate, Terms
from sira.compile.proposals import Window
from sira.compile.settings import CompileSettings
from sira.compile.weights import Weigher
from sira.program import MAX_WEIGHT, Clause, PhraseClause, TermClause
from sira.records import Outcome, Verdict


@dataclass(slots=True)
class Judge:
    """Gives each window its verdict and its clauses; remembers what has counted already.

    `own` are the topic's terms in their order and `query` counts them; `required` are the words of required phrases;
    `whole` has the outcome of phrases that are judged as such, by rank. `positions`: the index can search phrases.
    """

    own: Terms
    query: Mapping[str, int]
    required: set[str]
    df: Mapping[Terms, int]
    gate: DfGate
    whole: Mapping[int, Outcome]
    weigher: Weigher
    settings: CompileSettings
    positions: bool
    seen: set[tuple[str, Terms]] = field(default_factory=set[tuple[str, Terms]])

    def entry(self, item: Window) -> Entry | None:
        """The entry of a window; None of an identifier whose terms find it without it."""
        if item.identifier and self._is_found(item):
            return None
        if not item.terms:
            return Entry(Verdict(item.phrase.text, "", Outcome.EMPTY))
        role, df = item.phrase.role, self.df[item.terms]
        weight = self._weight(item, df)
        outcome = self._outcome(item, df)
        if weight > 0 or role != "should":
            self.seen.add((role, item.terms))
        kept = outcome is Outcome.KEPT or (outcome is Outcome.UNSEEN and role == "must")
        verdict = Verdict(item.phrase.text, item.term, outcome, df, weight if kept else None)
        return Entry(verdict, self._clauses(item, weight, df) if kept else ())

    def _is_found(self, item: Window) -> bool:
        """Whether each term of an identifier is searched for by itself, at full weight, or its window as any other."""
        if self.settings.ngrams == "atoms+phrases" and len(item.terms) <= self.settings.max_n:
            return True
        counts = [self.df.get((term,), 0) for term in item.terms if term not in self.query]
        return all(self._gated(item, df) is Outcome.KEPT and self.gate.share(df) == 1 for df in counts)

    def _weight(self, item: Window, df: int) -> float:
        factor = 1.0 if item.phrase.weight is None else item.phrase.weight
        if item.phrase.role == "should":
            factor *= self.weigher.factor(item.terms, item.rank, df) * self.gate.share(df)
        return min(self.settings.sketch_weight * factor, MAX_WEIGHT)

    def _outcome(self, item: Window, df: int) -> Outcome:
        role, single = item.phrase.role, item.terms[0] if len(item.terms) == 1 else None
        if (role, item.terms) in self.seen or (
            role == "should" and single in self.required and single not in self.query
        ):
            return Outcome.DUPLICATE
        if (single in self.query and role != "must_not") or (item.identifier and self._in_query(item.terms)):
            return Outcome.ALREADY_PRESENT
        if role != "should":
            return Outcome.KEPT if df else Outcome.UNSEEN
        return self._gated(item, df)

    def _gated(self, item: Window, df: int) -> Outcome:
        """What the gate says of a window of this phrase."""
        return self.whole.get(item.rank, self.gate.judge(df)) if df else Outcome.UNSEEN

    def _in_query(self, terms: Terms) -> bool:
        size = len(terms)
        return any(self.own[at : at + size] == terms for at in range(len(self.own) - size + 1))

    def _clauses(self, item: Window, weight: float, df: int) -> tuple[Clause, ...]:
        occur, source = item.phrase.role, item.phrase.text
        if occur == "should" and weight == 0:
            return ()
        if len(item.terms) == 1:
            return (TermClause(item.terms[0], weight, occur, source, df),)
        if occur == "must_not":
            return (PhraseClause(item.terms, weight, occur, source, df),)
        if item.identifier and self.positions:
            weight /= 2
        atom = TermClause(item.term, weight, occur, source, df)
        if (item.identifier and self.positions) or self.settings.ngrams == "atoms+phrases":
            return (atom, PhraseClause(item.terms, weight, occur, source, df))
        return (atom,)
