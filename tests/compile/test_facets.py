"""Facets and ranges of sketches: checked against a real index, a category graph and the topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.categories import CategoryGraph, CategoryValidator
from sira.categories.build import build_graph
from sira.compile import CompileSettings, FacetValidator, Safety, TableStatistics, compile_sketch
from sira.compile.ranges import states
from sira.compile.sketches import sketch_from_json, sketch_to_json
from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import FacetClause, Program, RangeClause, program_from_json, program_to_json
from sira.programtext import program_from_text, program_to_text
from sira.records import Document, Outcome, Sketch, SketchRange, Topic
from tests.categories.wiki import WIKI, sql_dumps

MakeIndex = Callable[..., Path]
TOPIC = Topic("q", "physicists between 1900 and 1950")
KEPT, UNSEEN, INVALID, DUPLICATE = Outcome.KEPT, Outcome.UNSEEN, Outcome.INVALID, Outcome.DUPLICATE
FORBIDDEN, GUESS, QUOTA, UNTRACEABLE = Outcome.FORBIDDEN, Outcome.ANSWER_GUESS, Outcome.OVER_QUOTA, Outcome.UNTRACEABLE


@pytest.fixture(scope="module")
def index(make_index: MakeIndex) -> Iterator[Index]:
    documents = [
        Document("newton", "a physicist", facets=("category:1643_births", "category:Physics"),
                 values={"year": 1687, "published": "1687-07-05", "score": 0.5}),
        Document("bohr", "a physicist", facets=("category:Physics", "country:Denmark"),
                 values={"year": 1913, "published": "1913-07-01", "score": 1.5}),
        Document("ada", "a mathematician", facets=("category:NATO members",), values={"year": 1843}),
    ]  # fmt: skip
    fields = {"year": "integer", "published": "date", "score": "number"}
    with Index(make_index(documents, value_fields=fields)) as opened:
        yield opened


@pytest.fixture(scope="module")
def categories(tmp_path_factory: pytest.TempPathFactory) -> FacetValidator:
    folder = tmp_path_factory.mktemp("categories")
    build_graph(sql_dumps(WIKI, folder), folder / "graph")
    return CategoryValidator(CategoryGraph.open(folder / "graph"))


def compiled(
    index: Index,
    facets: tuple[str, ...] = (),
    ranges: tuple[SketchRange, ...] = (),
    *,
    topic: Topic = TOPIC,
    validator: FacetValidator | None = None,
    by_model: bool = False,
    safety: Safety | None = None,
    **settings: int,
) -> Program:
    sketch = Sketch("q", facets=facets, ranges=ranges, by_model=by_model)
    chosen = CompileSettings(**settings)  # pyright: ignore[reportArgumentType]
    program = compile_sketch(topic, sketch, index, chosen, safety, facets=validator)
    assert program_from_json(program_to_json(program)) == program
    assert program_from_text(program_to_text(program)) == program
    index.search(program, 10)
    return program


def log(program: Program) -> list[tuple[str, Outcome, str | None]]:
    return [(item.term, item.outcome, item.suggestion) for item in program.verdicts]


def outcomes(program: Program) -> list[Outcome]:
    return [item.outcome for item in program.verdicts]


pytestmark = pytest.mark.java


def test_the_graph_respells_valid_categories_and_refuses_others_with_a_suggestion(
    index: Index, categories: FacetValidator
) -> None:
    proposed = ("category:1643 births", "category:Natural_philosophy", "category:Phisics", "category:Zzzz", "year:1643")
    program = compiled(index, proposed, validator=categories)
    assert log(program) == [
        ("category:1643_births", KEPT, None),
        ("category:Physics", KEPT, None),
        ("category:Phisics", INVALID, "category:Physics"),
        ("category:Zzzz", INVALID, None),
        ("year:1643", UNSEEN, None),
    ]
    assert program.clauses[-2:] == (
        FacetClause("category:1643_births", 0.5, "should", "category:1643 births", 1),
        FacetClause("category:Physics", 0.5, "should", "category:Natural_philosophy", 2),
    )
    assert [item.phrase for item in program.verdicts] == list(proposed)


def test_two_spellings_of_one_category_count_once(index: Index, categories: FacetValidator) -> None:
    program = compiled(index, ("category:1643 births", "category:1643_births"), validator=categories)
    assert outcomes(program) == [KEPT, DUPLICATE]


def test_a_known_category_that_no_document_has_is_unseen(index: Index, categories: FacetValidator) -> None:
    assert log(compiled(index, ("category:Chemistry",), validator=categories)) == [("category:Chemistry", UNSEEN, None)]


@pytest.mark.parametrize(
    ("proposed", "suggestion"),
    [
        ("category:physics", "category:Physics"),
        ("Category:PHYSICS", "category:Physics"),
        ("category:1643 births", "category:1643_births"),
        ("category:NATO_members", "category:NATO members"),
        ("country:denmark", "country:Denmark"),
        ("country:Norway", None),
        ("continent:Europe", None),
        ("no facet at all", None),
    ],
)
def test_an_unseen_facet_suggests_another_spelling(index: Index, proposed: str, suggestion: str | None) -> None:
    assert log(compiled(index, (proposed,))) == [(proposed, UNSEEN, suggestion)]


@pytest.mark.parametrize("value", ["", " ", "x" * 100_000, "Physics" * 20_000, "\x00", "|#<>[]{}"])
def test_categories_that_nobody_would_write_are_invalid(index: Index, categories: FacetValidator, value: str) -> None:
    ((_, outcome, _),) = log(compiled(index, (f"category:{value}",), validator=categories))
    assert outcome is INVALID


def test_facets_pass_the_policy_and_the_detection_of_guesses(index: Index, categories: FacetValidator) -> None:
    safety = Safety(lambda text: "names" if "denmark" in text else None, answer_guesses=True)
    program = compiled(index, ("country:Denmark", "category:Physics", "category:1643_births"), safety=safety)
    assert [(item.outcome, item.reason) for item in program.verdicts] == [
        (FORBIDDEN, "names"),
        (GUESS, "Physics"),
        (GUESS, "1643"),
    ]
    physics = Safety(lambda text: "names" if text == "physics" else None)
    respelt = compiled(index, ("category:Natural_philosophy",), validator=categories, safety=physics)
    assert [(item.term, item.outcome) for item in respelt.verdicts] == [("category:Natural_philosophy", FORBIDDEN)]
    passing = Safety(answer_guesses=True, allowed=frozenset({"physics"}))
    assert outcomes(compiled(index, ("category:Physics",), safety=passing)) == [KEPT]


# Ranges


def test_a_range_narrows_or_prefers(index: Index) -> None:
    topic = Topic("q", "physicist")
    narrowed = compiled(index, ranges=(SketchRange("year", 1900, 1950),), topic=topic)
    assert narrowed.clauses[-1] == RangeClause("year", 1900, 1950, 1.0, "filter", "year:[1900 TO 1950]")
    assert index.search(narrowed, 10).docids == ("bohr",)
    preferred = compiled(index, ranges=(SketchRange("year", lte=1700, role="should"),), topic=topic)
    assert preferred.clauses[-1].weight == 0.5
    assert index.search(preferred, 10).docids == ("newton", "bohr")


@pytest.mark.parametrize(
    ("proposed", "reason", "suggestion"),
    [
        (SketchRange("yaer", 1900), "declared: year:integer, published:date, score:number", "year:[1900 TO *]"),
        (SketchRange("Year", 1900), "no such field", "year:[1900 TO *]"),
        (SketchRange("pages", 1), "no such field", None),
        (SketchRange("year", "MCM"), "'MCM' is no integer", None),
        (SketchRange("year", 1900.5), "1900.5' is no integer", None),
        (SketchRange("year", 1950, 1900), "lower bound is above", "year:[1900 TO 1950]"),
        (SketchRange("published", 1900, "1950"), "'1900' is no date", "published:[1900-01-01 TO 1950-12-31]"),
        (SketchRange("published", "1900-13-01"), "is no date", None),
        (SketchRange("published", "1950-01-01", "1900-01-01T00:00:00Z"), "above",
         "published:[1900-01-01T00:00:00Z TO 1950-01-01]"),
        (SketchRange("score", "high"), "'high' is no number", None),
    ],
)  # fmt: skip
def test_a_range_that_cannot_be_is_invalid(
    index: Index, proposed: SketchRange, reason: str, suggestion: str | None
) -> None:
    program = compiled(index, ranges=(proposed,))
    (verdict,) = program.verdicts
    assert (verdict.outcome, verdict.suggestion) == (INVALID, suggestion)
    assert verdict.reason is not None
    assert reason in verdict.reason
    assert not any(isinstance(clause, RangeClause) for clause in program.clauses)


def test_bounds_are_read_as_the_index_reads_them(index: Index) -> None:
    ranges = (SketchRange("year", "1900", 1950.0), SketchRange("published", "1900-01-01"), SketchRange("score", 1))
    assert outcomes(compiled(index, ranges=ranges)) == [KEPT] * 3


def test_a_filter_of_a_model_holds_where_the_topic_states_it(index: Index) -> None:
    stated, invented = SketchRange("year", 1900, 1950), SketchRange("year", 1800)
    program = compiled(index, ranges=(stated, invented), by_model=True)
    assert [(item.term, item.outcome) for item in program.verdicts] == [
        ("year:[1900 TO 1950]", KEPT),
        ("year:[1800 TO *]", UNTRACEABLE),
        ("year:[1800 TO *]", KEPT),
    ]
    assert [clause.occur for clause in program.clauses if isinstance(clause, RangeClause)] == ["filter", "should"]
    assert outcomes(compiled(index, ranges=(invented,))) == [KEPT]


@pytest.mark.parametrize(
    ("topic", "proposed", "occur"),
    [
        ("born before 1900", SketchRange("year", 1900), "should"),
        ("born before 1900", SketchRange("year", None, 1900), "filter"),
        ("born after 1900", SketchRange("year", None, 1900), "should"),
        ("born after 1900", SketchRange("year", 1901), "filter"),
        ("born after 1900 and before 1950", SketchRange("year", None, 1950), "filter"),
        ("born before 1900", SketchRange("year", 1900, 1900), "filter"),
    ],
)
def test_a_filter_of_a_model_looks_where_the_topic_looks(
    index: Index, topic: str, proposed: SketchRange, occur: str
) -> None:
    program = compiled(index, ranges=(proposed,), topic=Topic("q", topic), by_model=True)
    assert [clause.occur for clause in program.clauses if isinstance(clause, RangeClause)] == [occur]


@pytest.mark.parametrize(
    ("topic", "proposed", "stated"),
    [
        ("between 1990 and 2000", SketchRange("year", 1990, 2000), True),
        ("in the 1990s", SketchRange("year", 1990, 1999), True),
        ("in the 1990s", SketchRange("year", 1990, 2000), False),
        ("19th century painters", SketchRange("year", 1801, 1900), True),
        ("after 2000", SketchRange("year", 2001), True),
        ("since 2000", SketchRange("year", 2001), False),
        ("before 2000", SketchRange("year", None, 1999), True),
        ("before 2000", SketchRange("year", 2001), False),
        ("more than 1,500 pages", SketchRange("pages", 1500), True),
        ("at least 2.5 stars", SketchRange("score", 2.5), True),
        ("at least 2.5 stars", SketchRange("score", 5), False),
        ("p53 in 12 mice", SketchRange("n", 53), False),
        ("in 1990", SketchRange("day", "1990-01-01", "1990-12-31"), True),
        ("in 1990", SketchRange("day", "1990-06-15"), False),
        ("on 1990-06-15", SketchRange("day", "1990-06-15", "1990-06-15"), True),
        ("recent papers", SketchRange("year", 2020), False),
    ],
)
def test_what_a_topic_states(topic: str, proposed: SketchRange, stated: bool) -> None:
    assert states(topic, proposed) is stated


@given(
    st.text(max_size=40),
    st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
)
def test_what_a_topic_states_is_decided_for_any_text(topic: str, bound: float | str) -> None:
    assert states(topic, SketchRange("year", bound)) in (True, False)
    if isinstance(bound, int) and bound >= 0:
        assert states(f"since {bound}", SketchRange("year", bound)) or bound > 2**53


def test_ranges_pass_the_policy_and_the_detection_of_guesses(index: Index) -> None:
    forbids = Safety(lambda text: "scores" if text.startswith("score:") else None)
    program = compiled(index, ranges=(SketchRange("score", 1),), safety=forbids)
    assert [(item.outcome, item.reason) for item in program.verdicts] == [(FORBIDDEN, "scores")]
    guessed = compiled(index, ranges=(SketchRange("year", 1913, role="should"),), safety=Safety(answer_guesses=True))
    assert [(item.outcome, item.reason) for item in guessed.verdicts] == [(GUESS, "1913")]
    undeclared = (SketchRange("color", 1913, role="should"),)
    assert outcomes(compiled(index, ranges=undeclared, safety=Safety(answer_guesses=True))) == [INVALID]


def test_statistics_without_declared_fields_take_no_range() -> None:
    sketch = Sketch("q", ranges=(SketchRange("year", 1900),))
    program = compile_sketch(TOPIC, sketch, TableStatistics(10, {}))
    assert outcomes(program) == [INVALID]
    declared = TableStatistics(10, {}, value_fields={"year": "integer"})
    assert outcomes(compile_sketch(TOPIC, sketch, declared)) == [KEPT]


def test_a_range_proposed_twice_counts_once(index: Index) -> None:
    assert outcomes(compiled(index, ranges=(SketchRange("year", 1900),) * 2)) == [KEPT, DUPLICATE]


# Quotas


def test_quotas_by_kind_keep_the_earlier_of_equals_and_filters(index: Index) -> None:
    facets = ("category:Physics", "country:Denmark", "category:1643_births")
    ranges = (SketchRange("year", 1, role="should"), SketchRange("score", 0), SketchRange("year", 2))
    program = compiled(index, facets, ranges, max_facets=1, max_ranges=2)
    assert outcomes(program) == [KEPT, QUOTA, QUOTA, QUOTA, KEPT, KEPT]
    assert all(item.weight is None for item in program.verdicts if item.outcome is QUOTA)
    none = compiled(index, facets, ranges, max_facets=0, max_ranges=0)
    assert set(outcomes(none)) == {QUOTA}
    assert len(none.clauses) == 4


def test_quotas_below_zero_are_refused() -> None:
    for name in ("max_terms", "max_phrases", "max_facets", "max_ranges"):
        with pytest.raises(InputError, match=f"{name} = -1"):
            CompileSettings(**{name: -1})  # pyright: ignore[reportArgumentType]


# As JSON


def test_ranges_come_back_from_their_row() -> None:
    search = Sketch("q", ranges=(SketchRange("day", lte="2000-01-01"),))
    sketch = Sketch(
        "q", searches=(search,), ranges=(SketchRange("year", 1900, 1950), SketchRange("s", 0.5, role="should"))
    )
    row = sketch_to_json(sketch)
    assert row["ranges"] == [
        {"field": "year", "gte": 1900, "lte": 1950},
        {"field": "s", "gte": 0.5, "role": "should"},
    ]
    assert sketch_from_json(row, "here") == sketch


@pytest.mark.parametrize(
    ("ranges", "named"),
    [
        ({"year": 1}, "`ranges` must be a list"),
        ([{"field": "y", "gte": 1}] * 101, "at most 100"),
        (["year"], "'year'"),
        ([{"gte": 1}], "field"),
        ([{"field": "", "gte": 1}], "name"),
        ([{"field": "year"}], "neither gte nor lte"),
        ([{"field": "year", "gte": True}], "the bound True"),
        ([{"field": "year", "gte": float("nan")}], "the bound nan"),
        ([{"field": "year", "gte": 10**30}], "64 bits"),
        ([{"field": "year", "gte": [1]}], "a bound is a number"),
        ([{"field": "year", "gte": 1, "role": "must"}], "'must'"),
        ([{"field": "year", "gte": 1, "role": 1}], "role 1"),
        ([{"field": "year", "from": 1}], "from"),
    ],
)
def test_ranges_that_cannot_be_are_refused_by_place(ranges: object, named: str) -> None:
    with pytest.raises(InputError, match=r"here: topic 'q'") as caught:
        sketch_from_json({"qid": "q", "ranges": ranges}, "here")
    assert named in str(caught.value)
