"""The rules on given phrases: which reason, in which order, and the borders of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.analysis.english import analyze
from sira.errors import InputError
from sira.filters.rules import ORDER, FilterSettings, Rules, holder_of_terms, holder_of_text, judge
from sira.records import Outcome

DF = {"kiln": 4, "wash": 5, "glaze": 1, "common": 9}


def outcomes(
    phrases: Sequence[str],
    contents: str | None = None,
    df: Mapping[str, int] | None = None,
    *,
    bound: int | None = 4,
    forbidden: frozenset[str] = frozenset(),
    **settings: int | None,
) -> list[str]:
    """The outcomes under the English analyzer; `forbidden` lists normal forms."""
    rules = Rules(FilterSettings(**settings), bound, lambda text: "class" if text in forbidden else None)  # pyright: ignore[reportArgumentType]
    holds = None if contents is None else holder_of_terms(analyze([contents])[0])
    return [verdict.outcome.value for verdict in judge(phrases, rules, analysed=analyze(phrases), holds=holds, df=df)]


def test_the_first_reason_wins_in_the_documented_order() -> None:
    """Each phrase has the fault of its name, and all that come after it in the order."""
    text = "common thing here"
    assert outcomes(["of the", "   ", "!!!", ""], text, DF, max_phrases=1) == ["empty"] * 4
    found = outcomes(
        [
            "new words",
            "common thing of here",
            "common thing",
            "Common  THING",
            "common",
            "wash wash",
            "glaze",
            "novelty",
        ],
        "common thing here. wash. common",
        DF,
        forbidden=frozenset({"common thing of here"}),
        max_words=3,
        max_phrases=1,
        min_df=1,
    )
    assert found == [
        *("too_rare", "forbidden", "already_present", "duplicate", "already_present", "too_common", "kept", "too_rare")
    ]
    assert [outcome.value for outcome in ORDER] == [
        *("empty", "forbidden", "too_long", "duplicate", "already_present", "too_common", "too_rare", "over_quota")
    ]


def test_spellings_of_one_phrase_are_one_phrase() -> None:
    """G86: the first four share their normal form; `kiln washes` shares their analysed form."""
    proposed = [
        "Kiln wash",
        "kiln wash",
        " kiln  wash ",
        "KILN WASH",
        "kiln washes",
        "the kiln wash",
        "ｋｉｌｎ ｗａｓｈ",
    ]
    assert outcomes(proposed) == ["kept", *["duplicate"] * 6]
    assert outcomes(["kiln wash", "wash kiln", "kiln"]) == ["kept"] * 3
    (verdict,) = judge(["Kiln washes"], Rules(FilterSettings()), analysed=analyze(["Kiln washes"]))
    assert (verdict.phrase, verdict.term, verdict.df) == ("Kiln washes", "kiln wash", None)


def test_the_policy_is_asked_once_a_phrase_and_its_class_goes_with_the_verdict() -> None:
    asked: list[str] = []

    def forbids(normal: str) -> str | None:
        asked.append(normal)
        return "contact" if "@" in normal else None

    proposed = ["A@b.org", "of the", "Kiln", "a@B.org"]
    verdicts = judge(proposed, Rules(FilterSettings(), forbids=forbids), analysed=analyze(proposed))
    assert [(verdict.outcome.value, verdict.policy_class) for verdict in verdicts] == [
        *(("forbidden", "contact"), ("empty", None), ("kept", None), ("forbidden", "contact"))
    ]
    assert asked == ["a@b.org", "kiln", "a@b.org"]


def test_a_duplicate_of_a_dropped_phrase_is_a_duplicate() -> None:
    assert outcomes(["common", "Common", "kiln", "Kiln"], "kiln", DF) == [
        *("too_common", "duplicate", "already_present", "duplicate")
    ]


def test_df_borders_are_inclusive_and_new_vocabulary_passes() -> None:
    """G87: in no document, in one, in exactly the bound, in one more."""
    phrases = ["unseen", "glaze", "kiln", "wash"]
    assert outcomes(phrases, df=DF) == ["kept", "kept", "kept", "too_common"]
    assert outcomes(phrases, df=DF, min_df=1) == ["too_rare", "kept", "kept", "too_common"]
    assert outcomes(phrases, df=DF, min_df=4) == ["too_rare", "too_rare", "kept", "too_common"]
    assert outcomes(phrases) == ["kept"] * 4


def test_the_rarest_word_decides() -> None:
    proposed = ["wash common", "common kiln wash", "common unseen"]
    verdicts = judge(proposed, Rules(FilterSettings(), 4), analysed=analyze(proposed), df=DF)
    assert [(verdict.outcome.value, verdict.df) for verdict in verdicts] == [
        *(("too_common", 5), ("kept", 4), ("kept", 0))
    ]


def test_present_means_side_by_side_in_analysed_form() -> None:
    contents = "The coating of kilns, washed twice. Raku firing"
    proposed = [
        "coated kiln",
        "kiln WASH",
        "coating twice",
        "coat",
        "coa",
        "wash twice raku",
        "firing raku",
        "iln wash",
    ]
    assert outcomes(proposed, contents) == [
        *("already_present", "already_present", "kept", "already_present"),
        *("kept", "already_present", "kept", "kept"),
    ]


def test_the_quota_keeps_the_first_and_counts_only_kept_ones() -> None:
    proposed = ["of", "a1", "a1", "common", "b1", "c1", "kiln"]
    assert outcomes(proposed, df=DF, max_phrases=2) == [
        *("empty", "kept", "duplicate", "too_common", "kept", "over_quota", "over_quota")
    ]
    assert outcomes([f"word{n}" for n in range(60)]).count("kept") == 50
    assert outcomes([f"word{n}" for n in range(60)], max_phrases=None) == ["kept"] * 60


def test_max_words_counts_words_between_blanks() -> None:
    assert outcomes(["a b c", "one of  two", "one two three four"], max_words=3) == ["kept", "kept", "too_long"]


def test_without_an_analyzer_normal_forms_decide() -> None:
    rules = Rules(FilterSettings(), 4)
    proposed = ["Kiln wash", "KILN  WASH", "kiln washes", "the", "?!", "glaze", "laze"]
    verdicts = judge(proposed, rules, holds=holder_of_text("Pots: Glaze!"), df={"glaze": 9})
    assert [verdict.outcome.value for verdict in verdicts] == [
        *("kept", "duplicate", "kept", "kept", "empty", "already_present", "kept")
    ]
    assert {verdict.df for verdict in verdicts} == {None}


@pytest.mark.parametrize(
    ("contents", "form", "held"),
    [
        ("Die Töpfer-Scheibe", "töpfer", True),
        ("Die Töpferscheibe", "töpfer", False),
        ("STRASSE und Straße", "strasse", True),
        ("kiln_wash", "kiln", False),
        ("xkiln kiln", "kiln", True),
        ("我们去公园玩", "公园", True),
        ("カメラを買う", "カメラ", True),
        ("हिन्दी", "हिन", False),
        ("हिन्दी भाषा", "हिन्दी", True),
        ("ที่นี่", "ท", False),
        ("c++ code", "c++", True),
        ("a.b", "a", True),
        ("", "kiln", False),
    ],
)
def test_words_end_where_the_script_says(contents: str, form: str, held: bool) -> None:
    assert holder_of_text(contents)(form) is held


words = st.lists(st.sampled_from(["a1", "b1", "c1", "ab"]), max_size=7)


@given(words, words)
def test_held_terms_are_a_slice_of_the_contents(contents: list[str], phrase: list[str]) -> None:
    expected = any(contents[at : at + len(phrase)] == phrase for at in range(len(contents)))
    if phrase:
        assert holder_of_terms(contents)(" ".join(phrase)) is expected


@given(st.lists(st.text("ab ", max_size=4), max_size=8), st.integers(1, 3))
def test_every_phrase_gets_one_verdict_and_no_kept_phrase_is_another(proposed: list[str], quota: int) -> None:
    analysed = [phrase.split() for phrase in proposed]
    verdicts = judge(proposed, Rules(FilterSettings(max_phrases=quota)), analysed=analysed)
    assert [verdict.phrase for verdict in verdicts] == proposed
    kept = [verdict.term for verdict in verdicts if verdict.outcome is Outcome.KEPT]
    distinct = list(dict.fromkeys(" ".join(terms) for terms in analysed if terms))
    assert kept == distinct[:quota]


@pytest.mark.parametrize(
    "settings",
    [
        {"max_df_ratio": 0},
        {"min_df": -1},
        {"max_phrases": 0},
        {"max_words": 0},
        {"expires_days": 0},
        {"expires_days": 10**7},
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        FilterSettings(**settings)  # pyright: ignore[reportArgumentType]
