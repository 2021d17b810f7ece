"""The English analyzer in Python: fixed examples on any machine, and equality with Lucene's where there is Java."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sira.analysis import Analyze, analyze, analyzer_for
from sira.analysis.english import _CACHED_WORDS, _term
from sira.analysis.porter import porter_stem
from sira.errors import EnvironmentFault
from sira.lucene.analyzers import _CODES, ANALYZERS, analyzer_name
from sira.lucene.analyzers import analyze as lucene_analyze

DATA = os.environ.get("SIRA_TEST_DATA", "")
COLLECTIONS = [
    "scifact/corpus.jsonl", "scifact/queries.jsonl", "scifact/replies/document-phrases.jsonl",
    "scifact/replies/query-sketches.jsonl", "hotpotqa-100/corpus.jsonl", "hotpotqa-100/queries.jsonl",
    "hotpotqa-100/document-phrases.jsonl", "hotpotqa-100/query-sketches.jsonl", "musique-100/corpus.jsonl",
    "musique-100/queries.jsonl", "musique-100/document-phrases.jsonl", "musique-100/query-sketches.jsonl",
    "longdocs/austen.jsonl", "multilingual/xquad-en/corpus.jsonl", "multilingual/xquad-ar/corpus.jsonl",
    "multilingual/xquad-zh/corpus.jsonl", "multilingual/xquad-en/queries.jsonl", "multilingual/xquad-ar/queries.jsonl",
    "multilingual/xquad-zh/queries.jsonl",
]  # fmt: skip


@pytest.fixture(scope="module")
def lucene() -> Analyze:
    """Lucene's analyzer; skips where the machine has no Java."""
    try:
        lucene_analyze(["a word"])
    except EnvironmentFault as lacking:
        pytest.skip(str(lacking))
    return lucene_analyze


