"""Choosing parameters: topics that count take no part in the choice."""

from __future__ import annotations

from benchmarks.learned import GRID, UNIFORM, Point, best, by_folds, folds, weighted
from sira.program import Program, TermClause

LOW, HIGH = UNIFORM[0], UNIFORM[1]
QIDS = [f"t{number}" for number in range(10)]


def test_each_topic_is_left_out_once() -> None:
    tables = {"one": {LOW: dict.fromkeys(QIDS, 0.0)}, "two": {LOW: dict.fromkeys(QIDS[:7], 0.0)}}
    left_out = list(folds(tables))
    assert sorted(qid for fold in left_out for qid in fold["one"]) == QIDS
    assert sorted(qid for fold in left_out for qid in fold["two"]) == QIDS[:7]


def test_the_mean_is_that_of_the_collections_however_many_topics_they_have() -> None:
    tables = {
        "large": {LOW: dict.fromkeys(QIDS, 0.5), HIGH: dict.fromkeys(QIDS, 0.4)},
        "small": {LOW: {"t0": 0.1}, HIGH: {"t0": 0.3}},
    }
    assert best(tables, {"large": QIDS, "small": ["t0"]}, [LOW, HIGH]) == HIGH
    assert best(tables, {"large": QIDS}, [LOW, HIGH]) == LOW


def test_a_topic_gets_the_value_of_what_the_others_chose() -> None:
    # HIGH is right on one topic alone and wins there by much: only the folds that may see the topic choose it.
    tables = {"one": {LOW: dict.fromkeys(QIDS, 0.1), HIGH: {**dict.fromkeys(QIDS, 0.0), "t3": 1.0}}}
    values, chosen = by_folds(tables, [LOW, HIGH])
    assert chosen.count(LOW) == 1
    assert values["one"]["t3"] == 0.1
    assert sorted(values["one"]) == QIDS


def test_a_weight_touches_what_the_sketch_added_alone() -> None:
    program = Program("t", (TermClause("own", 2.0), TermClause("added", 1.0, source="added words")))
    assert [clause.weight for clause in weighted(program, 0.25).clauses] == [2.0, 0.25]


def test_the_grid_holds_every_point_once() -> None:
    assert len(set(GRID)) == len(GRID)
    assert {point.weights for point in UNIFORM} == {"uniform"}
    assert str(Point(0.5, "soft", 3.0, "rank")) == "lambda 0.5, soft 3, rank"
