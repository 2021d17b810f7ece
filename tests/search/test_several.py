"""Several searches on a real index: the budget of pages, what each search adds, and that none knows of another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import Program, TermClause
from sira.records import Document, Ranking
from sira.search.fusion import reciprocal_rank_fusion
from sira.search.several import Budget, search_several

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def index(make_index: Callable[..., Path]) -> Iterator[Index]:
    texts = ("raku kiln", "raku glaze", "kiln glaze", "celadon kiln", "kiln shelf wash")
    with Index(make_index([Document(f"d{n}", text) for n, text in enumerate(texts, start=1)])) as opened:
        yield opened


def program(*words: str, qid: str = "q", source: str | None = None) -> Program:
    return Program(qid, tuple(TermClause(word, source=source) for word in words))


def test_rankings_are_fused_and_the_new_pages_of_each_search_counted(index: Index) -> None:
    programs = [program("raku"), program("glaze"), program("kiln"), program("zzz")]
    found = search_several(index, programs)
    assert found.ranking == reciprocal_rank_fusion([index.search(item, 100) for item in programs])
    assert [(item.number, item.hits, item.new, item.delivered) for item in found.searches] == [
        (1, 2, 2, 2), (2, 2, 1, 1), (3, 4, 2, 2), (4, 0, 0, 0)
    ]  # fmt: skip
    assert (found.unique, found.repeated, found.over_budget) == (5, 0, 0)


def test_no_more_pages_than_the_budget_are_delivered_or_searched_for(index: Index) -> None:
    found = search_several(index, [program("raku"), program("glaze"), program("kiln")], Budget(max_pages=2))
    assert len(found.ranking) == 2
    assert [item.hits for item in found.searches] == [2, 2, 2]
    assert found.unique == sum(item.new for item in found.searches) == 3
    assert sum(item.delivered for item in found.searches) == 2


def test_an_equal_program_votes_once_whatever_phrase_it_came_from(index: Index) -> None:
    once = search_several(index, [program("raku"), program("glaze")])
    again = search_several(index, [program("raku"), program("raku", source="raku"), program("glaze")])
    assert again.ranking == once.ranking
    assert ([item.number for item in again.searches], again.repeated) == ([1, 3], 1)


def test_searches_over_the_budget_are_told_and_not_run(index: Index) -> None:
    found = search_several(index, [program("raku"), program("glaze"), program("kiln")], Budget(max_searches=2))
    assert ([item.number for item in found.searches], found.over_budget) == ([1, 2], 1)


def test_all_programs_are_fixed_before_the_first_search(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    search = Index.search

    def watched(self: Index, asked: Program, k: int = 1000) -> Ranking:
        searched.append(asked.clauses[0].label)
        return search(self, asked, k)

    def programs() -> Iterator[Program]:
        for word in ("raku", "glaze"):
            assert searched == []
            yield program(word)

    monkeypatch.setattr(Index, "search", watched)
    search_several(index, programs())
    assert searched == ["raku", "glaze"]


def test_one_program_is_its_own_ranking_in_order(index: Index) -> None:
    assert search_several(index, [program("kiln")]).ranking.docids == index.search(program("kiln"), 100).docids


def test_the_json_form(index: Index) -> None:
    assert search_several(index, [program("raku")]).to_json() == {
        "qid": "q",
        "pages": 2,
        "unique": 2,
        "repeated": 0,
        "over_budget": 0,
        "searches": [{"number": 1, "hits": 2, "new": 2, "delivered": 2}],
    }


def test_faults_are_named(index: Index) -> None:
    with pytest.raises(InputError, match="no program to run"):
        search_several(index, [])
    with pytest.raises(InputError, match="programs of topics 'a' and 'b'"):
        search_several(index, [program("raku", qid="a"), program("raku", qid="b")])
    with pytest.raises(InputError, match="max_pages = 0: give 1 or more"):
        Budget(max_pages=0)
