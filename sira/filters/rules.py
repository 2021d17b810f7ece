"""Which proposed phrases of a document stay: pure rules, each with a reason.

The first reason that holds is the verdict, in this order:

1. `empty`: nothing to index: no letter or digit, or stop words only.
2. `forbidden`: the policy names it (sira.policy).
3. `too_long`: more than `max_words` words between blanks.
4. `duplicate`: its normal form, or its analysed form, is that of an earlier phrase of the document. `kiln wash`,
   `KILN  wash` and `kiln washes` are one phrase: their postings are the same.
5. `already_present`: its analysed terms stand side by side in the document's analysed contents. Stop words are gone
   on both sides, as they are in the index.
6. `too_common`: the df of its rarest word is above the bound, so that none of its words becomes a posting. df = bound
   passes. Its windows of several words, which may be rarer, go with it.
7. `too_rare`: the df of its rarest word is below `min_df`. The default of 0 drops nothing: a word that no document
   holds is new vocabulary, and that is the point.
8. `over_quota`: `max_phrases` earlier phrases of the document were kept.

df counts the distinct source documents of the base corpus: expansions, of this document or others, never count.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sira.analysis import df_bound, normal_form
from sira.errors import InputError
from sira.expand.gate import DEFAULT_DOCUMENT_MAX_DF_RATIO, GateSettings
from sira.records import Outcome, Verdict

Holds = Callable[[str], bool]
"""Whether a document holds a phrase, given by its form."""

ORDER = (
    Outcome.EMPTY,
    Outcome.FORBIDDEN,
    Outcome.TOO_LONG,
    Outcome.DUPLICATE,
    Outcome.ALREADY_PRESENT,
    Outcome.TOO_COMMON,
    Outcome.TOO_RARE,
    Outcome.OVER_QUOTA,
)

# Scripts written without blanks, where a border between words lies between any two letters.
_UNSPACED = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)),  # Thai and Lao, Burmese, Khmer
    *((0x3005, 0x3007), (0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)),
)


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """The bounds of the filters; None switches one off.

    `max_df_ratio` and `max_phrases` are by default those of the index's own gate (GateSettings), `max_df_ratio` as a
    share of the base corpus. `min_df` counts documents, `max_words` words between blanks. `expires_days` is the age
    in days at which a phrase kept today is no longer indexed.
    """

    max_df_ratio: float = DEFAULT_DOCUMENT_MAX_DF_RATIO
    min_df: int = 0
    max_phrases: int | None = GateSettings().max_phrases
    max_words: int | None = None
    expires_days: int | None = None

    def __post_init__(self) -> None:
        df_bound(1, self.max_df_ratio)
        if self.min_df < 0:
            raise InputError(f"min_df = {self.min_df}: give 0 (no bound) or a number of documents")
        for name in ("max_phrases", "max_words", "expires_days"):
            value: int | None = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} = {value}: counts from 1")
        if self.expires_days is not None and self.expires_days > 36_500:
            raise InputError(f"expires_days = {self.expires_days}: give up to 36500 (100 years), or leave it out")


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked of every document: settings, the df bound (None without df), and the policy's class of a phrase,
    which is given in its normal form."""

    settings: FilterSettings
    bound: int | None = None
    forbids: Callable[[str], str | None] | None = None


@dataclass(frozen=True, slots=True)
class PhraseVerdict(Verdict):
    """The verdict on a whole phrase: `term` is its form, `df` that of its rarest word.

    `policy_class` is the class of the policy that forbids it, None where none does.
    """

    policy_class: str | None = None


def judge(
    phrases: Sequence[str],
    rules: Rules,
    *,
    analysed: Sequence[Sequence[str]] | None = None,
    holds: Holds | None = None,
    df: Mapping[str, int] | None = None,
) -> list[PhraseVerdict]:
    """The verdict on each phrase of one document, in order.

    `analysed` are the terms of each phrase; without it (no analyzer at hand) normal forms stand for analysed forms, and
    df is not asked. `holds` tells what the document holds already (`holder_of_terms`, `holder_of_text`); None skips the
    question. `df` maps terms to df, 0 where absent.
    """
    settings = rules.settings
    seen: set[str] = set()
    kept = 0
    verdicts: list[PhraseVerdict] = []
    for number, phrase in enumerate(phrases):
        normal = normal_form(phrase)
        terms = None if analysed is None else analysed[number]
        form = normal if terms is None else " ".join(terms)
        rarest: int | None = None
        policy_class: str | None = None
        if not form or (terms is None and not any(map(str.isalnum, form))):
            outcome = Outcome.EMPTY
        elif rules.forbids is not None and (policy_class := rules.forbids(normal)) is not None:
            outcome = Outcome.FORBIDDEN
        elif settings.max_words is not None and normal.count(" ") >= settings.max_words:
            outcome = Outcome.TOO_LONG
        elif form in seen or (terms is not None and f" {normal}" in seen):
            outcome = Outcome.DUPLICATE
        else:
            seen.add(form)
            if terms is not None:
                seen.add(f" {normal}")  # the blank in front keeps it apart from the analysed forms
                if df is not None:
                    rarest = min([df.get(term, 0) for term in terms])
            if holds is not None and holds(form):
                outcome = Outcome.ALREADY_PRESENT
            elif rarest is not None and rules.bound is not None and rarest > rules.bound:
                outcome = Outcome.TOO_COMMON
            elif rarest is not None and rarest < settings.min_df:
                outcome = Outcome.TOO_RARE
            elif kept == settings.max_phrases:
                outcome = Outcome.OVER_QUOTA
            else:
                outcome, kept = Outcome.KEPT, kept + 1
        verdicts.append(PhraseVerdict(phrase, form, outcome, rarest, policy_class=policy_class))
    return verdicts


def holder_of_terms(terms: Sequence[str]) -> Holds:
    """For the analysed contents of a document: whether the terms of a form stand in them side by side."""
    joined = f" {' '.join(terms)} "
    return lambda form: f" {form} " in joined


def holder_of_text(contents: str) -> Holds:
    """For a text without an analyzer: whether its normal form holds that of a phrase, from border to border of words.

    In scripts without blanks (Chinese, Japanese, Thai and others) every letter is a border.
    """
    text = normal_form(contents)

    def holds(form: str) -> bool:
        start = text.find(form)
        while start >= 0:
            end = start + len(form)
            if (start == 0 or _border(text[start - 1], form[0])) and (end == len(text) or _border(form[-1], text[end])):
                return True
            start = text.find(form, start + 1)
        return False

    return holds


def _border(left: str, right: str) -> bool:
    return not (_in_word(left) and _in_word(right)) or (
        (_unspaced(left) or _unspaced(right)) and unicodedata.category(right)[0] != "M"
    )


def _in_word(letter: str) -> bool:
    """Letters, digits, the underscore, and the marks that are part of a letter (vowel signs of Hindi or Thai)."""
    return letter.isalnum() or letter == "_" or unicodedata.category(letter)[0] == "M"


def _unspaced(letter: str) -> bool:
    code = ord(letter)
    return any(first <= code <= last for first, last in _UNSPACED)
