"""The English analyzer in pure Python, for machines without Java."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from sira.analysis.porter import porter_stem
from sira.analysis.words import words

Analyze = Callable[[Sequence[str]], list[list[str]]]

STOP_WORDS = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
})  # fmt: skip
"""Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET."""

_NAMES = frozenset({"english", "en"})
_CACHED_WORDS = 1 << 17
"""The words whose terms are held, the latest used: some 30 MB when full of words of usual length."""


def analyze(texts: Sequence[str]) -> list[list[str]]:
    """The index terms of each text, in order: what the analyzer `english` of an index gives.

    It follows Anserini's DefaultEnglishAnalyzer: Lucene's StandardTokenizer, EnglishPossessiveFilter, LowerCaseFilter,
    StopFilter and PorterStemFilter. On ASCII text it is equal to it; beyond ASCII but for the rare cases that
    `sira.analysis.words.words` names. Like Lucene's, it applies no Unicode normalization.
    """
    return [[term for word in words(text) if (term := _term(word))] for text in texts]


def analyzer_for(name: str) -> Analyze | None:
    """`analyze` where the analyzer of an index, by name or language code, is the English one; else None."""
    return analyze if name.lower() in _NAMES else None


@lru_cache(_CACHED_WORDS)
def _term(word: str) -> str:
    """The index term of one word; empty for a stop word."""
    if word.endswith(("'s", "'S", "’s", "’S", "＇s", "＇S")):
        word = word[:-2]
    # Letter by letter, as Java does: str.lower() turns İ into two characters, and Σ by its place in the word.
    lower = word.lower() if word.isascii() else "".join([letter.lower()[0] for letter in word])
    return "" if lower in STOP_WORDS else porter_stem(lower)
