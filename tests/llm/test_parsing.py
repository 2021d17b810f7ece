"""Replies of language models: what is read from them, and that no half phrase ever is."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.errors import InputError
from sira.llm.base import Finish
from sira.llm.parsing import Parsed, ReplyLimits, parse_phrases
from sira.records import Status

LIMITS = ReplyLimits(max_phrases=12, max_characters=64)
WIDE = ReplyLimits(max_phrases=1_000, max_characters=100_000)
STOP, LENGTH = Finish.STOP, Finish.LENGTH


def parsed(text: str, finish: Finish = STOP, limits: ReplyLimits = LIMITS) -> Parsed:
    return parse_phrases(text, finish, limits)


def ok(*phrases: str, **dropped: int) -> Parsed:
    return Parsed(Status.OK, phrases, dropped)


def salvaged(*phrases: str, status: Status = Status.OK, **dropped: int) -> Parsed:
    return Parsed(status, phrases, dropped, salvaged=True)


def without(status: Status, **dropped: int) -> Parsed:
    return Parsed(status, (), dropped)


def normal(phrase: str) -> str:
    """The documented form: control characters out, white space as single blanks."""
    kept = "".join(c for c in phrase if c.isspace() or not (c < " " or "\x7f" <= c <= "\x9f"))
    return " ".join(kept.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"phrases": ["kiln glaze", "raku firing"]}', ok("kiln glaze", "raku firing")),
        (' \ufeff{"phrases":["a b"]}\n', ok("a b")),
        ('{"keywords": ["a b"], "note": ["x"]}', ok("a b")),
        ('{"search_phrases": ["a b"]}', ok("a b")),
        ('{"queries": ["a b"], "count": 1, "scores": [0.5]}', ok("a b")),
        ('{"queries": ["a b"], "others": ["c d"]}', without(Status.UNPARSABLE)),
        ('[{"phrases": ["a b"]}]', ok("a b")),
        ('["a b","c d"]', ok("a b", "c d")),
        ("[1, 2]", without(Status.UNPARSABLE)),
        ('{"phrases": [1, 2]}', without(Status.UNPARSABLE, not_text=2)),
        ('{"phrases": ["a b", 3, null, ["c d"]]}', ok("a b", not_text=3)),
        ('{"phrases": "a b, c d"}', without(Status.UNPARSABLE)),
        ('{"phrases": []}', without(Status.EMPTY)),
        ('{"phrases": ["", " \\n"]}', without(Status.EMPTY, empty=2)),
        ('{"phrases":["glaze \\"celadon\\", cracked"]}', ok('glaze "celadon", cracked')),
        ('{"phrases":["tab\there"," kiln \\n wash ","be\\u0000ll\\u0007","caf\\u00e9","\\ud83d\\ude00"]}',
         ok("tab here", "kiln wash", "bell", "café", "😀")),
        ('{"phrases":["bad \\ud83d half","good"]}', ok("good", not_text=1)),
        ('["Kiln wash","kiln wash"," kiln  wash ","KILN WASH","kiln washes"]',
         ok("Kiln wash", "kiln wash", "kiln wash", "KILN WASH", "kiln washes")),
        ('{"phrases": ["sorry, wrong number"]}', ok("sorry, wrong number")),
        ('{"phrases": ["the <think> tag", "b </think> c"]}', ok("the <think> tag", "b </think> c")),
    ],
)  # fmt: skip
def test_valid_json_is_read_as_it_stands(text: str, expected: Parsed) -> None:
    assert parsed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('Result: {"phrases":["a b"]}. Note [1].', ok("a b")),
        ('```json\n{"phrases":["use ```json fences"]}\n```', ok("use ```json fences")),
        ('```json\n{"phrases":["a b","c d"]} ', ok("a b", "c d")),
        ('```bash\nls\n```\n{"phrases":["x y"]}', ok("x y")),
        ('Here: ["note"] and {"phrases":["a b"]}', ok("a b")),
        ('Here: ["a b", "c d"]', ok("a b", "c d")),
        ('```\n["a b"]\n```', ok("a b")),
        ("```json\n[]\n```", without(Status.EMPTY)),
        ('From ["x"] I made {"queries": ["a b"]}', ok("a b")),
        ('{"phrases":["first"]} Document: {"phrases":["of another"]}', ok("first")),
        ('x["key"] = 1', without(Status.UNPARSABLE)),
        ("Scores: [1, 2]", without(Status.UNPARSABLE)),
        ('{"tags": ["x"], "more": {"a": ["y"], "b": nothing}', without(Status.UNPARSABLE)),
        ('{"meta": {"tags": ["x"]}, "phrases": ["27" wheel"]}', salvaged('27" wheel')),
    ],
)
def test_json_inside_prose_and_fences(text: str, expected: Parsed) -> None:
    assert parsed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"phrases": ["27" pottery wheel", "kiln"]}', salvaged('27" pottery wheel', "kiln")),
        ('["27" pottery wheel", "kiln"]', salvaged('27" pottery wheel', "kiln")),
        ("{'phrases': ['12\"34 tile']}", salvaged('12"34 tile')),
        ("{'phrases': ['potter's wheel', \"b's\", 'c\\'s']}", salvaged("potter's wheel", "b's", "c's")),
        ('{phrases: ["a b", "c d",]}', salvaged("a b", "c d")),
        ('{"phrases": ["a b", "c d"]', salvaged("a b", "c d")),
        ('{"phrases": ["a b", "c \\"d\\" \\u00e9 \\k"]', salvaged("a b", 'c "d" é \\k')),
        ('{"phrases": ["\\ud83d", "\\ud83d\\ude00"]', salvaged("😀", not_text=1)),
        ('{"phrases": ["raku [western"] kiln", "b"]}', salvaged("b", not_text=1)),
        ('{"phrases": ["a b, "c d", "e"]}', salvaged("e", not_text=1)),
        ('{"phrases": ["a b", c d", "e"]}', salvaged("e", not_text=1)),
        ('{"phrases": ["a b" "c d", "e"]}', salvaged("e", not_text=1)),
        ('{"phrases": ["a b", "c d"}', salvaged("a b")),
        ('{"phrases": ["a b", {"x": 1}, "c d"', without(Status.TRUNCATED)),
        ('{"phrases": ["a b", "c d", {"x": 1}, "e"}', salvaged("a b")),
        ('{"phrases": [3, "a b"', without(Status.UNPARSABLE)),
        ('{"phrases": []', without(Status.EMPTY)),
        ('{"queries": ["27" wheel"]}', without(Status.UNPARSABLE)),
        ("[kiln glaze, raku]", without(Status.UNPARSABLE)),
        ("oops", without(Status.UNPARSABLE)),
        ("", without(Status.UNPARSABLE)),
    ],
)
def test_salvage_keeps_complete_items_only(text: str, expected: Parsed) -> None:
    assert parsed(text) == expected


@pytest.mark.parametrize("finish", [STOP, LENGTH])
@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('{"phrases": ["kiln glaze", "raku fi', ("kiln glaze",)),
        ('{"phrases":["Hello kiln, I hop', ()),
        ('{"phrases": ["kiln glaze"', ("kiln glaze",)),
        ('{"phrases": ["kiln glaze",\n', ("kiln glaze",)),
        ('{"phrases": ["27" wheel", "kiln"', ('27" wheel',)),
        ('{"phrases": ["27" wheel", "5",', ('27" wheel',)),
        ('{"phrases": ["27" wheel"', ()),
        ("{'phrases': ['a b', 'potter'", ("a b",)),
        ("{'phrases': ['a b', 'rock ',", ("a b",)),
        ('{"phrases": ["back\\', ()),
        ('```json\n["a b", "c', ("a b",)),
        ('{"phrases": [', ()),
        ('{"phr', ()),
        ("{", ()),
    ],
)
def test_a_cut_reply_is_truncated_and_keeps_what_was_closed(
    text: str, phrases: tuple[str, ...], finish: Finish
) -> None:
    assert parsed(text, finish) == Parsed(Status.TRUNCATED, phrases, {}, bool(phrases))


def test_prose_is_truncated_only_at_the_limit() -> None:
    assert parsed("Sure! Here are some", LENGTH) == without(Status.TRUNCATED)
    assert parsed("Sure! Here are some") == without(Status.UNPARSABLE)


def test_a_closed_list_is_ok_even_at_the_limit() -> None:
    assert parsed('{"phrases":["a b"]}', LENGTH) == ok("a b")
    assert parsed('{"phrases":["a b"], "why": "beca', LENGTH) == salvaged("a b")


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('{"phrases":["a b"],' + "  \n" * 900, ("a b",)),
        ('{"phrases":["a b"]}' + "\n" * 200, ("a b",)),
        ('{"phrases":["a b", ' + "\n \t" * 50, ("a b",)),
        ('{"phrases":["a b","' + "".join(f" word{n}" for n in range(20)), ("a b",)),
        ('{"phrases":["a b","' + "\\u754c" * 65, ("a b",)),
        ('{"phrases":["' + '","'.join(["a b", "c d", "e f"] * 4) + '","g', ("a b", "c d", "e f") * 4),
        ('{"phrases":["a b","' + "ki ln " * 10 + "\\n" * 60, ("a b",)),
        ("<think>" + "the kiln is hot. " * 40, ()),
        ("kiln " * 100, ()),
    ],
)
def test_runaways_keep_their_complete_phrases(text: str, phrases: tuple[str, ...]) -> None:
    found = parsed(text, LENGTH)
    assert (found.status, found.phrases) == (Status.RUNAWAY, phrases)


def test_an_open_string_within_the_limit_is_no_runaway() -> None:
    varied = "".join(f" w{n}" for n in range(100))
    assert parsed('{"phrases":["' + varied[:64] + " ", LENGTH).status is Status.TRUNCATED
    assert parsed('{"phrases":["' + varied[:66], LENGTH).status is Status.RUNAWAY


def test_a_long_list_of_repeats_is_a_runaway_even_where_it_ends() -> None:
    two = ReplyLimits(2, 64)
    assert parsed(json.dumps(["a", "b"] * 4), limits=two) == ok("a", "b", over_quota=6)
    assert parsed(json.dumps(["a", "b"] * 5), limits=two) == Parsed(Status.RUNAWAY, ("a", "b"), {"over_quota": 8})
    assert parsed(json.dumps([str(n) for n in range(10)]), limits=two).status is Status.OK


def test_limits_are_applied_after_decoding_and_counted() -> None:
    items = [f"p {n}" for n in range(5)] + ["x" * 300, ""] + [f"p {n}" for n in range(5, 38)]
    expected = ok(*(f"p {n}" for n in range(12)), over_long=1, empty=1, over_quota=26)
    assert parsed(json.dumps({"phrases": items})) == expected
    assert parsed(json.dumps(["界" * 64, "界" * 65, " " * 70 + "a"])) == ok("界" * 64, "a", over_long=1)
    assert parsed(json.dumps(["界" * 65])) == without(Status.EMPTY, over_long=1)


@pytest.mark.parametrize("limits", [(0, 64), (12, 0)])
def test_limits_count_from_one(limits: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="both count from 1"):
        ReplyLimits(*limits)


def test_a_phrase_of_too_many_words_is_over_long() -> None:
    three = ReplyLimits(3, 64, max_words=3)
    items = [
        "glaze",
        "one two three",
        " one \n two\u00a0three\t",
        "one two three four",
        "界 釉 窯 土",
        "kiln-wash, dry pot",
    ]
    text = json.dumps({"phrases": items})
    expected = ("glaze", "one two three", "one two three")
    assert parsed(text, limits=three) == ok(*expected, over_long=2, over_quota=1)
    assert parsed(text[:-1], limits=three) == salvaged(*expected, over_long=2, over_quota=1)
    assert parsed(text, limits=ReplyLimits(6, 64)) == ok(
        *expected, "one two three four", "界 釉 窯 土", "kiln-wash, dry pot"
    )


def test_either_limit_alone_makes_a_phrase_over_long_and_it_counts_once() -> None:
    limits = ReplyLimits(9, 8, max_words=2)
    assert parsed('["a b", "a b c", "kilnwash9", "kiln wash pot", "kilnwash"]', limits=limits) == ok(
        "a b", "kilnwash", over_long=3
    )


def test_sentences_alone_are_no_phrases() -> None:
    rule = "at most eight strings of one to four words"
    assert parsed(json.dumps([rule, rule]), limits=ReplyLimits(8, 64, 8)) == without(Status.EMPTY, over_long=2)


def test_a_limit_of_words_counts_from_one() -> None:
    assert parsed('["a", "a b"]', limits=ReplyLimits(2, 64, 1)) == ok("a", over_long=1)
    with pytest.raises(InputError) as caught:
        ReplyLimits(12, 64, 0)
    assert str(caught.value) == "limits of a reply: max_words = 0: it counts from 1, None sets no limit"


@pytest.mark.parametrize(
    "text",
    [
        '<think>{"phrases":["wrong"]}</think>{"phrases":["right"]}',
        'I try {"phrases":["wrong"]}</think>\n\n{"phrases":["right"]}',
        '{"phrases":["wrong"]}</think>{"phrases":["right"]}',
        '<think>["wrong"]</think><think>["wrong"]</think>Result: ["right"]',
        '<Thinking>İ {"phrases":["wrong"]}</THINKING> {"phrases":["right"]}',
        '<reasoning>["wrong"]</reasoning>["right"]',
        '[THINK]["wrong"][/THINK]["right"]',
        '◁think▷["wrong"]◁/think▷["right"]',
        '<seed:think>["wrong"]</seed:think>["right"]',
        '<|START_THINKING|>["wrong"]<|END_THINKING|>["right"]',
        '<|channel|>analysis<|message|>["wrong"]<|end|><|start|>assistant<|channel|>final<|message|>["right"]<|return|>',
        '<|channel|>analysis<|message|>["wrong"]<|end|><|channel|>final <|constrain|>json<|message|>["right"]',
        'analysisWe try ["wrong"].assistantfinal["right"]',
    ],
)
def test_thinking_is_cut(text: str) -> None:
    assert parsed(text) == ok("right")


@pytest.mark.parametrize(
    "text",
    [
        '<think>maybe {"phrases":["wrong"]}',
        '<think>["wrong"]</think><think>["wrong"]',
        '["wrong"]<think>["wrong"]',
        '<think>["wrong"]</thin',
        '[THINK]["wrong"]',
        '<|channel|>analysis<|message|>["wrong"]<|end|>',
        '<|channel|>commentary<|message|>["wrong"]',
        'analysis{"phrases":["wrong"]}',
        '<think>["wrong"]</think>',
    ],
)
def test_thinking_that_does_not_end_gives_nothing(text: str) -> None:
    assert parsed(text) == without(Status.UNPARSABLE)
    assert parsed(text, LENGTH) == without(Status.TRUNCATED)


def test_a_cut_reply_that_quotes_a_mark_of_thinking_gives_nothing() -> None:
    assert parsed('{"phrases":["a b", "<think> tag", "c', LENGTH) == without(Status.TRUNCATED)
    assert parsed('{"phrases":["a b", "</think> tag", "c', LENGTH) == without(Status.TRUNCATED)


@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", '{"phrases": ["wrong"]}', '["wrong', "', ", "\n", "}"]), max_size=8
    ),
    st.sampled_from([STOP, LENGTH]),
)
def test_no_thought_comes_out(thought: list[str], finish: Finish) -> None:
    block = "<think>" + "".join(thought)
    assert parsed(block + "<think>", finish).phrases == ()
    assert parsed(f'{block}</think>{{"phrases": ["right"]}}', finish).phrases == ("right",)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m very sorry, this text is harmful.",
        "**Sorry**, no.",
        "I cannot assist with this request.",
        "Unfortunately, I can’t write phrases for this document [1].",
        "I am unable to process ['this'",
        "As an AI language model, I have no opinion.",
        "<think>hm</think>\n\nI apologize, but no.",
        "<|channel|>final<|message|>I'm sorry, but I can't help with that.<|return|>",
    ],
)
def test_a_refusal_in_prose_is_refused(text: str) -> None:
    assert parsed(text) == without(Status.REFUSED)
    assert parsed(text[:-1], LENGTH) == without(Status.REFUSED)


def test_what_only_sounds_like_a_refusal_is_read() -> None:
    assert parsed('I\'m sorry for the delay: ["a b"]') == ok("a b")
    assert parsed("Sorrywood kilns are hot.") == without(Status.UNPARSABLE)


@pytest.mark.parametrize("finish", [Finish.REFUSED, Finish.TOO_LONG, Finish.ERROR])
def test_other_ends_pass_through_unread(finish: Finish) -> None:
    assert parsed('{"phrases":["a b"]}', finish) == without(Status(finish.value))


HARD = st.text(st.sampled_from("\"'\\,[]{}: \n\t`a界é😀\x00\x7f"), max_size=8)
MARKS = ("think", "thought", "reasoning", "<|")
PHRASES = st.lists(
    st.one_of(HARD, st.text(max_size=12)).filter(lambda text: not any(mark in text.lower() for mark in MARKS)),
    max_size=5,
)
"""Without marks of thinking: a cut reply that quotes one is believed to think."""


@given(PHRASES, st.booleans(), st.booleans(), st.sampled_from([STOP, LENGTH]))
def test_every_cut_gives_exactly_the_closed_items(items: list[str], ascii_: bool, bare: bool, finish: Finish) -> None:
    text, ends = "[" if bare else '{"phrases": [', list[int]()
    for item in items:
        text += (", " if ends else "") + json.dumps(item, ensure_ascii=ascii_)
        ends.append(len(text))
    text += "]" if bare else "]}"
    expected = [normal(item) for item in items]
    for cut in range(len(text) + 1):
        closed = tuple(phrase for phrase, end in zip(expected, ends, strict=True) if end <= cut and phrase)
        assert parsed(text[:cut], finish, WIDE).phrases == closed, text[:cut]


@given(PHRASES, st.booleans())
def test_salvage_of_valid_items_equals_json(items: list[str], ascii_: bool) -> None:
    text = json.dumps({"phrases": items}, ensure_ascii=ascii_)
    assert parsed(text[:-1], STOP, WIDE).phrases == parsed(text, STOP, WIDE).phrases


ORIGINALS = [
    "kiln glaze", "kiln", '27" pottery wheel', 'glaze "celadon", cracked', "potter's wheel", "raku [western] kiln",
    "ash, wood, salt", "C:\\kiln\\raku", "größe der öfen", "界面 釉", "cone: 6", "wash {kiln} [raku] pot", "a",
    "rock 'n' roll", "`fence`",
]  # fmt: skip


def is_json(text: str) -> bool:
    try:
        json.loads(text, strict=False)
    except ValueError:
        return False
    return True


def test_damaged_replies_never_give_the_beginning_of_a_phrase() -> None:
    """Exempt is what no reader can tell: damage that leaves valid JSON, makes an escape, or ends in a new quote."""
    draw, statuses = random.Random(50), set[Status]()
    for _ in range(10_000):
        items = draw.sample(ORIGINALS, draw.randint(1, 6))
        text = json.dumps({"phrases": items}, ensure_ascii=draw.random() < 0.5)
        cut = draw.random() < 0.5
        if cut:
            text = text[: draw.randint(1, len(text))]
        for _ in range(1 if cut else draw.randint(1, 2)):
            at = draw.randint(0, max(0, len(text) - (5 if cut else 1)))
            structure = [place for place, letter in enumerate(text[: len(text) - 4]) if letter in "\"',[]{}:"]
            if draw.random() < 0.5 and structure:
                at = draw.choice(structure)
                if cut and text[at - 1] == "\\":
                    continue
                text = text[:at] + draw.choice(["", "'", ",", " "]) + text[at + 1 :]
            elif text[at : at + 1] not in tuple("bfnrtu"):  # where a backslash would make an escape
                text = text[:at] + draw.choice("\"',[]{}:\\ \n`") + text[at:]
        found = parsed(text, draw.choice([STOP, LENGTH]), WIDE)
        statuses.add(found.status)
        if not is_json(text):
            for phrase in found.phrases:
                starts = [item for item in items if item != phrase and item.startswith(phrase)]
                assert phrase in items or not starts, (text, phrase)
    assert statuses >= {Status.OK, Status.TRUNCATED, Status.UNPARSABLE}


@given(
    st.text(st.sampled_from("\"'\\,[]{}:<>/|think` \nu0d8界"), max_size=60),
    st.sampled_from([finish for finish in Finish if finish is not Finish.PENDING]),
)
def test_no_text_raises_and_quotas_hold(text: str, finish: Finish) -> None:
    found = parsed('{"phrases":["a",' + text, finish, ReplyLimits(2, 5))
    assert len(found.phrases) <= 2
    for phrase in found.phrases:
        assert 1 <= len(phrase) <= 5
        assert phrase == normal(phrase)


@pytest.mark.parametrize("finish", [STOP, LENGTH])
@pytest.mark.parametrize(
    ("head", "segment"),
    [
        ("", "{"), ("", "["), ("", '"'), ("", "'"), ("", '{"'), ("", '["'), ("", "['"), ("", '{"a":'), ("", "[\n"),
        ("", '{"phrases":['), ("", "phrases:["), ("", '["x",['), ("", '{"phrases":["x" y" '), ("", " \n"), ("", "1"),
        ("", "<think>"), ("", "</think>"), ("", "<"), ("", "`"), ("", "<|channel|>final"), ("{", " "),
        ('{"a":', " "), ('{"phrases":["', '"'), ('{"phrases":["', "\\"), ('{"phrases":["', "\\a"),
        ('{"phrases":["', '" '), ('{"phrases":["', '",'), ('{"phrases":["', "a"), ('{"phrases":["a"', " "),
        ('{"phrases":[', "1,"), ('{"phrases":[', '"a",'), ("[", "1"), ("I'm ", "sorry "), ("```", "a"),
        ("analysis{", "analysis{"),
    ],
)  # fmt: skip
def test_a_million_characters_of_anything_end(head: str, segment: str, finish: Finish) -> None:
    """In quadratic time one of these would outlast the time that a test may take."""
    text = head + segment * (1_000_000 // len(segment)) + "x"
    found = parsed(text, finish)
    assert found.status not in (Status.OK, Status.EMPTY)
    assert len(found.phrases) <= 12


@pytest.mark.parametrize("segment", ["{", "[", '"'])
def test_ten_million_characters_end(segment: str) -> None:
    assert parsed(segment * 10_000_000).status is Status.UNPARSABLE
    assert parsed(segment * 10_000_000, LENGTH).status is Status.RUNAWAY


def test_deep_json_is_no_error() -> None:
    assert parsed("[" * 900 + "]" * 900) == without(Status.UNPARSABLE)
    assert parsed("[" * 100_000 + "]" * 100_000) == without(Status.UNPARSABLE)
    assert parsed('{"a":' * 100_000 + "1" + "}" * 100_000) == without(Status.UNPARSABLE)
    assert parsed('{"phrases":["a b"], "x": ' + "[" * 100_000 + "]" * 100_000 + "}") == salvaged("a b")


def test_what_stands_beyond_a_million_characters_is_not_read() -> None:
    assert parsed(" Well. " * 142_858 + '{"phrases":["a b"]}').phrases == ()
    assert parsed('Well: {"phrases":["a b", "c" ' + " " * 1_000_000 + "x").phrases == ("a b",)
    assert parsed("<think>" + "Well. " * 200_000 + '</think>{"phrases":["a b"]}') == ok("a b")


def test_a_phrase_with_a_broken_letter_is_no_text() -> None:
    """A decoder that counts an invalid sequence of bytes as one character writes U+FFFD."""
    parsed = parse_phrases('{"phrases": ["kiln \ufffdash", "kiln wash"]}', Finish.STOP, ReplyLimits(10, 64))
    assert (parsed.status, parsed.phrases, parsed.dropped) == (Status.OK, ("kiln wash",), {"not_text": 1})
