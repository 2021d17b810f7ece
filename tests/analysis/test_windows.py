"""Windows, normal forms, and the df bound of the gate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.analysis import df_bound, normal_form, windows
from sira.errors import InputError


def test_windows_come_by_length_from_left_to_right() -> None:
    assert [" ".join(window) for window in windows(["a", "b", "c"], 2)] == ["a", "b", "c", "a b", "b c"]
    assert list(windows([], 3)) == []


@given(st.lists(st.text(max_size=3), max_size=8), st.integers(1, 5))
def test_every_window_stands_side_by_side_in_the_phrase(terms: list[str], max_n: int) -> None:
    found = list(windows(terms, max_n))
    assert all(any(tuple(terms[at : at + len(w)]) == w for at in range(len(terms))) for w in found)
    assert len(found) == sum(max(0, len(terms) - n + 1) for n in range(1, max_n + 1))


def test_g86_one_normal_form_for_case_width_and_blanks() -> None:
    assert {normal_form(text) for text in ("Kiln wash", "kiln wash", " kiln  wash ", "KILN WASH", "ｋｉｌｎ wash")} == {
        "kiln wash"
    }
    assert normal_form("kiln washes") != "kiln wash"


@pytest.mark.parametrize(
    ("documents", "ratio", "bound"),
    [(5183, 0.05, 259), (0, 0.05, 1), (1, 0.05, 1), (100, 0.29, 29), (60, 0.05, 3), (10, 1, 10), (100, 0.001, 1)],
)
def test_the_bound(documents: int, ratio: float, bound: int) -> None:
    assert df_bound(documents, ratio) == bound


@pytest.mark.parametrize("ratio", [0, -1, 1.5, float("nan"), float("inf")])
def test_a_ratio_that_is_no_share_is_refused(ratio: float) -> None:
    with pytest.raises(InputError, match="max_df_ratio"):
        df_bound(10, ratio)
