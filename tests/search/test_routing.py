"""Routing: predictors against values worked out by hand, and each way a topic can go."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from sira.compile.statistics import TableStatistics
from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import Program, TermClause
from sira.records import Document, Ranking, Topic
from sira.search.routing import Action, Decision, Thresholds, predictors, route, route_counts

STATISTICS = TableStatistics(1000, {"raku": 4, "kiln": 100, "wash": 200, "the": 1000, "glaze": 1})


def ranking(*scores: float) -> Ranking:
    return Ranking(tuple(f"d{n:02}" for n in range(len(scores))), scores)


CLEAR = ranking(9.0, 5.0, *[4.0] * 10)
FLAT = ranking(4.4, *[4.0] * 11)  # 1.1 times
ALIKE = ranking(4.1, *[4.0] * 11)  # 1.02 times


def lucene_idf(df: int) -> float:
    return math.log(1 + (1000 - df + 0.5) / (df + 0.5))


def test_predictors_before_the_search() -> None:
    found = predictors(Topic("q", "raku kiln raku unknown"), STATISTICS)
    assert found == {
        "words": 4,
        "distinct": 3,
        "known": 2,
        "max_idf": pytest.approx(lucene_idf(4)),
        "average_idf": pytest.approx((lucene_idf(4) + lucene_idf(100)) / 2),
        "max_idf_share": pytest.approx(lucene_idf(4) / lucene_idf(1)),
        "scq_sum": pytest.approx((1 + math.log(4)) * math.log(251) + (1 + math.log(100)) * math.log(11)),
        "scq_max": pytest.approx((1 + math.log(100)) * math.log(11)),
    }


def test_predictors_of_the_ranking() -> None:
    found = predictors(Topic("q", "raku"), STATISTICS, ranking(6.0, 4.0, 2.0, 1.0), score_depth=3)
    assert (found["hits"], found["top_ratio"]) == (4, 3.0)
    assert found["score_variation"] == pytest.approx(math.sqrt(8 / 3) / 4)
    shorter = predictors(Topic("q", "raku"), STATISTICS, ranking(6.0, 4.0), score_depth=3)
    assert (shorter["hits"], shorter["top_ratio"]) == (2, 1.5)
    zeros = predictors(Topic("q", "raku"), STATISTICS, ranking(0.0, 0.0))
    assert (zeros["top_ratio"], zeros["score_variation"]) == (1.0, 0.0)


def test_an_empty_collection_has_predictors() -> None:
    found = predictors(Topic("q", "raku"), TableStatistics(0, {}), Ranking())
    assert (found["known"], found["max_idf_share"], found["hits"], found["top_ratio"]) == (0, 0.0, 0, 1.0)


@pytest.mark.parametrize(
    ("text", "hits", "action", "reason"),
    [
        (
            "raku kiln",
            CLEAR,
            "plain",
            "head query: 2 known words, a word with 83% of the largest idf, "
            "and the first hit scores 2.25 times as much as that of rank 10",
        ),
        ("raku kiln", FLAT, "plain", "head query: 2 known words, a word with 83% of the largest idf, and the first"),
        ("raku kiln", ALIKE, "compiled", "one compiled search: neither a clear head query nor a long question"),
        ("raku kiln", None, "compiled", "one compiled search: no scores to judge by"),
        (
            "raku",
            ranking(4.0, 4.0),
            "plain",
            "head query: 1 known word, a word with 83% of the largest idf, and only 2",
        ),
        ("raku kiln glaze the", CLEAR, "compiled", "one compiled search: neither"),  # four words
        ("raku kiln unknown", CLEAR, "compiled", "one compiled search: neither"),
        ("wash", CLEAR, "compiled", "one compiled search: neither"),  # no rare word
        ("raku " * 40, FLAT, "several", "a question of 40 words, and no first hit that stands out"),
        ("raku " * 39, FLAT, "compiled", "one compiled search: neither"),
        ("raku " * 40, CLEAR, "compiled", "one compiled search: neither"),
        ("raku " * 40, None, "compiled", "one compiled search: no scores"),
        ("", None, "compiled", "low confidence: no word of the query is left after analysis"),
        ("unknown words", None, "compiled", "low confidence: no word of the query is in the index"),
        ("raku unknown words", CLEAR, "compiled", "low confidence: only 1 of 3 words are in the index"),
        ("raku kiln", Ranking(), "compiled", "low confidence: plain BM25 finds nothing"),
        ("the", CLEAR, "compiled", "low confidence: the rarest word has 0% of the largest idf"),
    ],
)
def test_each_way(text: str, hits: Ranking | None, action: Action, reason: str) -> None:
    decision = route(Topic("q", text), STATISTICS, hits)
    assert decision.action == action
    assert decision.reason.startswith(reason)
    assert decision.fallback is reason.startswith("low confidence")
    assert decision.predictors == predictors(Topic("q", text), STATISTICS, hits)


def test_thresholds_move_the_borders_and_name_another_fallback() -> None:
    topic = Topic("q", "raku kiln")
    assert route(topic, STATISTICS, ALIKE, Thresholds(head_ratio=1.02)).action == "plain"
    assert route(topic, STATISTICS, CLEAR, Thresholds(head_ratio=2.26)).action == "compiled"
    assert route(topic, STATISTICS, CLEAR, Thresholds(head_idf_share=0.84)).action == "compiled"
    assert route(topic, STATISTICS, CLEAR, Thresholds(head_words=1)).action == "compiled"
    long = Topic("q", "raku kiln raku kiln")
    assert route(long, STATISTICS, FLAT, Thresholds(several_words=4)).action == "several"
    assert route(long, STATISTICS, FLAT, Thresholds(several_words=4, clear_ratio=1.1)).action == "compiled"
    with_agent = route(Topic("q", "zzz"), STATISTICS, None, Thresholds(fallback="agent"))
    assert (with_agent.action, with_agent.fallback) == ("agent", True)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"head_words": -1}, "head_words = -1: give 0 or more"),
        ({"score_depth": 1}, "score_depth = 1: give 2 or more"),
        ({"known_share": 1.5}, "known_share = 1.5: give a share between 0 and 1"),
        ({"clear_ratio": math.inf}, "clear_ratio = inf: give a finite number >= 1"),
        ({"head_ratio": 0.9}, "head_ratio = 0.9: give a finite number >= 1"),
        ({"fallback": "guess"}, "fallback = 'guess': choose plain, compiled, several, agent"),
    ],
)
def test_thresholds_name_the_fault(settings: dict[str, int | float | str], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        Thresholds(**settings)  # pyright: ignore[reportArgumentType]


def test_the_rate_of_fallbacks_is_counted_apart_from_the_action() -> None:
    decisions = [Decision("plain", ""), Decision("compiled", "", fallback=True), Decision("agent", "", fallback=True)]
    assert route_counts(decisions) == {"plain": 1, "compiled": 1, "several": 0, "agent": 1, "fallback": 2}
    assert sum(route_counts([]).values()) == 0


@pytest.mark.java
def test_an_open_index_answers_for_its_statistics(make_index: Callable[..., Path]) -> None:
    documents = [Document(f"d{n:02}", "kiln shelf" if n else "raku raku kiln") for n in range(30)]
    with Index(make_index(documents)) as index:
        topic = Topic("q", "Raku kilns")
        hits = index.search(Program("q", (TermClause("raku"), TermClause("kiln"))), 10)
        decision = route(topic, index, hits)
    assert (decision.action, decision.predictors["max_idf_share"], decision.predictors["known"]) == ("plain", 1.0, 2)
    assert decision.predictors["top_ratio"] == hits.scores[0] / hits.scores[9]
