"""Pseudo-relevance feedback: the formulas by hand, and Anserini's own figures on SciFact."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sira.compile import compile_sketch
from sira.corpora.collection import open_collection
from sira.errors import InputError
from sira.evaluate.metrics import evaluate
from sira.lucene.reader import Index
from sira.records import Document, Ranking, Run, Topic
from sira.search.feedback import FeedbackSettings, relevance_model, rocchio, with_feedback

MakeIndex = Callable[..., Path]


def test_the_relevance_model_by_hand() -> None:
    documents = [{"kiln": 3.0, "glaze": 1.0}, {"kiln": 1.0, "wash": 1.0}]
    found = relevance_model({"raku": 1.0, "kiln": 1.0}, documents, [2.0, 1.0], FeedbackSettings(terms=2))
    # P(w|RM): kiln 2 * 3/4 + 1 * 1/2 = 2, glaze 2 * 1/4 = 1/2, wash 1/2; the two heaviest: kiln, then glaze by name
    assert found == pytest.approx({"raku": 0.25, "kiln": 0.25 + 0.5 * 2 / 2.5, "glaze": 0.5 * 0.5 / 2.5})
    assert math.fsum(found.values()) == pytest.approx(1.0)


def test_each_document_gives_its_heaviest_words_only() -> None:
    documents = [{"kiln": 3.0, "glaze": 2.0, "wash": 1.0}]
    found = relevance_model({"raku": 1.0}, documents, [5.0], FeedbackSettings(terms=1, query_weight=0.25))
    assert found == pytest.approx({"raku": 0.25, "kiln": 0.75})


def test_words_with_other_signs_are_none_of_the_relevance_model() -> None:
    found = relevance_model({"raku": 1.0}, [{"naïve": 9.0, "b2b": 1.0}], [1.0], FeedbackSettings())
    assert set(found) == {"raku", "b2b"}


def test_rocchio_by_hand() -> None:
    found = rocchio({"raku": 2.0}, [{"kiln": 3.0, "raku": 4.0}, {"kiln": 1.0}], FeedbackSettings("rocchio", beta=0.5))
    mean = {"kiln": (0.6 + 1.0) / 2, "raku": 0.8 / 2}
    length = math.hypot(*mean.values())
    assert found == pytest.approx({"raku": 1 + 0.5 * mean["raku"] / length, "kiln": 0.5 * mean["kiln"] / length})


def test_without_hits_the_query_stands_alone() -> None:
    assert relevance_model({"raku": 1.0, "kiln": 3.0}, [], [], FeedbackSettings()) == {"raku": 0.25, "kiln": 0.75}
    assert rocchio({"raku": 2.0}, [], FeedbackSettings("rocchio")) == {"raku": 1.0}


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"method": "kl"}, "method = 'kl'"), ({"documents": 0}, "documents = 0"), ({"terms": 0}, "terms = 0"),
     ({"query_weight": 1.5}, "query_weight = 1.5"), ({"beta": float("nan")}, "beta = nan")],
)  # fmt: skip
def test_settings_that_cannot_be(settings: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        FeedbackSettings(**settings)  # pyright: ignore[reportArgumentType]


@pytest.mark.java
def test_feedback_adds_words_of_the_hits_and_leaves_common_ones(make_index: MakeIndex) -> None:
    documents = [Document("a", "raku kiln glaze", "the clay"), Document("b", "raku glaze")]
    documents += [Document(f"d{n}", f"clay number{n}") for n in range(30)]
    with Index(make_index(documents)) as index:
        plain = compile_sketch(Topic("q", "raku raku"), None, index)
        program = with_feedback(index, plain, index.search(plain), FeedbackSettings(query_weight=0.5))
        sources = {clause.label: clause.source for clause in program.clauses}
        assert sources == {"raku": None, "glaze": "rm3", "kiln": "rm3"}  # clay stands in more than a tenth
        assert math.fsum(clause.weight for clause in program.clauses) == pytest.approx(1.0)
        assert index.search(program).docids == ("b", "a")  # the shorter first
        nothing = with_feedback(index, plain, Ranking())
        assert [(clause.label, clause.weight) for clause in nothing.clauses] == [("raku", 1.0)]


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.skipif("SIRA_TEST_DATA" not in os.environ, reason="SIRA_TEST_DATA names no folder of collections")
def test_scifact_gives_the_figures_of_anserini(tmp_path: Path) -> None:
    """`SearchCollection -bm25 -rm3` and `-rocchio` of Anserini 2.2.0, on an index of its own."""
    from sira.lucene.writer import build_index

    collection = open_collection(f"beir:{os.environ['SIRA_TEST_DATA']}/scifact", "test")
    build_index(collection.documents, tmp_path / "index", progress=False)
    topics = [topic for topic in collection.topics if topic.qid in collection.qrels]
    figures: dict[str, float] = {}
    with Index(tmp_path / "index") as index:
        for method in ("rm3", "rocchio"):
            rankings: dict[str, Ranking] = {}
            for topic in topics:
                plain = compile_sketch(topic, None, index)
                program = with_feedback(index, plain, index.search(plain, 10), FeedbackSettings(method))  # pyright: ignore[reportArgumentType]
                rankings[topic.qid] = index.search(program, 10)
            figures[method] = evaluate(collection.qrels, Run(method, rankings), ["nDCG@10"]).mean["nDCG@10"]
    assert figures == pytest.approx({"rm3": 0.645734, "rocchio": 0.627763}, abs=1e-6)
