"""Sketches from a model: one call a topic, joined by qid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from sira.errors import EnvironmentFault
from sira.llm import Finish, Reply, Request, Tokenizer, Usage
from sira.llm.sketches import sketch_topics
from sira.prompts import load_prompt
from sira.records import Sketch, SketchPhrase, Status, Topic

TOPICS = [Topic("q1", "why do pots stick"), Topic("q2", "  "), Topic("q3", "what is raku")]


class Model:
    """Answers by qid, last request first."""

    context_tokens: int | None = None
    tokenizer: Tokenizer | None = None
    pending: str | None = None

    def __init__(self, texts: dict[str, str]) -> None:
        self.identity: Mapping[str, Any] = {}
        self.facts: Mapping[str, Any] = {}
        self.texts = texts
        self.asked: list[Request] = []

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        self.asked = list(requests)
        for request in reversed(self.asked):
            if request.key in self.texts:
                yield Reply(request.key, self.texts[request.key], Finish.STOP, Usage(10, 5))

    def close(self) -> None: ...


def test_each_topic_gets_its_own_sketch_and_one_without_text_is_not_sent() -> None:
    model = Model({"q1": '{"phrases": ["glaze runs", "kiln wash"]}', "q3": '{"phrases": ["smoke"]}'})
    found = {done.sketch.qid: done for done in sketch_topics(TOPICS, model, load_prompt("query-generic"))}
    assert found["q1"].sketch == Sketch("q1", (SketchPhrase("glaze runs"), SketchPhrase("kiln wash")))
    assert found["q3"].sketch == Sketch("q3", (SketchPhrase("smoke"),))
    assert (found["q2"].sketch, found["q2"].status) == (Sketch("q2"), Status.EMPTY)
    assert [request.key for request in model.asked] == ["q1", "q3"]
    assert model.asked[0].messages[-1].content == "<query>\nwhy do pots stick\n</query>"


def test_a_reply_that_is_no_json_gives_an_empty_sketch_that_says_so() -> None:
    model = Model({"q1": "Pots stick because", "q3": '{"phrases": ["smoke"]}'})
    found = {done.sketch.qid: done for done in sketch_topics(TOPICS, model, load_prompt("query-generic"))}
    assert (found["q1"].sketch, found["q1"].status) == (Sketch("q1"), Status.UNPARSABLE)


def test_never_more_phrases_than_the_prompt_asks_for() -> None:
    model = Model({"q1": json.dumps({"phrases": [f"p{number}" for number in range(40)]}), "q3": "{}"})
    found = {done.sketch.qid: done for done in sketch_topics(TOPICS, model, load_prompt("query-generic"))}
    assert [phrase.text for phrase in found["q1"].sketch.phrases] == [f"p{number}" for number in range(12)]


def test_a_model_without_a_reply_is_an_error_that_names_the_topic() -> None:
    with pytest.raises(EnvironmentFault, match=r"1 topics have no sketch \(first: 'q3'\)"):
        list(sketch_topics(TOPICS, Model({"q1": "{}"}), load_prompt("query-generic")))
