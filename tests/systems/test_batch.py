"""Many topics under one system: order, errors, groups for a reranker, and the counts of how they were answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from sira.errors import InputError
from sira.llm import ModelSettings, Reply, Request, Tokenizer, Usage
from sira.lucene.reader import Index
from sira.program import Program, RangeClause
from sira.records import Document, Ranking, Topic
from sira.search.rerank import RerankSettings
from sira.systems import Answer, Sira, Tally, answer_topics, rerank_answers, search_program, topics_together
from tests.conftest import MakeIndex


class Model:
    """Scores a document by the number that its text is."""

    context_tokens: int | None = None
    tokenizer: Tokenizer | None = None
    pending: str | None = None

    def __init__(self) -> None:
        self.identity: Mapping[str, Any] = {}
        self.facts: Mapping[str, Any] = {}
        self.streams: list[int] = []

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        listed = list(requests)
        self.streams.append(len(listed))
        for request in listed:
            number = int(json.loads(request.key)[1].removeprefix("d"))
            yield Reply(request.key, json.dumps({"score": number}), usage=Usage(10, 1))

    def close(self) -> None: ...


def read(docids: Iterable[str]) -> list[Document | None]:
    return [Document(docid, docid) for docid in docids]


def answers(count: int) -> Iterator[Answer]:
    for n in range(count):
        yield Answer(f"t{n}", Ranking(("d1", "d2", "d3"), (3.0, 2.0, 1.0)), note={"route": {}}, llm_calls=1)


def test_documents_of_many_topics_are_scored_in_one_stream() -> None:
    model, texts = Model(), {f"t{n}": "query" for n in range(3)}
    settings = RerankSettings(top_n=2, model_weight=1)
    found = list(rerank_answers(answers(3), texts, read, model, settings, together=2))
    assert model.streams == [4, 2]
    assert [answer.qid for answer in found] == ["t0", "t1", "t2"]
    assert {answer.ranking.docids for answer in found} == {("d2", "d1", "d3")}
    assert (found[0].llm_calls, found[0].usage) == (3, Usage(20, 2))
    assert [item["model_score"] for item in found[0].note["rerank"]["judgements"]] == [1, 2]
    assert "route" in found[0].note


def test_files_of_requests_hold_all_topics() -> None:
    assert topics_together(ModelSettings.model_validate({"backend": "batch-file"})) is None
    assert topics_together(ModelSettings.model_validate({"backend": "local"})) == 64


@pytest.mark.java
def test_the_order_is_that_of_the_topics_and_an_error_names_its_topic(make_index: MakeIndex) -> None:
    class Failing:
        def answer(self, topic: Topic, index: Index, k: int) -> Answer:
            if topic.qid == "t3":
                return search_program(index, Program("t3", (RangeClause("year", gte=1),)), k)
            return Sira({}).answer(topic, index, k)

    topics = [Topic(f"t{n}", "kiln") for n in range(6)]
    with Index(make_index([Document("d1", "kiln")])) as index:
        assert [answer.qid for answer in answer_topics(Sira({}), topics, index, 5, threads=3)] == [
            topic.qid for topic in topics
        ]
        with pytest.raises(InputError, match=r"topic 't3'.*year"):
            list(answer_topics(Failing(), topics, index, 5, threads=2))


def test_the_tally_counts_what_notes_tell() -> None:
    tally = Tally()
    notes: list[dict[str, Any]] = [
        {"route": {"action": "plain", "fallback": False}},
        {"route": {"action": "compiled", "fallback": True}, "relax": {"steps": [{}]}},
        {"several": {"searches": [{"new": 10}, {"new": 4}], "unique": 14, "pages": 10, "over_budget": 3}},
        {"several": {"searches": [{"new": 20}], "unique": 20, "pages": 10, "over_budget": 0}, "relax": {"steps": []}},
        {"rerank": {"calls": 3, "unscored": {"error": 2}}},
        {"run": {"missing": True}},
    ]
    for n, note in enumerate(notes):
        tally.add(Answer(f"t{n}", Ranking(), note=note, searches=2))
    assert tally.to_json() == {
        "topics": 6,
        "searches": 12,
        "routing": {"compiled": 1, "plain": 1, "fallback": 1},
        "relaxed": 1,
        "new_pages": [{"topics": 2, "pages": 30}, {"topics": 1, "pages": 4}],
        "pages": {"topics": 2, "found": 34, "delivered": 20, "over_budget": 3},
        "rerank": {"topics": 1, "calls": 3, "unscored": {"error": 2}},
        "missing": 1,
    }
    assert list(tally.lines()) == [
        "routing: 1 compiled, 1 plain; 1 of 6 topics fell back for low confidence (fallback rate 16.7%)",
        "relaxation: 1 of 6 topics found nothing before it",
        "several searches: new pages by search, means: 15, 4",
        "rerank: 3 calls; documents without a score: 2 error",
    ]


def test_nothing_to_tell_is_nothing_told() -> None:
    tally = Tally()
    tally.add(Answer("t", Ranking()))
    assert (tally.to_json(), list(tally.lines())) == ({"topics": 1, "searches": 1}, [])
