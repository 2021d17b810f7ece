"""Replies with roles: what is read, what is mended, what is salvaged, and that nothing breaks the limits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sira.errors import InputError
from sira.llm.base import Finish
from sira.llm.parsing import ReplyLimits
from sira.llm.schema import ROLES, WEIGHTS, format_name, phrases_schema, sketch_schema
from sira.llm.sketch_reply import MAX_WEIGHT, ParsedSketch, SketchLimits, parse_sketch
from sira.records import SketchPhrase, Status

LIMITS = SketchLimits(ReplyLimits(3, 20, 4), max_facets=2, max_searches=2)


def parsed(reply: Any, finish: Finish = Finish.STOP, limits: SketchLimits = LIMITS) -> ParsedSketch:
    return parse_sketch(reply if isinstance(reply, str) else json.dumps(reply), finish, limits)


def test_all_that_a_reply_may_hold() -> None:
    reply = {
        "phrases": [{"text": "raku", "role": "must", "weight": 2}, {"text": " kiln  wash ", "role": "should"}],
        "facets": ["category:pottery"],
        "searches": [["glaze"], [{"text": "slip", "role": "must_not"}]],
    }
    assert parsed(reply) == ParsedSketch(
        Status.OK,
        (SketchPhrase("raku", "must", 2.0), SketchPhrase("kiln wash")),
        ("category:pottery",),
        ((SketchPhrase("glaze"),), (SketchPhrase("slip", "must_not"),)),
    )


@pytest.mark.parametrize(
    ("weight", "kept", "reason"),
    [
        ("10.5", 10.0, "clipped_weight"),
        ("-1", 0.0, "clipped_weight"),
        ("1" + "0" * 400, 10.0, "clipped_weight"),
        ("1e999", 10.0, "clipped_weight"),
        ("-Infinity", 0.0, "clipped_weight"),
        ("NaN", None, "bad_weight"),
        ("true", None, "bad_weight"),
        ('"2"', None, "bad_weight"),
        ("[]", None, "bad_weight"),
    ],
)
def test_a_weight_is_clipped_or_goes_and_is_counted(weight: str, kept: float | None, reason: str) -> None:
    found = parsed(f'{{"phrases":[{{"text":"raku","role":"should","weight":{weight}}}]}}')
    assert found.phrases == (SketchPhrase("raku", "should", kept),)
    assert found.dropped == {reason: 1}


@pytest.mark.parametrize("weight", ["0", "10", "0.5", "null"])
def test_a_weight_in_range_is_kept_as_it_is(weight: str) -> None:
    found = parsed(f'{{"phrases":[{{"text":"raku","role":"should","weight":{weight}}}]}}')
    assert found == ParsedSketch(Status.OK, (SketchPhrase("raku", "should", json.loads(weight)),))


@pytest.mark.parametrize("role", ["MUST", "maybe", "", 1, None, ["must"], {}])
def test_a_role_that_is_none_becomes_should_and_is_counted(role: object) -> None:
    found = parsed({"phrases": [{"text": "raku", "role": role}]})
    assert found == ParsedSketch(Status.OK, (SketchPhrase("raku"),), dropped={"bad_role": 1})


def test_a_phrase_without_a_role_is_an_ordinary_one() -> None:
    assert parsed({"phrases": [{"text": "raku"}]}) == ParsedSketch(Status.OK, (SketchPhrase("raku"),))


def test_never_more_than_asked_and_each_that_goes_is_counted() -> None:
    reply = {
        "phrases": [{"text": text} for text in ("a", "", "x" * 21, "b", "one two three four five", "c", "d", "e")],
        "facets": ["a:b", "none", ":b", "a:", "c:d", "e:f", 3],
        "searches": [["q"], [], "text", ["r"], ["s"]],
    }
    found = parsed(reply)
    assert [phrase.text for phrase in found.phrases] == ["a", "b", "c"]
    assert found.facets == ("a:b", "c:d")
    assert [[phrase.text for phrase in search] for search in found.searches] == [["q"], ["r"]]
    assert found.dropped == {
        "empty": 1, "over_long": 2, "over_quota": 4, "bad_facet": 3, "not_text": 2, "empty_search": 1
    }  # fmt: skip


def test_what_was_not_asked_for_is_not_read() -> None:
    reply = {"phrases": [{"text": "a"}], "facets": ["a:b"], "searches": [["q"]]}
    assert parsed(reply, limits=SketchLimits(LIMITS.phrases)) == ParsedSketch(Status.OK, (SketchPhrase("a"),))


def test_a_model_that_only_lists_strings_gives_its_phrases() -> None:
    expected = (SketchPhrase("kiln"), SketchPhrase("raku"))
    for text in ('{"phrases":["kiln","raku"]}', '["kiln", "raku"]', 'Here: {"phrases": ["kiln", "raku"]}.'):
        assert parsed(text) == ParsedSketch(Status.OK, expected)


WHOLE = (
    '{"phrases":[{"text":"raku","role":"must"},{"text":"kiln","role":"must_not"}],"facets":["a:b"],"searches":[["q"]]}'
)


@pytest.mark.parametrize(
    ("reply", "phrases", "facets", "searches"),
    [
        ('{"phrases":[{"text":"raku","role":"must"},{"text":"kiln","role":"mus', 1, 0, 0),
        ('{"phrases":[{"text":"raku","role":"must"},{"text":"ki', 1, 0, 0),
        ('{"phrases":[{"text":"raku","role":"must"}', 1, 0, 0),
        ('{"phrases":[{"text":"raku","role":"must"}],"facets":["a:b","c:', 1, 1, 0),
        ('{"phrases":[{"text":"raku","role":"must"}],"facets":["a:b"],"searches":[["q"],["r","s', 1, 1, 1),
        ('{"phrases":[{"text":"raku","role":"must"}],"facets":["a:b"]', 1, 1, 0),
    ],
)
def test_a_reply_that_breaks_off_keeps_what_was_complete(reply: str, phrases: int, facets: int, searches: int) -> None:
    for finish in (Finish.STOP, Finish.LENGTH):
        found = parsed(reply, finish)
        assert found.status is Status.TRUNCATED
        assert found.salvaged
        assert (len(found.phrases), len(found.facets), len(found.searches)) == (phrases, facets, searches)
        assert found.phrases[0] == SketchPhrase("raku", "must")


def test_each_prefix_of_a_reply_gives_a_prefix_of_its_constraints() -> None:
    complete = parsed(WHOLE)
    assert len(complete.phrases) == 2
    for end in range(len(WHOLE)):
        found = parsed(WHOLE[:end], Finish.LENGTH)
        assert found.phrases == complete.phrases[: len(found.phrases)]
        assert found.facets in ((), complete.facets)
        assert found.searches in ((), complete.searches)


def test_the_answer_after_thinking_and_inside_prose_is_read() -> None:
    draft = '<think>{"phrases":[{"text":"draft","role":"must"}]}</think>'
    for text in (draft + WHOLE, f"Sure!\n```json\n{WHOLE}\n```\n"):
        assert parsed(text).phrases == parsed(WHOLE).phrases
        assert parsed(text).status is Status.OK


@pytest.mark.parametrize("finish", [Finish.REFUSED, Finish.TOO_LONG, Finish.ERROR])
def test_of_a_call_that_failed_the_text_is_not_read(finish: Finish) -> None:
    assert parsed(WHOLE, finish) == ParsedSketch(Status(finish.value))


def test_a_refusal_and_prose_say_what_they_are() -> None:
    assert parsed("I'm sorry, I cannot help with that.").status is Status.REFUSED
    assert parsed("Pots stick because").status is Status.UNPARSABLE
    assert parsed({"phrases": []}).status is Status.EMPTY
    assert parsed({"phrases": [{"text": 1}]}).status is Status.UNPARSABLE


def test_a_loop_is_a_runaway_and_a_long_phrase_cut_off_is_one_too() -> None:
    many = '{"phrases":[' + '{"text":"raku","role":"should"},' * 40
    assert parsed(many, Finish.LENGTH).status is Status.RUNAWAY
    endless = '{"phrases":[{"text":"raku","role":"should"},{"text":"' + "word " * 8
    assert parsed(endless, Finish.LENGTH).status is Status.RUNAWAY
    short = '{"phrases":[{"text":"raku","role":"should"},{"text":"kiln","role":"must_n'
    assert parsed(short, Finish.LENGTH).status is Status.TRUNCATED


PIECES = st.sampled_from(
    ['{"phrases":[', '{"text":"', "raku", '"', ",", '"role":"must"', '"weight":', "1e9", "}", "]", '"facets":[', "a:b",
     '"searches":[[', "[", "{", "\\", " ", "<think>", "</think>", "NaN", "-", "\ud800", "\ufffd"]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(PIECES, max_size=60).map("".join), st.sampled_from(list(Finish)[:5]))
@example("[" * 50_000, Finish.STOP)
@example('{"phrases":[{"text":' + "[" * 50_000, Finish.STOP)
@example('{"phrases":[{"text":"a","weight":' + "9" * 5_000 + "}]}", Finish.STOP)
@example('{"phrases":[' * 20_000, Finish.LENGTH)
def test_no_text_breaks_the_parser_or_its_limits(text: str, finish: Finish) -> None:
    found = parse_sketch(text, finish, LIMITS)
    for phrases in (found.phrases, *found.searches):
        assert len(phrases) <= 3
        for phrase in phrases:
            assert 0 < len(phrase.text) <= 20
            assert phrase.weight is None or 0 <= phrase.weight <= MAX_WEIGHT
            phrase.text.encode()
    assert len(found.facets) <= 2
    assert len(found.searches) <= 2
    assert all(count > 0 for count in found.dropped.values())


def test_limits_below_zero_are_refused() -> None:
    with pytest.raises(InputError, match="max_facets = -1"):
        SketchLimits(LIMITS.phrases, max_facets=-1)


# The schema


def bounded(schema: Any) -> bool:
    """Whether every list and string of a schema has a bound and every object is closed and complete."""
    match schema["type"]:
        case "object":
            closed = schema["additionalProperties"] is False and schema["required"] == list(schema["properties"])
            return closed and all(bounded(member) for member in schema["properties"].values())
        case "array":
            return schema["maxItems"] >= 1 and bounded(schema["items"])
        case "string":
            return "enum" in schema or schema["pattern"].endswith("}$")
        case kind:
            return kind == "number" and "enum" in schema


def test_the_schema_is_bounded_everywhere_and_holds_what_is_asked_for() -> None:
    full = sketch_schema(12, weights=True, max_facets=4, max_searches=3)
    assert bounded(full)
    assert list(full["properties"]) == ["phrases", "facets", "searches"]
    phrase = full["properties"]["phrases"]["items"]
    assert list(phrase["properties"]) == ["text", "role", "weight"]
    assert tuple(phrase["properties"]["role"]["enum"]) == ROLES == ("should", "must", "must_not")
    assert all(0 <= weight <= MAX_WEIGHT for weight in WEIGHTS)
    plain = sketch_schema(12)
    assert bounded(plain)
    assert list(plain["properties"]) == ["phrases"]
    assert list(plain["properties"]["phrases"]["items"]["properties"]) == ["text", "role"]
    assert bounded(phrases_schema(12))
    assert format_name(full) == "phrases_facets_searches"