def strings(value: Any) -> Iterator[str]:
    """Every text that a JSON value holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def texts_of(collection: str) -> list[str]:
    path = Path(DATA) / collection
    if not DATA or not path.is_file():
        pytest.skip(f"SIRA_TEST_DATA does not name a folder that holds {collection}")
    return [text for line in path.read_text(encoding="utf-8").splitlines() for text in strings(json.loads(line))]


# ------------------------------------------------------------------------------------------------- on any machine


STEMS = [
    # examples of Porter's paper, step by step
    ("caresses", "caress"), ("ponies", "poni"), ("ties", "ti"), ("caress", "caress"), ("cats", "cat"),
    ("feed", "feed"), ("agreed", "agre"), ("plastered", "plaster"), ("bled", "bled"), ("motoring", "motor"),
    ("sing", "sing"), ("conflated", "conflat"), ("troubled", "troubl"), ("sized", "size"), ("hopping", "hop"),
    ("falling", "fall"), ("hissing", "hiss"), ("fizzed", "fizz"), ("failing", "fail"), ("filing", "file"),
    ("playing", "plai"), ("snowing", "snow"), ("boxing", "box"), ("happy", "happi"), ("sky", "sky"),
    ("relational", "relat"), ("conditional", "condit"), ("rational", "ration"),
    ("vietnamization", "vietnam"), ("sensibiliti", "sensibl"), ("triplicate", "triplic"), ("formative", "form"),
    ("hopefulness", "hope"), ("revival", "reviv"), ("replacement", "replac"), ("adoption", "adopt"),
    ("probate", "probat"), ("rate", "rate"), ("cease", "ceas"), ("controll", "control"), ("roll", "roll"),
    # the departures of Porter's later releases
    ("horribly", "horribl"), ("epistemology", "epistemolog"), ("us", "us"), ("1s", "1s"),
    # what is no vowel is a consonant
    ("1990s", "1990"), ("yyy", "yyi"), ("aed", "a"), ("ion", "ion"), ("ies", "i"), ("cafés", "café"),
]  # fmt: skip
TERMS: list[tuple[str, list[str]]] = [
    ("", []),
    ("The Cats' whiskers, and the dogs.", ["cat", "whisker", "dog"]),
    ("to be or not to be", []),
    ("THESE ARE ALL OF THEM", ["all", "them"]),
    ("dog's DOG'S dogs' dog's's", ["dog", "dog", "dog", "dog'"]),
    ("O'Neil's it's", ["o'neil"]),
    ("foo.bar foo:bar foo'bar foo_bar", ["foo.bar", "foo:bar", "foo'bar", "foo_bar"]),
    ("foo,bar foo;bar foo-bar foo..bar", ["foo", "bar"] * 4),
    ("1.5 1,000 1;5 1'5", ["1.5", "1,000", "1;5", "1'5"]),
    ("10:30 1-2 1..2 1.a a.1", ["10", "30", "1", "2", "1", "2", "1", "1"]),
    ("I.B.M. AT&T p53 a1.5b", ["i.b.m", "t", "p53", "a1.5b"]),
    ("_ __ _a a_ a_.b 1__2", ["_a", "a_", "a_", "b", "1__2"]),
    ("a\x00b\tc\x1ed\x7fe\r\nf", ["b", "c", "d", "e", "f"]),
    ("x" * 254 + "'s y", ["x" * 254, "s", "y"]),
    ("z" * 600, ["z" * 255, "z" * 255, "z" * 90]),
    ("_" * 300 + "c", ["_" * 254 + "c"]),
    ("Gödel’s théorèmes naïve", ["gödel", "théorèm", "naïv"]),
    ("don’t x·y 5²", ["don’t", "x·y", "5"]),
    ("İstanbul ΟΔΟΣ", ["istanbul", "οδοσ"]),
    ("cafe\u0301s co\u00adop", ["cafe\u0301", "co\u00adop"]),
    ("漢字 かな カタカナ 한국어", ["漢", "字", "か", "な", "カタカナ", "한국어"]),
    ("ภาษาไทย ١٢٫٥ 👩‍🔬🇩🇪", ["ภาษาไทย", "١٢٫٥", "👩‍🔬", "🇩🇪"]),
    ("カナabc צה״ל ‿x‿", ["カナ", "abc", "צה״ל", "‿x‿"]),
]


@pytest.mark.parametrize(("word", "stem"), STEMS)
def test_stems(word: str, stem: str) -> None:
    assert porter_stem(word) == stem


@pytest.mark.parametrize(("text", "terms"), TERMS)
def test_terms(text: str, terms: list[str]) -> None:
    assert analyze([text]) == [terms]


def test_each_text_has_its_own_terms() -> None:
    assert analyze([]) == []
    assert analyze(["running dogs", "", "the", "running"]) == [["run", "dog"], [], [], ["run"]]


def test_the_words_held_are_bounded() -> None:
    analyze([" ".join(f"q{number}" for number in range(_CACHED_WORDS + 1000))])
    assert _term.cache_info().currsize == _CACHED_WORDS
    _term.cache_clear()


@pytest.mark.parametrize(
    ("run", "terms"),
    [("_", 0), ("_'", 0), ("a.", 391), ("a_.", 50_000), ("é_", 393), ("_é.", 50_000), ("カ_", 393), ("é\u0301", 393)],
)
def test_a_run_without_end_takes_linear_time(run: str, terms: int) -> None:
    """A pattern that goes back over its text would not come to an end with any of these."""
    assert len(analyze([run * 50_000])[0]) == terms


@pytest.mark.parametrize("letter", ["a", "é"])
def test_a_word_after_connectors_without_end_takes_linear_time(letter: str) -> None:
    assert analyze(["_" * 500_000 + letter]) == [["_" * 254 + letter]]


@pytest.mark.parametrize("name", ["english", "English", "en", "EN", *ANALYZERS, *_CODES])
def test_python_analyzes_for_the_english_analyzer_alone(name: str) -> None:
    assert analyzer_for(name) is (analyze if analyzer_name(name) == "english" else None)


def test_no_analyzer_for_a_name_that_none_has() -> None:
    assert analyzer_for("klingon") is None


# ------------------------------------------------------------------------------------------------ against Lucene


@pytest.mark.java
def test_the_examples_are_lucenes(lucene: Analyze) -> None:
    assert lucene([word for word, _ in STEMS]) == [[stem] for _, stem in STEMS]
    assert lucene([text for text, _ in TERMS]) == [terms for _, terms in TERMS]


@pytest.mark.java
@pytest.mark.data
@pytest.mark.parametrize("collection", COLLECTIONS)
def test_collections_are_analyzed_as_by_lucene(collection: str, lucene: Analyze) -> None:
    """ASCII or not: no text of these collections has a character on which the two part."""
    texts = texts_of(collection)
    assert analyze(texts) == lucene(texts)


@pytest.mark.java
@pytest.mark.data
def test_every_word_of_the_collections_is_stemmed_as_by_lucene(lucene: Analyze) -> None:
    found = {
        word
        for collection in COLLECTIONS
        for text in texts_of(collection)
        for word in re.findall("[a-z0-9]{1,255}", text.lower())
    }
    words = sorted(found)
    assert len(words) > 50_000
    terms = lucene(words)
    stopped = {word for word, of_word in zip(words, terms, strict=True) if not of_word}
    assert len(stopped) == 33
    assert [[porter_stem(word)] for word in words if word not in stopped] == [of_word for of_word in terms if of_word]


PIECES = st.sampled_from(
    [
        "a",
        "b",
        "e",
        "y",
        "S",
        "1",
        "0",
        "'",
        "'s",
        "'S",
        "_",
        ".",
        ",",
        ":",
        ";",
        '"',
        "-",
        "#",
        " ",
        "\t",
        "\n",
        "\x00",
    ]
)
SUFFIXES = st.sampled_from([
    "s", "ss", "sses", "ies", "eed", "ed", "ing", "y", "at", "bl", "iz", "ational", "tional", "enci", "anci", "izer",
    "bli", "alli", "entli", "eli", "ousli", "ization", "ation", "ator", "alism", "iveness", "fulness", "ousness",
    "aliti", "iviti", "biliti", "logi", "icate", "ative", "alize", "iciti", "ical", "ful", "ness", "al", "ance", "ence",
    "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "sion", "tion", "ou", "ism", "ate", "iti", "ous",
    "ive", "ize", "e", "l", "ll",
])  # fmt: skip
LONG = st.tuples(st.sampled_from(["x", "7", "_", "a.", "1,", "ab_"]), st.integers(200, 600)).map(
    lambda pair: (pair[0] * pair[1])[: pair[1]]
)
against_lucene = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.mark.java
@given(st.lists(st.one_of(st.lists(PIECES).map("".join), st.text(st.characters(max_codepoint=127))), max_size=60))
@against_lucene
def test_any_ascii_text_is_analyzed_as_by_lucene(lucene: Analyze, texts: list[str]) -> None:
    assert analyze(texts) == lucene(texts)


@pytest.mark.java
@given(st.lists(st.lists(st.one_of(PIECES, LONG), max_size=6).map("".join), min_size=1, max_size=20))
@against_lucene
def test_tokens_beyond_the_longest_are_cut_as_by_lucene(lucene: Analyze, texts: list[str]) -> None:
    assert analyze(texts) == lucene(texts)


@pytest.mark.java
@given(st.lists(st.tuples(st.text("aeioubcstlyzw", max_size=6), st.lists(SUFFIXES, max_size=3)), max_size=60))
@against_lucene
def test_any_word_is_stemmed_as_by_lucene(lucene: Analyze, parts: list[tuple[str, list[str]]]) -> None:
    words = [stem + "".join(suffixes) for stem, suffixes in parts]
    assert analyze(words) == lucene(words)
