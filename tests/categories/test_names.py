"""Canonical names of categories."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.categories import NameForm, normalize


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("1927_births", "1927_births"),
        ("1927 births", "1927_births"),
        ("  heart__ attack_ ", "Heart_attack"),
        ("Category:1927 births", "1927_births"),
        (":category : heart attack", "Heart_attack"),
        ("Category:Category:X", "Category:X"),
        ("Star_Trek:_Voyager", "Star_Trek:_Voyager"),
        ("Categorytheory", "Categorytheory"),
        ("https://en.wikipedia.org/wiki/Category:Caf%C3%A9s?action=edit#top", "Cafés"),
        ("Category:AT%26T", "AT&T"),
        ("AT&amp;T", "AT&T"),
        ("100%", "100%"),
        ("%FFx", "%FFx"),
        ("Cafe\u0301s", "Cafés"),
        ("\u200eIslands\u00a0of Kenya\u200f", "Islands_of_Kenya"),
        ("Physics#Optics", "Physics"),
        ("éclairs", "Éclairs"),
        ("ßeta", "ßeta"),
        ("ქალაქები", "ქალაქები"),
        ("", ""),
        ("Category:", ""),
    ],
)
def test_every_usual_spelling_gives_the_name_of_the_tables(written: str, canonical: str) -> None:
    assert normalize(written) == canonical


def test_the_prefix_of_another_language_counts_beside_the_english_one() -> None:
    form = NameForm(["Kategorie"])
    assert [form.normalize(f"{prefix}:Physik") for prefix in ("Kategorie", "kategorie", "Category", "Catégorie")] == [
        "Physik",
        "Physik",
        "Physik",
        "Catégorie:Physik",
    ]


@given(st.text(st.characters(exclude_characters="%&:#", exclude_categories=["Cs"])))
def test_a_canonical_name_stays_as_it_is(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@given(st.text())
def test_any_text_has_a_canonical_form_without_blanks(text: str) -> None:
    assert " " not in normalize(text)
