"""Layers, where labels were lost, ranks, citations: by hand on small runs, by another tool on random ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from sira.corpora.trec import read_run
from sira.corpora.trec_writer import write_run
from sira.errors import InputError
from sira.evaluate.agents.citations import citation_quality
from sira.evaluate.agents.episodes import Episode
from sira.evaluate.agents.fates import Fate, fate_counts, label_fates
from sira.evaluate.agents.prefix import prefix_metrics, surfaced_run, writable
from sira.evaluate.agents.reading import read_episode
from sira.evaluate.agents.recall import layered_recall
from sira.evaluate.agents.spending import hit_depth, spread
from tests.evaluate.agents.run_folders import random_run

QRELS = {"q1": {"a": 1, "b": 1, "c": 2, "d": 1, "x": 0}, "q2": {"e": 1}, "q9": {"z": 1}}
ONE = Episode(
    "q1", status="completed", answer="so [d] [n]", surfaced=("n", "a", "b", "c"), previewed=("b", "c", "n"),
    opened=("c", "n"), cited=("d", "n"), file="q1.json",
)  # fmt: skip
TWO = Episode("q2", status="timeout", surfaced=("e",), previewed=(), opened=(), cited=(), file="q2.json")
NONE = Episode("q3", status="completed", answer="x", surfaced=("m", "n"), file="q3.json")


def test_layers_macro_micro_and_sizes() -> None:
    found = layered_recall([ONE, TWO, NONE], QRELS)
    shown = {layer: (item.macro, item.micro, item.hits, item.labels) for layer, item in found.items()}
    assert shown == {
        "surfaced": ((0.75 + 1) / 2, 4 / 5, 4, 5),
        "previewed": (0.25, 2 / 5, 2, 5),
        "opened": (0.125, 1 / 5, 1, 5),
        "cited": (0.125, 1 / 5, 1, 5),
        "behaviour": (0.25, 2 / 5, 2, 5),
    }
    assert found["surfaced"].size == (4 + 1 + 2) / 3
    assert found["surfaced"].per_question == {"q1": 0.75, "q2": 1.0}


def test_a_question_without_a_label_is_left_out_or_counts_as_zero() -> None:
    assert layered_recall([ONE, NONE], QRELS)["surfaced"].macro == 0.75
    counted = layered_recall([ONE, NONE], QRELS, zero_labels="pi-serini")["surfaced"]
    assert (counted.macro, counted.micro) == (0.375, 0.75)
    with pytest.raises(InputError, match="choose skip or pi-serini"):
        layered_recall([ONE], QRELS, zero_labels="zero")  # pyright: ignore[reportArgumentType]


def test_a_layer_that_was_not_recorded_has_no_recall() -> None:
    found = layered_recall([Episode("q1", surfaced=("a",), previewed=None, opened=None, cited=())], QRELS)
    assert found["surfaced"].macro == 0.25
    assert (found["previewed"].macro, found["previewed"].size, found["behaviour"].recorded) == (None, None, 0)


def test_where_each_label_was_lost() -> None:
    fates = {item.docid: (item.fate, item.rank) for item in label_fates([ONE, TWO], QRELS)}
    assert fates == {
        "a": (Fate.NOT_PREVIEWED, 2),
        "b": (Fate.NOT_OPENED, 3),
        "c": (Fate.NOT_CITED, 4),
        "d": (Fate.CITED, None),  # cited although it never surfaced
        "e": (Fate.NOT_PREVIEWED, 1),
    }
    counts = fate_counts(label_fates([Episode("q9"), ONE], QRELS))
    assert [counts[fate] for fate in Fate] == [1, 1, 1, 1, 1]
    assert {item.docid for item in label_fates([ONE], QRELS, level=2)} == {"c"}


def test_fates_and_recalls_say_the_same_on_random_runs() -> None:
    rows, qrels, _ = random_run(60, 3)
    episodes = [read_episode(row) for row in rows]
    recall, counts = layered_recall(episodes, qrels), fate_counts(label_fates(episodes, qrels))
    assert sum(counts.values()) == recall["surfaced"].labels
    assert counts[Fate.NOT_RETRIEVED] == recall["surfaced"].labels - recall["surfaced"].hits
    assert counts[Fate.NOT_PREVIEWED] == recall["surfaced"].hits - recall["previewed"].hits
    assert counts[Fate.NOT_OPENED] == recall["previewed"].hits - recall["opened"].hits
    assert counts[Fate.CITED] == recall["cited"].hits
    ranks = hit_depth({qid: [1, None, 3] for qid in ("q1",)} | {"q2": [None]})
    assert (ranks.with_hits, ranks.without_hits, ranks.hits) == (1, 1, 2)
    assert ranks.first is not None
    assert ranks.first.mean == 1


def test_the_surfaced_order_is_what_trec_eval_says_of_its_run(tmp_path: Path) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rows, qrels, _ = random_run(40, 5)
    run = surfaced_run([read_episode(row) for row in rows], "agent")
    write_run(tmp_path / "run.trec", run)
    found = prefix_metrics(run, qrels, gain="linear")
    again = read_run(tmp_path / "run.trec")
    scores = {qid: dict(zip(ranking.docids, ranking.scores, strict=True)) for qid, ranking in again.rankings.items()}
    names = {"Recall@100": "recall_100", "Recall@1000": "recall_1000", "nDCG@10": "ndcg_cut_10", "MAP": "map"}
    oracle = pytrec_eval.RelevanceEvaluator(qrels, {"recall.100,1000", "ndcg_cut.10", "map"}).evaluate(scores)
    for ours, theirs in names.items():
        assert found[ours] == pytest.approx({qid: values[theirs] for qid, values in oracle.items()}, abs=1e-6)


def test_ids_that_a_trec_file_cannot_carry_are_told() -> None:
    run, lost = writable(surfaced_run([Episode("q1", surfaced=("a b", "c")), Episode("q 2", surfaced=("d",))], "x"))
    assert run.rankings["q1"].docids == ("c",)
    assert list(run.rankings) == ["q1"]
    assert lost == ("q1", "q 2")


def test_citations_of_answers() -> None:
    silent = Episode("q2", status="completed", answer="x", cited=(), file="q2.json")
    found = citation_quality([ONE, silent, NONE, TWO], QRELS)
    assert (found.answers, found.citing, found.mean_citations) == (2, 1, 1.0)
    assert (found.precision, found.recall) == (0.5, 0.125)
    assert (found.micro_precision, found.micro_recall, found.unopened) == (0.5, 1 / 5, 1)
    nothing = citation_quality([NONE], QRELS)
    assert (nothing.answers, nothing.precision, nothing.recall) == (0, None, None)


def test_a_spread_interpolates() -> None:
    found = spread([4, 1, 3, 2])
    assert found is not None
    assert (found.least, found.p25, found.median, found.mean, found.p75, found.most) == (1, 1.75, 2.5, 2.5, 3.25, 4)
    alone = spread([7.0])
    assert alone is not None
    assert set(alone.row().values()) == {1, 7.0}
    assert spread([]) is None
