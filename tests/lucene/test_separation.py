"""The margin of a term: its share among the first hits less that among the next, by one search for each term."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sira.lucene.reader import Index
from sira.lucene.separation import FIRST, NEXT
from sira.program import Program, Scoring, TermClause
from sira.records import Document

pytestmark = pytest.mark.java

WORDS = ["kiln", "glaze", "raku", "shelf", "wash"]


def by_searches(index: Index, plain: Program, terms: list[str]) -> list[float]:
    """The documents that hold a term, found as a filter of the plain search."""
    ranked = index.search(plain, FIRST + NEXT).docids
    first, behind = set(ranked[:FIRST]), set(ranked[FIRST:])
    margins: list[float] = []
    for term in terms:
        clauses = (*plain.clauses, TermClause(term, occur="filter"))
        held = set(index.search(replace(plain, clauses=clauses), FIRST + NEXT).docids)
        margins.append(max(0.0, len(first & held) / FIRST - len(behind & held) / len(behind)))
    return [margin / max(margins) for margin in margins]


@pytest.mark.parametrize(
    "scoring", [Scoring(), Scoring(expansion_weight=0), Scoring(contents_weight=0), Scoring("sum", 1.2, 0.75)]
)
def test_the_shares_are_those_of_one_search_a_term(make_index: Callable[..., Path], scoring: Scoring) -> None:
    draw = random.Random(9)
    documents = [Document(f"d{n}", " ".join(draw.choices(WORDS, k=draw.randint(0, 6)))) for n in range(1500)]
    expansions = {
        f"d{n}": (draw.choices([*WORDS, "ash"], k=draw.randint(1, 4)), ["kiln shelf"] if n % 7 == 0 else [])
        for n in range(0, 1500, 2)
    }
    terms = [*WORDS, "ash", "kiln shelf", "absent"]
    plain = Program("q", (TermClause("kiln"), TermClause("raku", 0.3)), scoring)
    with Index(make_index(documents, expansions)) as index:
        assert index.separation(plain, terms) == by_searches(index, plain, terms)
        assert index.separation(plain, []) == []
        assert index.separation(plain, ["absent", "never"]) == [1.0, 1.0]
        few = Program("q", (*plain.clauses, TermClause("absent", occur="must")), scoring)
        assert index.separation(few, terms) == [1.0] * len(terms)
