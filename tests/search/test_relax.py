"""Relaxation on a real index: what is loosened, in which order, and what is said of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import (
    AnyOfClause,
    Clause,
    FacetClause,
    Occur,
    PhraseClause,
    Program,
    RangeClause,
    Scoring,
    TermClause,
)
from sira.records import Document
from sira.search.relax import Relaxed, RelaxSettings, document_frequencies, relaxed

pytestmark = pytest.mark.java
MakeIndex = Callable[..., Path]

DOCUMENTS = (
    Document("d1", "raku kiln", facets=("c:a",), values={"year": 1990}),
    Document("d2", "raku glaze", facets=("c:b",), values={"year": 2000}),
    Document("d3", "kiln glaze", facets=("c:a",), values={"year": 2010}),
    Document("d4", "celadon kiln", facets=("c:a",), values={"year": 2010}),
    Document("d5", "kiln shelf wash", values={"year": 2020}),
)


@pytest.fixture(scope="module")
def index(make_index: MakeIndex) -> Iterator[Index]:
    path = make_index(DOCUMENTS, {"d2": (["tenmoku"], ["tenmoku bowl"])}, value_fields={"year": "integer"})
    with Index(path) as opened:
        yield opened


def program(*clauses: Clause) -> Program:
    return Program("q", clauses)


def term(word: str, occur: Occur = "must") -> TermClause:
    return TermClause(word, occur=occur)


def told(found: Relaxed) -> list[tuple[list[str], str, int]]:
    return [([clause.label for clause in step.clauses], step.became, step.hits) for step in found.steps]


def test_a_program_that_finds_something_is_returned_as_it_is(index: Index) -> None:
    given = program(term("raku"), term("kiln"))
    found = relaxed(index, given, 10)
    assert found.program is given
    assert (found.ranking, found.steps, found.searches, found.why_empty) == (index.search(given, 10), (), 1, None)


def test_a_must_that_no_document_holds_becomes_should_and_the_others_stay(index: Index) -> None:
    found = relaxed(index, program(term("raku"), term("zzz"), TermClause("yyy", 2.0, "must")), 10)
    assert told(found) == [(["zzz", "yyy"], "should", 2)]
    assert found.steps[0].reason == "no document holds it"
    assert found.program == program(term("raku"), term("zzz", "should"), TermClause("yyy", 2.0, "should"))
    assert (found.ranking.docids, found.searches) == (("d1", "d2"), 2)


def test_the_rarest_must_goes_first_where_it_suffices(index: Index) -> None:
    found = relaxed(index, program(term("kiln"), term("raku"), term("celadon")), 10)
    assert told(found) == [(["celadon"], "should", 1)]
    assert found.steps[0].reason == "no document holds all required clauses together"
    assert (found.ranking.docids, found.searches) == (("d1",), 3)


def test_one_must_is_loosened_where_one_suffices_though_it_is_not_the_rarest(index: Index) -> None:
    found = relaxed(index, program(term("raku"), term("shelf"), term("wash")), 10)
    assert told(found) == [(["raku"], "should", 1)]
    assert found.ranking.docids == ("d5",)


def test_where_one_does_not_suffice_the_rarest_goes_and_the_trial_begins_again(index: Index) -> None:
    found = relaxed(index, program(term("raku"), term("shelf"), term("celadon")), 10)
    assert told(found) == [(["shelf"], "should", 0), (["celadon"], "should", 2)]
    assert [clause.occur for clause in found.program.clauses] == ["must", "should", "should"]


def test_without_trials_left_the_stage_is_loosened_whole(index: Index) -> None:
    given = program(term("raku"), term("shelf"), term("celadon"))
    found = relaxed(index, given, 10, RelaxSettings(max_trials=0))
    assert told(found) == [(["shelf", "celadon", "raku"], "should", 4)]
    assert found.ranking == index.search(program(*(term(word, "should") for word in ("raku", "shelf", "celadon"))), 10)
    assert found.searches == 2
    one = relaxed(index, given, 10, RelaxSettings(max_trials=1))
    assert (told(one), one.searches) == (told(found), 3)


def test_a_filter_is_taken_out_where_the_musts_are_not_at_fault(index: Index) -> None:
    years = RangeClause("year", gte=1900, lte=1950)
    found = relaxed(index, program(term("raku"), term("kiln"), years), 10)
    assert told(found) == [([years.label], "removed", 1)]
    assert found.steps[0].reason == "no document passes the filters"
    assert found.program == program(term("raku"), term("kiln"))


def test_documents_without_any_scored_word_are_no_reason_to_loosen_a_must(index: Index) -> None:
    # Loosening raku would leave the documents of 2010 and later, each with the score 0.
    found = relaxed(index, program(term("raku"), RangeClause("year", gte=2010)), 10)
    assert [step.became for step in found.steps] == ["removed"]
    assert found.ranking.docids == ("d1", "d2")


def test_musts_are_loosened_before_filters_where_either_would_do(index: Index) -> None:
    found = relaxed(index, program(term("raku"), term("kiln"), FacetClause("c:b", occur="filter")), 10)
    assert told(found) == [(["kiln"], "should", 1)]
    assert found.ranking.docids == ("d2",)


def test_a_filter_that_no_document_passes_is_taken_out_first(index: Index) -> None:
    found = relaxed(index, program(term("raku"), term("kiln"), FacetClause("c:zzz", occur="filter")), 10)
    assert told(found) == [(["c:zzz"], "removed", 1)]
    assert found.program == program(term("raku"), term("kiln"))


def test_of_filters_the_ranges_go_first_then_the_rarest(index: Index) -> None:
    filters = (FacetClause("c:a", occur="filter"), FacetClause("c:b", occur="filter"))
    assert told(relaxed(index, program(*filters), 10)) == [(["c:b"], "removed", 3)]
    years = RangeClause("year", gte=2020)
    assert told(relaxed(index, program(filters[0], years), 10)) == [([years.label], "removed", 3)]


def test_exclusions_go_last_and_only_if_allowed(index: Index) -> None:
    given = program(term("celadon", "should"), term("kiln", "must_not"))
    found = relaxed(index, given, 10)
    assert told(found) == [(["kiln"], "removed", 1)]
    assert found.steps[0].reason == "every document that matches is excluded"
    kept = relaxed(index, given, 10, RelaxSettings(stages=("must", "filter")))
    assert (kept.program, kept.steps, len(kept.ranking)) == (given, (), 0)
    assert kept.why_empty == "every document that matches is excluded by must_not clauses, which may not be loosened"


def test_a_program_that_weighs_nothing_says_so(index: Index) -> None:
    nothing = replace(program(term("kiln", "should")), scoring=Scoring(contents_weight=0, expansion_weight=0))
    for given in (program(replace(term("kiln", "should"), weight=0.0)), nothing):
        why = relaxed(index, given, 10).why_empty
        assert why == "what the program asks for has the weight 0, or stands in fields of weight 0"


def test_where_no_single_kind_helps_the_musts_go_whole_and_then_a_filter(index: Index) -> None:
    years = RangeClause("year", lte=1950)
    found = relaxed(index, program(term("celadon"), term("shelf"), years), 10)
    assert told(found) == [(["celadon", "shelf"], "should", 0), ([years.label], "removed", 2)]
    assert "no one kind" in found.steps[0].reason
    assert found.program == program(term("celadon", "should"), term("shelf", "should"))


def test_phrases_and_alternatives_are_judged_by_what_the_index_holds(index: Index) -> None:
    absent, present = PhraseClause(("glaze", "kiln"), occur="must"), PhraseClause(("kiln", "glaze"), occur="must")
    assert told(relaxed(index, program(present, absent), 10)) == [([absent.label], "should", 1)]
    either = AnyOfClause(("zzz", "yyy"), occur="must")
    assert told(relaxed(index, program(term("raku"), either), 10)) == [([either.label], "should", 2)]


def test_df_is_that_of_the_fields_that_the_scoring_searches(index: Index) -> None:
    clauses = (term("tenmoku"), term("tenmoku bowl"), term("raku"), AnyOfClause(("raku", "kiln")))
    clauses = (*clauses, PhraseClause(("kiln", "glaze")), FacetClause("c:a"), RangeClause("year", gte=1))
    assert document_frequencies(index, clauses, Scoring()) == [1, 1, 2, 4, 1, 3, None]
    assert document_frequencies(index, clauses, Scoring(expansion_weight=0))[:3] == [0, 0, 2]
    assert document_frequencies(index, clauses, Scoring(contents_weight=0))[:3] == [1, 1, 0]
    rolled_back = replace(program(term("tenmoku"), term("raku")), scoring=Scoring(expansion_weight=0))
    assert told(relaxed(index, rolled_back, 10)) == [(["tenmoku"], "should", 2)]


@pytest.mark.parametrize(
    ("clauses", "why"),
    [
        ((), "the program has no clause: no word of the query is left after analysis"),
        ((term("zzz", "should"),), "no document holds any word, phrase or facet that the program asks for"),
        ((term("zzz"),), "no document holds any word, phrase or facet that the program asks for"),
        ((term("kiln", "must_not"),), "the program only excludes documents and asks for none"),
        ((FacetClause("c:zzz", occur="filter"),), "the program's filters are gone, and it asks for nothing else"),
    ],
)
def test_an_empty_result_is_never_silent(index: Index, clauses: tuple[Clause, ...], why: str) -> None:
    found = relaxed(index, program(*clauses), 10)
    assert (len(found.ranking), found.why_empty, found.to_json()["why_empty"]) == (0, why, why)


def test_constraints_that_may_not_be_loosened_say_so(index: Index) -> None:
    found = relaxed(index, program(term("celadon"), term("shelf")), 10, RelaxSettings(stages=()))
    assert found.why_empty == "the constraints that may not be loosened match no document together"


def test_hits_are_counted_to_the_depth_of_the_search(index: Index) -> None:
    assert told(relaxed(index, program(term("kiln"), term("zzz")), 2)) == [(["zzz"], "should", 2)]


def test_the_json_form_tells_each_step(index: Index) -> None:
    assert relaxed(index, program(term("raku"), term("zzz")), 10).to_json() == {
        "qid": "q",
        "hits": 2,
        "searches": 2,
        "why_empty": None,
        "steps": [
            {"clauses": ["zzz"], "was": ["must"], "became": "should", "reason": "no document holds it", "hits": 2}
        ],
    }


def test_settings_name_the_fault() -> None:
    with pytest.raises(InputError, match="stage 'should' is not known: choose must, filter, must_not"):
        RelaxSettings(stages=("should",))  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="max_trials = -1"):
        RelaxSettings(max_trials=-1)


def random_program(chance: random.Random) -> Program:
    occurs: tuple[Occur, ...] = ("should", "must", "must", "must_not", "filter")
    words = ("raku", "kiln", "glaze", "celadon", "shelf", "wash", "zzz")
    clauses: list[Clause] = []
    for _ in range(chance.randint(1, 6)):
        occur = chance.choice(occurs)
        match chance.randrange(4):
            case 0:
                clauses.append(FacetClause(chance.choice(("c:a", "c:b", "c:z")), occur=occur))
            case 1:
                clauses.append(RangeClause("year", gte=chance.choice((1980, 2005, 2030)), occur=occur))
            case _:
                clauses.append(term(chance.choice(words), occur))
    return program(*clauses)


def test_any_program_that_asks_for_something_finds_it_within_bounded_searches(index: Index) -> None:
    chance, loosened = random.Random(20261201), 0
    for _ in range(300):
        given = random_program(chance)
        found = relaxed(index, given, 10)
        assert found.searches <= 9 + RelaxSettings().max_trials
        assert found == relaxed(index, given, 10)
        assert found.ranking == index.search(found.program, 10)
        loosened += bool(found.steps)
        asks = [clause for clause in given.clauses if clause.occur in ("should", "must")]
        if any(index.search(program(replace(clause, occur="should")), 1) for clause in asks):
            assert found.ranking, given
        assert bool(found.ranking) is (found.why_empty is None)
    assert loosened > 100
