"""Our values against trec_eval's own code (pytrec_eval), on a thousand random runs."""

from __future__ import annotations

import random

import pytest

from sira.evaluate.metrics import evaluate
from sira.records import Ranking, Run

MEASURES = {
    "ndcg_cut_10": "nDCG@10",
    "ndcg_cut_100": "nDCG@100",
    "ndcg": "nDCG",
    "recall_10": "Recall@10",
    "recall_100": "Recall@100",
    "recip_rank": "MRR",
    "map": "MAP",
    "map_cut_10": "MAP@10",
}


def random_case(rng: random.Random) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments and a run of one to four topics: grades -1 to 3, up to 150 hits, scores with few or many ties."""
    documents = [f"doc-{number}" for number in range(200)]
    qrels: dict[str, dict[str, int]] = {}
    found: dict[str, dict[str, float]] = {}
    for number in range(rng.randint(1, 4)):
        judged = rng.sample(documents, rng.randint(1, 60))
        # pytrec_eval never returns from a topic whose grades are all negative.
        qrels[f"q{number}"] = {docid: rng.choice((-1, 0, 0, 1, 1, 2, 3)) for docid in judged[1:]} | {judged[0]: 1}
        levels = rng.choice((2, 20, 10**9))
        hits = rng.sample(documents, rng.randint(1, 150))
        found[f"q{number}"] = {docid: rng.randrange(levels) / 7 - 1 for docid in hits}
    return qrels, found


def test_a_thousand_random_runs_have_the_values_of_trec_eval() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = random.Random(20261201)
    compared = 0
    for _ in range(1000):
        qrels, found = random_case(rng)
        ranked = Run("random", {qid: Ranking.from_scores(scores) for qid, scores in found.items()})
        ours = evaluate(qrels, ranked, MEASURES.values(), ties="trec").per_topic
        asked = {"ndcg_cut.10,100", "ndcg", "recall.10,100", "recip_rank", "map", "map_cut.10"}
        theirs = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(found)
        for qid, values in theirs.items():
            for theirs_name, name in MEASURES.items():
                assert ours[name][qid] == pytest.approx(values[theirs_name], abs=1e-9), (qid, name, qrels, found)
                compared += 1
    assert compared >= 8000
