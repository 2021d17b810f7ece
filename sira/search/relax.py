"""Relaxation: a program that finds nothing is loosened step by step until it finds something, and every step is told.

The order, from what costs least to what changes the question:

1. required clauses (must, filter) that no document holds: they can never match;
2. must clauses, which become should: a document that has them still comes first;
3. filters, ranges among them, which are taken out: they added no score, and add none now;
4. must_not clauses, which are taken out: excluded documents may then show.

Of 2 to 4 the first kind that helps by itself is loosened, and of it as few clauses as a greedy trial finds, ranges
first (their df is not counted), then the rarest; a kind that does not help by itself is loosened whole only where no
single kind helps.

A loosened program helps where its first hit has a score above 0: documents that only pass a filter, and hold none of
the words that the program scores, are no answer. They count where it scores nothing that any document holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import AnyOfClause, Clause, FacetClause, PhraseClause, Program, RangeClause, Scoring, TermClause
from sira.records import Ranking

Stage = Literal["must", "filter", "must_not"]
Became = Literal["should", "removed"]
Numbered = tuple[int, Clause]
"""A clause and its place in the program, from 0."""

_STAGES: tuple[Stage, ...] = ("must", "filter", "must_not")
_ENOUGH: Mapping[Stage, str] = {
    "must": "no document holds all required clauses together",
    "filter": "no document passes the filters",
    "must_not": "every document that matches is excluded",
}
_NOT_ENOUGH = "no one kind of constraint explains the empty result; this kind was loosened whole"


@dataclass(frozen=True, slots=True)
class RelaxSettings:
    """What may be loosened, and at what cost.

    `stages` are those of must, filter and must_not that may be loosened, always in this order; a clause that no
    document holds is loosened where its stage is. `max_trials` bounds the searches that look for the fewest clauses of
    a stage; with none left the stage is loosened whole. A program takes at most 9 + `max_trials` searches.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}  # as a table of a TOML file

    stages: tuple[Stage, ...] = _STAGES
    max_trials: int = 16

    def __post_init__(self) -> None:
        unknown = [stage for stage in self.stages if stage not in _STAGES]
        if unknown:
            raise InputError(f"relax: stage {unknown[0]!r} is not known: choose {', '.join(_STAGES)}")
        if self.max_trials < 0:
            raise InputError(f"relax: max_trials = {self.max_trials}: it counts from 0")


