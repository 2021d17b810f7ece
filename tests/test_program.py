"""Programs as JSON, and what no program may hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sira.errors import ProgramError
from sira.program import (
    AnyOfClause,
    FacetClause,
    PhraseClause,
    Program,
    RangeClause,
    Scoring,
    TermClause,
    program_from_json,
    program_to_json,
)
from sira.records import Outcome, Verdict

PROGRAM = Program(
    "q1",
    (
        TermClause("kiln", 1.5, df=3),
        TermClause("raku kiln", 0.5),
        PhraseClause(("raku", "kiln"), 0.25, "must"),
        AnyOfClause(("glaze", "wash")),
        FacetClause("year:1927", 2, "must_not"),
        RangeClause("year", gte=1900, lte=None),
        RangeClause("published", gte="2020-01-01"),
    ),
    Scoring("sum", 25, 1, 0.3),
    (Verdict("raku", "raku", Outcome.TOO_COMMON, 60),),
    "kiln 😞",
)


def test_round_trip_through_text() -> None:
    text = json.dumps(program_to_json(PROGRAM))
    again = program_from_json(json.loads(text))
    assert again == PROGRAM
    assert json.dumps(program_to_json(again)) == text


def test_a_program_by_hand_needs_little() -> None:
    program = program_from_json({"qid": "q", "clauses": [{"kind": "term", "term": "kiln"}]})
    assert program == Program("q", (TermClause("kiln"),))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"clauses": [{"kind": "term", "term": "kiln", "weight": -1}]}, "kiln"),
        ({"clauses": [{"kind": "term", "term": "kiln", "weight": 1e31}]}, "kiln"),
        ({"clauses": [{"kind": "term", "term": "kiln", "weight": float("nan")}]}, "kiln"),
        ({"clauses": [{"kind": "term", "term": "kiln", "occur": "perhaps"}]}, "occur"),
        ({"clauses": [{"kind": "term", "term": "kiln", "weight": True}]}, "clauses.0.weight"),
        ({"clauses": [{"kind": "term", "term": "kiln", "weight": "2"}]}, "clauses.0.weight"),
        ({"clauses": [{"kind": "term", "term": "kiln", "df": "2"}]}, "clauses.0.df"),
        ({"clauses": [{"kind": "range", "field": "year", "lte": False}]}, "clauses.0.lte"),
        ({"scoring": {"k1": True}}, "scoring.k1"),
        ({"schema_version": True}, "schema_version"),
        ({"verdicts": [{"phrase": "a", "term": "a", "outcome": "kept", "df": "2"}]}, "verdicts.0.df"),
        ({"clauses": [{"kind": "term", "term": ""}]}, "empty term"),
        ({"clauses": [{"kind": "phrase", "terms": ["kiln"]}]}, "two or more"),
        ({"clauses": [{"kind": "any_of", "terms": []}]}, "any_of"),
        ({"clauses": [{"kind": "facet", "facet": ""}]}, "empty facet"),
        ({"clauses": [{"kind": "range", "field": "year"}]}, "neither gte nor lte"),
        ({"clauses": [{"kind": "spell"}]}, "clauses.0"),
        ({"clauses": {}}, "clauses"),
        ({"scoring": {"k1": -1}}, "k1"),
        ({"scoring": {"b": 2}}, "b = 2"),
        ({"scoring": {"combine": "max"}}, "combine"),
        ({"schema_version": 99}, "schema_version 99"),
        ({"clauses": [{"kind": "term", "term": "kiln", "weigth": 9}]}, "weigth"),
        ({"scoring": {"k3": 1}}, "k3"),
        ({"must": ["kiln"]}, "must"),
    ],
)
def test_refusals_name_the_fault(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ProgramError) as caught:
        program_from_json({"qid": "q", **change})
    assert named in str(caught.value)


@pytest.mark.parametrize("data", [None, [], "kiln", 3, {}])
def test_what_is_no_program_is_refused(data: object) -> None:
    with pytest.raises(ProgramError):
        program_from_json(data)


def test_a_verdict_says_more_where_there_is_more_and_its_weight_is_a_float() -> None:
    verdicts = (
        Verdict("a:b", "a:b", Outcome.INVALID, reason="no such facet", suggestion="a:c"),
        Verdict("kiln", "kiln", Outcome.KEPT, 1, 2),
    )
    data = program_to_json(Program("q", verdicts=verdicts))
    assert program_from_json(json.loads(json.dumps(data))) == Program("q", verdicts=verdicts)
    assert list(data["verdicts"]) == [
        {"phrase": "a:b", "term": "a:b", "outcome": "invalid", "df": None, "weight": None, "reason": "no such facet",
         "suggestion": "a:c"},
        {"phrase": "kiln", "term": "kiln", "outcome": "kept", "df": 1, "weight": 2.0},
    ]  # fmt: skip
    assert json.dumps(data["verdicts"][1]).endswith('"weight": 2.0}')
