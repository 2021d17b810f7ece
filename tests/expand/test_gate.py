"""The document-side gate on given analysed phrases: borders, duplicates, quota, limits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.expand.gate import DocumentGate, GateSettings


def gate(
    common: dict[str, int], windows: dict[str, int] | None = None, bound: int = 2, **settings: int
) -> tuple[DocumentGate, list[str]]:
    """A gate, and the list of windows that it counts on the corpus."""
    asked: list[str] = []

    def window_df(wanted: Sequence[tuple[str, ...]]) -> list[int]:
        asked.extend(" ".join(window) for window in wanted)
        return [(windows or {}).get(" ".join(window), 0) for window in wanted]

    return DocumentGate(bound, GateSettings(**settings), common, window_df), asked


def test_each_window_is_gated_on_its_own() -> None:
    """`common` holds words above the bound of 2; only a window made of such words is counted."""
    judge, asked = gate({"of": 9, "the": 9, "kiln": 3}, {"of the": 3, "the kiln": 2, "of the kiln": 0})
    assert judge.filter([["of", "the", "kiln", "raku"]]) == (
        ["raku"],
        ["the kiln", "kiln raku", "of the kiln", "the kiln raku"],
    )
    assert asked == ["of the", "the kiln", "of the kiln"]
    assert judge.counts["windows_too_common"] == 4
    assert judge.counts["windows_kept"] == 5
    judge.filter([["of", "the"]])
    assert asked == ["of the", "the kiln", "of the kiln"]  # answers are kept


def test_no_window_crosses_two_phrases_and_nothing_counts_twice() -> None:
    """G86."""
    judge, _ = gate({})
    words, atoms = judge.filter([["kiln", "wash"], ["kiln", "wash"], ["wash", "kiln"], [], ["kiln"]])
    assert words == ["kiln", "wash"]
    assert atoms == ["kiln wash", "wash kiln"]
    assert (judge.counts["phrases_duplicate"], judge.counts["phrases_empty"], judge.counts["phrases_kept"]) == (1, 1, 3)


def test_the_quota_counts_distinct_phrases_of_one_document() -> None:
    judge, _ = gate({}, max_phrases=2)
    assert judge.filter([["a"], [], ["a"], ["b"], ["c"], ["a"]]) == (["a", "b"], [])
    assert judge.filter([["c"]]) == (["c"], [])
    assert (judge.counts["phrases_over_quota"], judge.counts["phrases_kept"]) == (1, 3)


@pytest.mark.parametrize(("max_n", "atoms"), [(1, []), (2, ["a b", "b c"]), (3, ["a b", "b c", "a b c"])])
def test_windows_up_to_max_n(max_n: int, atoms: list[str]) -> None:
    judge, _ = gate({}, max_n=max_n)
    assert judge.filter([["a", "b", "c"]]) == (["a", "b", "c"], atoms)


def test_lucenes_limit_is_in_bytes() -> None:
    """G95: 10,922 times 界 are 32,766 bytes and pass; 10,923 are dropped and counted, and the rest stays."""
    judge, _ = gate({})
    words, atoms = judge.filter(
        [["界" * 10_922], ["界" * 10_923], ["a", "界" * 10_922], ["x" * 32_766], ["x" * 32_767]]
    )
    assert words == ["界" * 10_922, "a", "x" * 32_766]
    assert atoms == []
    assert judge.counts["windows_too_long"] == 3


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=5), max_size=6),
    st.dictionaries(st.sampled_from("abcd"), st.integers(3, 9)),
    st.integers(1, 4),
)
def test_what_is_kept_is_what_the_rule_says(phrases: list[list[str]], common: dict[str, int], max_n: int) -> None:
    """By brute force: a window passes where its df, here that of its rarest word, is at most the bound."""
    df = {letter: common.get(letter, 1) for letter in "abcd"}
    counted = {
        " ".join(window): min(df[word] for word in window)
        for phrase in phrases
        for n in range(2, 6)
        for window in zip(*(phrase[start:] for start in range(n)), strict=False)
    }
    judge, _ = gate(common, counted, max_n=max_n)
    words, atoms = judge.filter(phrases)
    windows = [
        tuple(phrase[start : start + n])
        for phrase in phrases
        for n in range(1, max_n + 1)
        for start in range(len(phrase) - n + 1)
    ]
    passing = {window for window in windows if min(df[word] for word in window) <= 2}
    assert sorted(words) == sorted(window[0] for window in passing if len(window) == 1)
    assert sorted(atoms) == sorted(" ".join(window) for window in passing if len(window) > 1)
