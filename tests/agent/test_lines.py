"""Lines of documents: numbers that do not change, pages that join to the text."""

from __future__ import annotations

import random
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.agent.lines import Lines, is_border

ALPHABET = [
    "a", "b", " ", " ", "\n", "\r", "\r\n", "\u2028", "\x85", "é", "e\u0301", "你", "好", "ش", "\u0634\u0651",
    "ก\u0e33",     "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\U0001f44d\U0001f3fd",
    "한", "\u1112\u1161\u11ab", "\x00", "\t", "𝔘",
]  # fmt: skip


def joined(lines: Lines, limit: int, max_bytes: int | None) -> tuple[str, list[tuple[int, int]]]:
    """All pages, each from where the one before ended."""
    text, borders, offset = "", list[tuple[int, int]](), 1
    while True:
        page = lines.page(offset, limit, max_bytes)
        assert page.first == offset
        text += page.text
        borders.append((page.first, page.last))
        if page.next_offset is None:
            return text, borders
        assert page.next_offset == page.last + 1
        offset = page.next_offset


@pytest.mark.parametrize("seed", range(40))
def test_pages_of_any_text_join_to_it(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choices(ALPHABET, k=draw.randrange(2000)))
    width, limit, most = draw.choice([None, 1, 7, 40]), draw.randrange(1, 30), draw.choice([None, 64, 300])
    lines = Lines(text, width)
    found, borders = joined(lines, limit, most)
    assert found == text
    assert borders[-1][1] == len(lines)
    if most is not None:
        for first, last in borders:
            page = lines.page(first, last - first + 1)
            assert len(page.text.encode()) <= most or first == last
    if width is not None:
        assert all(len(line) <= width for number in range(1, len(lines) + 1) for line in lines.bare(number, 1))


def test_a_text_without_long_lines_has_the_same_numbers_wrapped() -> None:
    text = "one\ntwo\r\nthree\rfour\n"
    assert [list(Lines(text, width).bare(1, 9)) for width in (None, 5)] == [["one", "two", "three", "four", ""]] * 2


def test_lines_are_cut_at_blanks_where_there_are_some() -> None:
    lines = Lines("the quick brown fox jumps over the lazy dog", 20)
    assert list(lines.bare(1, 9)) == ["the quick brown fox ", "jumps over the lazy ", "dog"]


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301\u0323",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f44d\U0001f3fd",
        "\u1112\u1161\u11ab",
        "\r\n",
    ],
    ids=[unicodedata.name("é"), "family", "thumb", "jamo", "line end"],
)
def test_no_letter_is_cut(cluster: str) -> None:
    text = "xy" + cluster + "xy"
    assert [is_border(text, 2 + at) for at in range(1, len(cluster))] == [False] * (len(cluster) - 1)
    assert is_border(text, 2)
    assert is_border(text, 2 + len(cluster))
    if cluster != "\r\n":
        assert all(
            unicodedata.category(line[0])[0] != "M" for line in Lines(cluster * 50, len(cluster) + 1).bare(1, 99)
        )


def test_flags_are_cut_between_flags_alone() -> None:
    flags = "\U0001f1e9\U0001f1ea" * 3
    assert [is_border(flags, at) for at in range(1, 6)] == [False, True, False, True, False]
    assert is_border("x" + flags, 3)


def test_places_and_numbers_agree() -> None:
    lines = Lines("abc\ndef\n\nghi" + "x" * 30, 10)
    for number in range(1, len(lines) + 1):
        assert lines.number_at(lines.start(number)) == number
    assert lines.number_at(4) == 2
    assert lines.page(99, 5).total == len(lines)


@given(st.text(alphabet="ab \n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029é", max_size=40))
def test_lines_end_where_java_ends_them(text: str) -> None:
    ends = [match.end() for match in re.finditer("\r\n|[\r\n\v\f\x85\u2028\u2029]", text)]
    lines = Lines(text)
    assert [lines.start(number) for number in range(1, len(lines) + 1)] == [0, *ends]