@dataclass(frozen=True, slots=True)
class Step:
    """Clauses as they were, what they became, why, and the hits of the program after it (at most k)."""

    clauses: tuple[Clause, ...]
    became: Became
    reason: str
    hits: int


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The program that was searched last, its ranking, and how it came about.

    Without steps it is the program that was given. `searches` counts all, trials included. `why_empty` says in one line
    why nothing is found; it is None where something is.
    """

    program: Program
    ranking: Ranking
    steps: tuple[Step, ...] = ()
    searches: int = 1
    why_empty: str | None = None

    def to_json(self) -> Mapping[str, Any]:
        return {
            "qid": self.program.qid,
            "hits": len(self.ranking),
            "searches": self.searches,
            "why_empty": self.why_empty,
            "steps": [
                {
                    "clauses": [clause.label for clause in step.clauses],
                    "was": [clause.occur for clause in step.clauses],
                    "became": step.became,
                    "reason": step.reason,
                    "hits": step.hits,
                }
                for step in self.steps
            ],
        }


def relaxed(index: Index, program: Program, k: int, settings: RelaxSettings | None = None) -> Relaxed:
    """Search to depth k, loosening a program that finds nothing. One that finds something is returned as it is.

    Deterministic. Raises as `Index.search` does for a program that the index cannot run.
    """
    ranking = index.search(program, k)
    if ranking:
        return Relaxed(program, ranking)
    df = document_frequencies(index, program.clauses, program.scoring)
    return _Work(index, k, settings or RelaxSettings(), program, dict(enumerate(program.clauses)), df).run()


@dataclass(slots=True)
class _Work:
    """The loosening of one program. `clauses` maps places in the program to what stands there now."""

    index: Index
    k: int
    settings: RelaxSettings
    program: Program
    clauses: dict[int, Clause]
    df: Sequence[int | None]
    searches: int = 1

    def run(self) -> Relaxed:
        steps: list[Step] = []
        ranking = Ranking()
        for stage in self._stages():
            if stage == "must_not":  # what is excluded but nowhere excludes nothing
                continue
            never = [(at, clause) for at, clause in self._of(stage) if self.df[at] == 0]
            if never:
                ranking = self._loosen(never, "no document holds it", steps, self._try(never))
                if self._helps(ranking):
                    return self._result(ranking, steps)
        while True:
            stages: list[Stage] = [stage for stage in self._stages() if self._of(stage)]
            if not stages:
                return self._result(ranking, steps)
            wholes: list[Ranking] = []
            for stage in stages:
                wholes.append(self._try(self._whole(stage)))
                if self._helps(wholes[-1]):
                    ranking = self._fewest(stage, wholes[-1], steps)
                    return self._result(ranking, steps)
            ranking = self._loosen(self._whole(stages[0]), _NOT_ENOUGH, steps, wholes[0])

    def _stages(self) -> list[Stage]:
        return [stage for stage in _STAGES if stage in self.settings.stages]

    def _helps(self, ranking: Ranking) -> bool:
        scores = any(
            clause.occur in ("must", "should") and clause.weight > 0 and self.df[at] != 0
            for at, clause in enumerate(self.program.clauses)
        )
        return bool(ranking) and (ranking.scores[0] > 0 or not scores)

    def _of(self, stage: Stage) -> list[Numbered]:
        """The clauses of a stage, ranges first, then the rarest; of equals the earlier."""
        found = [(at, clause) for at, clause in self.clauses.items() if clause.occur == stage]
        return sorted(found, key=lambda item: (self.df[item[0]] or 0, item[0]))

    def _whole(self, stage: Stage) -> list[Numbered]:
        """What a stage gives up at once: all, but for the last filter of a program that asks for nothing else."""
        items = self._of(stage)
        alone = all(clause.occur in ("filter", "must_not") for clause in self.clauses.values())
        return items[:-1] if stage == "filter" and alone and len(items) > 1 else items

    def _fewest(self, stage: Stage, whole: Ranking, steps: list[Step]) -> Ranking:
        """Loosen as few clauses of a stage as suffice: one where one does, else the first in order and again."""
        trials = self.settings.max_trials
        while True:
            waiting = self._of(stage)
            if len(waiting) == 1 or trials == 0:
                return self._loosen(self._whole(stage), _ENOUGH[stage], steps, whole)
            tried: list[Ranking] = []
            for item in waiting[:trials]:
                tried.append(self._try([item]))
                if self._helps(tried[-1]):
                    return self._loosen([item], _ENOUGH[stage], steps, tried[-1])
            trials -= len(tried)
            if trials:
                self._loosen([waiting[0]], _ENOUGH[stage], steps, tried[0])

    def _loosened(self, items: Sequence[Numbered]) -> dict[int, Clause]:
        clauses = dict(self.clauses)
        for at, clause in items:
            if clause.occur == "must":
                clauses[at] = replace(clause, occur="should")
            else:
                del clauses[at]
        return clauses

    def _try(self, items: Sequence[Numbered]) -> Ranking:
        self.searches += 1
        return self.index.search(replace(self.program, clauses=tuple(self._loosened(items).values())), self.k)

    def _loosen(self, items: Sequence[Numbered], reason: str, steps: list[Step], ranking: Ranking) -> Ranking:
        """Loosen for good; `ranking` is that of the program after it."""
        self.clauses = self._loosened(items)
        clauses = tuple(clause for _, clause in items)
        steps.append(Step(clauses, "should" if clauses[0].occur == "must" else "removed", reason, len(ranking)))
        return ranking

    def _result(self, ranking: Ranking, steps: Sequence[Step]) -> Relaxed:
        program = replace(self.program, clauses=tuple(self.clauses.values())) if steps else self.program
        return Relaxed(program, ranking, tuple(steps), self.searches, None if ranking else self._why_empty())

    def _why_empty(self) -> str:
        if not self.program.clauses:
            return "the program has no clause: no word of the query is left after analysis"
        if all(clause.occur == "must_not" for clause in self.program.clauses):
            return "the program only excludes documents and asks for none"
        if any(clause.occur in ("must", "filter") for clause in self.clauses.values()):
            return "the constraints that may not be loosened match no document together"
        if not self.clauses:
            return "the program's filters are gone, and it asks for nothing else"
        if all(self.df[at] == 0 for at, clause in self.clauses.items() if clause.occur == "should"):
            return "no document holds any word, phrase or facet that the program asks for"
        if not any(clause.occur == "must_not" for clause in self.clauses.values()):
            return "what the program asks for has the weight 0, or stands in fields of weight 0"
        return "every document that matches is excluded by must_not clauses, which may not be loosened"


def document_frequencies(index: Index, clauses: Sequence[Clause], scoring: Scoring) -> list[int | None]:
    """df of each clause in the fields that the scoring searches; None for ranges, which are not counted.

    For alternatives it is the largest df of one of them.
    """
    words = list(dict.fromkeys(term for clause in clauses for term in _terms(clause)))
    df = dict(zip(words, _term_df(index, words, scoring), strict=True))
    phrases = list(dict.fromkeys(clause.terms for clause in clauses if isinstance(clause, PhraseClause)))
    phrase_df = dict(zip(phrases, index.contents_window_df(phrases), strict=True))
    facets = list(dict.fromkeys(clause.facet for clause in clauses if isinstance(clause, FacetClause)))
    facet_df = dict(zip(facets, index.facet_df(facets), strict=True))

    def count(clause: Clause) -> int | None:
        match clause:
            case TermClause() | AnyOfClause():
                return max(df[term] for term in _terms(clause))
            case PhraseClause():
                return phrase_df[clause.terms]
            case FacetClause():
                return facet_df[clause.facet]
            case RangeClause():
                return None

    return [count(clause) for clause in clauses]


def _terms(clause: Clause) -> tuple[str, ...]:
    match clause:
        case TermClause():
            return (clause.term,)
        case AnyOfClause():
            return clause.terms
        case _:
            return ()


def _term_df(index: Index, terms: Sequence[str], scoring: Scoring) -> list[int]:
    if scoring.expansion_weight == 0:
        return index.field_df("contents", terms)
    if scoring.contents_weight == 0:
        return index.field_df("expansion", terms)
    return index.df(terms)
