"""The measures, against values worked out or run elsewhere, and against trec_eval on random runs.

The first call of a machine compiles ranx's code, for some seconds; later ones read it from the cache.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sira.corpora.trec_writer import decreasing_scores
from sira.errors import InputError
from sira.evaluate.metrics import Measure, evaluate
from sira.records import Qrels, Ranking, Run


def run(rankings: Mapping[str, Mapping[str, float]]) -> Run:
    return Run("sira", {qid: Ranking.from_scores(scores) for qid, scores in rankings.items()})


def means(qrels: Qrels, rankings: Mapping[str, Mapping[str, float]], *measures: str, **options: object) -> list[float]:
    result = evaluate(qrels, run(rankings), measures, **options)  # type: ignore[arg-type]
    return [round(value, 4) for value in result.mean.values()]


def test_g28_the_self_hit_goes_before_the_cut() -> None:
    qrels, found = {"qA": {"d2": 1}}, {"qA": {"qA": 9.0, "d2": 8.0}}
    assert means(qrels, found, "nDCG@10", "MRR", ignore_self_hits=True) == [1.0, 1.0]
    assert means(qrels, found, "nDCG@10", "MRR") == [0.6309, 0.5]
    assert means(qrels, found, "nDCG@1", "Recall@1", "MRR@1", ignore_self_hits=True) == [1.0, 1.0, 1.0]


def test_g23_ties_by_either_rule_and_the_rule_is_named() -> None:
    qrels = {"q1": {"kiln-2": 1}}
    one, two = {"q1": {"kiln-2": 3.0, "kiln-1": 3.0}}, {"q1": {"kiln-2": 3.0, "kiln-9": 3.0}}
    assert means(qrels, one, "nDCG@10", "MRR", ties="trec") == [1.0, 1.0]
    assert means(qrels, two, "nDCG@10", "MRR", ties="trec") == [0.6309, 0.5]
    assert means(qrels, one, "nDCG@10", "MRR", ties="run") == [0.6309, 0.5]
    assert means(qrels, two, "nDCG@10", "MRR", ties="run") == [1.0, 1.0]
    assert "docid ascending" in evaluate(qrels, run(one), ["MRR"]).tie_rule
    assert "docid descending" in evaluate(qrels, run(one), ["MRR"], ties="trec").tie_rule


def test_g18_missing_topics_count_as_zero_and_extra_ones_not_at_all() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    result = evaluate(qrels, run({"q1": {"a": 1.0}}), ["nDCG@10"])
    assert result.mean == {"nDCG@10": 0.5}
    assert result.per_topic == {"nDCG@10": {"q1": 1.0, "q2": 0.0}}
    assert (result.topics, result.missing, result.extra) == (2, ("q2",), ())
    assert len(result.warnings) == 1
    assert "q2" in result.warnings[0]
    reverse = evaluate({"q1": {"a": 1}}, run({"q1": {"a": 1.0}, "q2": {"b": 1.0}}), ["nDCG@10"])
    assert reverse.mean == {"nDCG@10": 1.0}
    assert (reverse.missing, reverse.extra) == ((), ("q2",))
    assert len(reverse.warnings) == 1
    assert evaluate(qrels, run({"q1": {"a": 1.0}, "q2": {}}), ["nDCG@10"]).warnings == ()


def test_the_order_of_topics_in_run_and_qrels_does_not_matter() -> None:
    qrels = {"q2": {"b": 1}, "q1": {"a": 1}, "q3": {"c": 1}}
    found = {"q3": {"x": 2.0, "c": 1.0}, "q1": {"a": 1.0}, "q2": {"x": 2.0}}
    assert evaluate(qrels, run(found), ["MRR"]).per_topic["MRR"] == {"q2": 0.0, "q1": 1.0, "q3": 0.5}


def test_g19_score_zero_is_retrieved_and_the_cut_zero_is_refused() -> None:
    qrels, found = {"q": {"a": 1, "b": 1}}, {"q": {"a": 0.0, "b": 0.0}}
    assert means(qrels, found, "Recall@2") == [1.0]
    with pytest.raises(InputError, match="cut 0"):
        evaluate(qrels, run(found), ["Recall@0"])


def test_g20_gain_is_linear_and_said_to_be() -> None:
    qrels, found = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    assert means(qrels, found, "nDCG@10", "MRR") == [0.8597, 1.0]
    assert means(qrels, found, "nDCG@10", "MRR", relevance_level=2) == [0.8597, 0.5]
    assert evaluate(qrels, run(found), ["nDCG@10"]).gain == "linear (trec_eval)"


def test_g24_documents_not_found_count_in_the_ideal_ranking() -> None:
    assert means({"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 1.0}}, "nDCG@10", "Recall@10") == [0.4693, 0.3333]


def test_g25_nothing_relevant_found_is_zero_and_so_are_zero_judgments() -> None:
    qrels = {"q": {"z": 1}, "p": {"a": 1}}
    result = evaluate(qrels, run({"q": {"a": 1.0}, "p": {"a": 1.0}}), ["nDCG@10", "MAP", "MRR"])
    assert {name: values["q"] for name, values in result.per_topic.items()} == {"nDCG@10": 0.0, "MAP": 0.0, "MRR": 0.0}
    assert set(result.mean.values()) == {0.5}
    assert means({"q": {"a": 0}}, {"q": {"a": 1.0}}, "nDCG@10", "MAP", "MRR", "Recall@5") == [0.0] * 4


def test_g37_dangling_documents_stay_in_the_denominator() -> None:
    assert means({"q1": {"d404": 1, "d1": 1}}, {"q1": {"d1": 1.0}}, "Recall@10") == [0.5]


@pytest.mark.parametrize("found", [{}, {"q1": {}}, {"q1": {}, "q2": {}}])
def test_runs_without_any_hit_are_zero(found: dict[str, dict[str, float]]) -> None:
    assert means({"q1": {"a": 1}, "q2": {"b": 2}}, found, "nDCG@10", "Recall@10", "MRR@10", "MAP") == [0.0] * 4


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_refused_by_name(score: float) -> None:
    bad = Run("r", {"q1": Ranking(("a", "b"), (1.0, score))})
    with pytest.raises(InputError, match=r"'q1'.*'b'"):
        evaluate({"q1": {"a": 1}}, bad, ["MAP"])


def test_rankings_that_are_none_are_refused() -> None:
    for ranking, words in ((Ranking(("a", "a"), (2.0, 1.0)), "twice"), (Ranking(("a", "b"), (1.0, 2.0)), "descending")):
        with pytest.raises(InputError, match=words):
            evaluate({"q1": {"a": 1}}, Run("r", {"q1": ranking}), ["MAP"])


def test_empty_qrels_and_no_measure_are_refused() -> None:
    with pytest.raises(InputError, match="no topic"):
        evaluate({}, run({}), ["MAP"])
    with pytest.raises(InputError, match="no measure"):
        evaluate({"q": {"a": 1}}, run({}), [])
    with pytest.raises(InputError, match="ties"):
        evaluate({"q": {"a": 1}}, run({}), ["MAP"], ties="random")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="relevance_level"):
        evaluate({"q": {"a": 1}}, run({}), ["MAP"], relevance_level=0)


@pytest.mark.parametrize(
    ("text", "name"),
    [("ndcg@10", "nDCG@10"), ("NDCG@5", "nDCG@5"), ("R@100", "Recall@100"), ("recall@7", "Recall@7"),
     ("rr@10", "MRR@10"), ("mrr", "MRR"), ("map", "MAP"), ("MAP@100", "MAP@100"), (" nDCG ", "nDCG")],
)  # fmt: skip
def test_names_of_measures_in_any_case(text: str, name: str) -> None:
    assert str(Measure.parse(text)) == name
    assert Measure.parse(name) == Measure.parse(text)


@pytest.mark.parametrize("text", ["P@10", "nDCG@", "nDCG@ten", "nDCG@-1", "nDCG@1.5", "", "bpref", "nDCG@٣"])
def test_an_unknown_measure_lists_the_known_ones(text: str) -> None:
    with pytest.raises(InputError, match=r"nDCG@k, Recall@k \(R@k\), MRR@k, MRR, MAP@k or MAP"):
        Measure.parse(text)


def test_recall_needs_a_cut() -> None:
    with pytest.raises(InputError, match="Recall@100"):
        Measure.parse("recall")


def test_more_topics_than_fit_one_batch_keep_their_values() -> None:
    qrels = {f"q{n}": {f"d{n % 7}": 1} for n in range(600)}
    found = {f"q{n}": {f"d{rank}": -float(rank) for rank in range(n % 11)} for n in range(600)}
    values = evaluate(qrels, run(found), ["MRR"]).per_topic["MRR"]
    assert values == pytest.approx({f"q{n}": 1 / (n % 7 + 1) if n % 7 < n % 11 else 0.0 for n in range(600)})


def test_threads_may_evaluate_at_once() -> None:
    qrels, found = {f"q{n}": {"a": 1} for n in range(50)}, run({f"q{n}": {"b": 2.0, "a": 1.0} for n in range(50)})
    results: list[float] = []

    def work() -> None:
        results.extend(evaluate(qrels, found, ["MRR"]).mean["MRR"] for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [0.5] * 80


# Few documents and few scores, so that most rankings have ties; two scores are one and the same in 32 bits.
docids = st.sampled_from(["a", "b", "c", "d-1", "d-10", "d-2", "Z", "é", "\U0001f3fa", "1"])
qids = st.sampled_from(["q1", "q2", "q3"])
# pytrec_eval never returns from a topic whose grades are all negative, so each topic has another one too.
grades = st.dictionaries(docids, st.integers(-1, 3), min_size=1).filter(lambda judged: max(judged.values()) >= 0)
judgments = st.dictionaries(qids, grades, min_size=1)
rankings = st.dictionaries(
    qids, st.dictionaries(docids, st.sampled_from([0.0, 1.0, 1.0 + 1e-9, 2.5, -1.0]), min_size=1), min_size=1
)
TREC_NAMES = {
    "ndcg_cut_3": "nDCG@3",
    "ndcg": "nDCG",
    "recall_3": "Recall@3",
    "recip_rank": "MRR",
    "map": "MAP",
    "map_cut_3": "MAP@3",
}


@settings(deadline=None)
@given(judgments, rankings)
def test_trec_mode_equals_trec_eval(qrels: dict[str, dict[str, int]], found: dict[str, dict[str, float]]) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    ours = evaluate(qrels, run(found), TREC_NAMES.values(), ties="trec").per_topic
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg_cut.3", "ndcg", "recall.3", "recip_rank", "map", "map_cut.3"}
    )
    for qid, values in evaluator.evaluate(found).items():
        for trec_name, name in TREC_NAMES.items():
            assert ours[name][qid] == pytest.approx(values[trec_name], abs=1e-9), (trec_name, qid)


@settings(deadline=None)
@given(judgments, rankings)
def test_run_mode_equals_ir_measures_on_the_scores_that_the_writer_prints(
    qrels: dict[str, dict[str, int]], found: dict[str, dict[str, float]]
) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    ordered = run(found)
    printed = {
        qid: dict(zip(ranking.docids, decreasing_scores(ranking.scores), strict=True))
        for qid, ranking in ordered.rankings.items()
    }
    names = {
        ir_measures.nDCG @ 5: "nDCG@5",
        ir_measures.R @ 5: "Recall@5",
        ir_measures.RR @ 5: "MRR@5",
        ir_measures.AP: "MAP",
    }
    theirs = ir_measures.calc_aggregate(list(names), qrels, printed)
    ours = evaluate(qrels, ordered, names.values()).mean
    assert len(theirs) == len(names)
    for measure, value in theirs.items():
        assert ours[names[measure]] == pytest.approx(value, abs=1e-9), measure
