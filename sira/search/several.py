"""Several searches for one topic within a budget of pages (the BrowseComp-Wikipedia protocol).

The programs are evidence-blind: all are fixed before the first search, so that no search knows what another found.
Their rankings are fused by reciprocal rank, and the first `max_pages` documents are delivered. One search is the
default everywhere; this is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import Clause, Program, Scoring
from sira.records import Ranking
from sira.search.fusion import RRF_K, reciprocal_rank_fusion


@dataclass(frozen=True, slots=True)
class Budget:
    """`max_pages`: distinct documents delivered; no search is deeper than that. `max_searches` bounds the searches.

    `rrf_k` is the constant of the fusion. A page that the fusion ranks below `max_pages` is delivered to nobody, and so
    does not count against the budget.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}  # as a table of a TOML file

    max_pages: int = 100
    max_searches: int = 20
    rrf_k: int = RRF_K

    def __post_init__(self) -> None:
        for name, least in (("max_pages", 1), ("max_searches", 1), ("rrf_k", 0)):
            if getattr(self, name) < least:
                raise InputError(f"budget: {name} = {getattr(self, name)}: give {least} or more")


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """What one program brought.

    `number` counts the programs given, from 1. `hits`: documents found, at most `max_pages`. `new`: those that no
    earlier search found; `delivered`: those of the new ones that are in the fused ranking.
    """

    number: int
    program: Program
    hits: int
    new: int
    delivered: int


@dataclass(frozen=True, slots=True)
class Several:
    """The fused ranking, its scores those of reciprocal rank fusion, and one record a search, in their order.

    The `new` of the records add up to `unique`, the distinct documents found; the `delivered` to `len(ranking)`.
    `repeated` programs equal an earlier one, and `over_budget` ones came after `max_searches`: neither was run.
    """

    qid: str
    ranking: Ranking
    searches: tuple[SearchRecord, ...]
    unique: int
    repeated: int = 0
    over_budget: int = 0

    def to_json(self) -> Mapping[str, Any]:
        return {
            "qid": self.qid,
            "pages": len(self.ranking),
            "unique": self.unique,
            "repeated": self.repeated,
            "over_budget": self.over_budget,
            "searches": [
                {"number": item.number, "hits": item.hits, "new": item.new, "delivered": item.delivered}
                for item in self.searches
            ],
        }


def search_several(index: Index, programs: Iterable[Program], budget: Budget | None = None) -> Several:
    """Run the programs of one topic and fuse what they find.

    A program that searches as an earlier one does is not run again and votes once. Raises InputError where
    there is no program, or where they are of several topics.
    """
    budget = budget or Budget()
    fixed = tuple(programs)  # before the first search, so that no program can depend on what one found
    if not fixed:
        raise InputError("several searches: there is no program to run: give one or more")
    for program in fixed:
        if program.qid != fixed[0].qid:
            raise InputError(
                f"several searches: programs of topics {fixed[0].qid!r} and {program.qid!r}: give those of one topic"
            )
    distinct = _distinct(fixed)
    chosen = distinct[: budget.max_searches]
    rankings = [index.search(program, budget.max_pages) for _, program in chosen]
    fused = reciprocal_rank_fusion(rankings, budget.rrf_k).top(budget.max_pages)
    delivered, seen = frozenset(fused.docids), set[str]()
    records: list[SearchRecord] = []
    for (number, program), ranking in zip(chosen, rankings, strict=True):
        new = [docid for docid in ranking.docids if docid not in seen]
        seen.update(new)
        records.append(SearchRecord(number, program, len(ranking), len(new), sum(docid in delivered for docid in new)))
    return Several(
        qid=fixed[0].qid,
        ranking=fused,
        searches=tuple(records),
        unique=len(seen),
        repeated=len(fixed) - len(distinct),
        over_budget=len(distinct) - len(chosen),
    )


def _distinct(programs: tuple[Program, ...]) -> list[tuple[int, Program]]:
    """The programs that differ in what is searched, each with its number from 1; the first of equals."""
    first: dict[tuple[tuple[Clause, ...], Scoring], tuple[int, Program]] = {}
    for number, program in enumerate(programs, start=1):
        clauses = tuple(replace(clause, source=None, df=None) for clause in program.clauses)
        first.setdefault((clauses, program.scoring), (number, program))
    return list(first.values())
