"""Sketches from a model: one call a topic, joined by qid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from sira.errors import EnvironmentFault, InputError
from sira.llm import Finish, Reply, Request, Tokenizer, Usage
from sira.llm.schema import phrases_schema, sketch_schema
from sira.llm.sketches import ROLES_MAX_TOKENS, Sketched, SketchForm, default_prompt, sketch_topics
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
    assert found["q1"].sketch == Sketch("q1", (SketchPhrase("glaze runs"), SketchPhrase("kiln wash")), by_model=True)
    assert found["q3"].sketch == Sketch("q3", (SketchPhrase("smoke"),), by_model=True)
    assert (found["q2"].sketch, found["q2"].status) == (Sketch("q2", by_model=True), Status.EMPTY)
    assert [request.key for request in model.asked] == ["q1", "q3"]
    assert model.asked[0].schema == phrases_schema(12)
    assert model.asked[0].messages[-1].content == "<query>\nwhy do pots stick\n</query>"


def test_a_reply_that_is_no_json_gives_an_empty_sketch_that_says_so() -> None:
    model = Model({"q1": "Pots stick because", "q3": '{"phrases": ["smoke"]}'})
    found = {done.sketch.qid: done for done in sketch_topics(TOPICS, model, load_prompt("query-generic"))}
    assert (found["q1"].sketch, found["q1"].status) == (Sketch("q1", by_model=True), Status.UNPARSABLE)


def test_never_more_phrases_than_the_prompt_asks_for() -> None:
    model = Model({"q1": json.dumps({"phrases": [f"p{number}" for number in range(40)]}), "q3": "{}"})
    found = {done.sketch.qid: done for done in sketch_topics(TOPICS, model, load_prompt("query-generic"))}
    assert [phrase.text for phrase in found["q1"].sketch.phrases] == [f"p{number}" for number in range(12)]


def test_a_model_without_a_reply_is_an_error_that_names_the_topic() -> None:
    with pytest.raises(EnvironmentFault, match=r"1 topics have no sketch \(first: 'q3'\)"):
        list(sketch_topics(TOPICS, Model({"q1": "{}"}), load_prompt("query-generic")))


# Several samples, and roles


def one(texts: dict[str, str], samples: int = 3, form: SketchForm | None = None) -> tuple[Sketched, list[Request]]:
    model = Model(texts)
    (found,) = sketch_topics(
        [Topic("q", "raku")], model, load_prompt("query-generic"), seed=40, samples=samples, form=form
    )
    return found, model.asked


def test_samples_differ_by_seed_and_become_one_sketch_rank_by_rank() -> None:
    replies = {"0:q": '{"phrases":["a","b","c"]}', "1:q": '{"phrases":["b"]}', "2:q": '{"phrases":["d","e"]}'}
    found, asked = one(replies)
    assert [(request.key, request.seed) for request in asked] == [("0:q", 40), ("1:q", 41), ("2:q", 42)]
    assert len({request.messages for request in asked}) == 1
    assert found.sketch.samples == 3
    assert [(phrase.text, phrase.sample) for phrase in found.sketch.phrases] == [
        ("a", 0), ("b", 1), ("d", 2), ("b", 0), ("e", 2), ("c", 0)
    ]  # fmt: skip
    assert (found.status, found.usage, found.failed, found.detail) == (Status.OK, Usage(30, 15), 0, None)


def test_a_sample_that_failed_does_not_count_and_is_told() -> None:
    found, _ = one({"0:q": "prose", "1:q": '{"phrases":["b"]}', "2:q": '{"phrases":[]}'})
    assert (found.sketch.samples, found.status, found.failed, found.errors) == (2, Status.OK, 1, 0)
    assert found.detail == "1 of 3 replies failed (unparsable)"
    assert [(phrase.text, phrase.sample) for phrase in found.sketch.phrases] == [("b", 1)]


def test_where_all_samples_fail_the_sketch_is_empty_and_says_so() -> None:
    found, _ = one({"0:q": "prose", "1:q": "I cannot do this.", "2:q": "more"})
    assert (found.sketch.phrases, found.status, found.failed) == ((), Status.UNPARSABLE, 3)


def test_samples_of_topics_whose_names_look_like_keys_are_not_mixed_up() -> None:
    topics = [Topic("q", "raku"), Topic("1:q", "slip")]
    texts = {"0:q": "a", "1:q": "b", "0:1:q": "c", "1:1:q": "d"}
    model = Model({key: json.dumps({"phrases": [text]}) for key, text in texts.items()})
    found = {done.sketch.qid: done for done in sketch_topics(topics, model, load_prompt("query-generic"), samples=2)}
    assert {qid: [phrase.text for phrase in done.sketch.phrases] for qid, done in found.items()} == {
        "q": ["a", "b"], "1:q": ["c", "d"]
    }  # fmt: skip


def test_roles_facets_and_searches_of_a_reply_are_in_the_sketch() -> None:
    reply = {
        "phrases": [{"text": "raku", "role": "must", "weight": 99}],
        "facets": ["a:b", "c:d"],
        "searches": [["slip"], ["wash"]],
    }
    form = SketchForm(roles=True, weights=True, facets=1, searches=2)
    found, (request,) = one({"q": json.dumps(reply)}, 1, form)
    assert request.schema == sketch_schema(12, weights=True, max_facets=1, max_searches=2)
    assert request.max_tokens == ROLES_MAX_TOKENS
    assert found.sketch == Sketch(
        "q",
        (SketchPhrase("raku", "must", 10.0),),
        ("a:b",),
        searches=(
            Sketch("q", (SketchPhrase("slip"),), by_model=True),
            Sketch("q", (SketchPhrase("wash"),), by_model=True),
        ),
        by_model=True,
    )
    assert found.dropped == {"clipped_weight": 1, "over_quota": 1}


def test_samples_together_hold_no_more_facets_and_searches_than_asked() -> None:
    replies = {
        f"{n}:q": json.dumps({"phrases": [], "facets": [f"a:{n}", "b:c"], "searches": [[f"s{n}"]]}) for n in range(3)
    }
    found, _ = one(replies, form=SketchForm(roles=True, facets=2, searches=2))
    assert found.sketch.facets == ("a:0", "b:c")
    assert [search.phrases[0].text for search in found.sketch.searches] == ["s0", "s1"]


@pytest.mark.parametrize(
    ("form", "named"),
    [
        ({"facets": 1}, "ask for roles too"),
        ({"weights": True}, "ask for roles too"),
        ({"roles": True, "facets": 21}, "facets = 21: give 0 to 20"),
        ({"roles": True, "searches": -1}, "searches = -1: give 0 to 10"),
    ],
)
def test_a_form_that_cannot_be_asked_for_is_refused(form: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        SketchForm(**form)


@pytest.mark.parametrize(("samples", "seed"), [(0, 0), (101, 0), (2, 2**31 - 1)])
def test_samples_and_seeds_out_of_range_are_refused(samples: int, seed: int) -> None:
    with pytest.raises(InputError, match=f"samples = {samples} from seed {seed}"):
        list(sketch_topics(TOPICS, Model({}), load_prompt("query-generic"), samples=samples, seed=seed))


def test_weak_models_are_asked_briefly_and_roles_have_a_prompt_of_their_own() -> None:
    assert default_prompt("local", SketchForm()) == "query-brief"
    assert default_prompt("openai", SketchForm()) == "query-generic"
    assert default_prompt("local", SketchForm(roles=True)) == "query-constraints"
