"""What a model must not bring into a program: guessed answers, forbidden classes, constraints that nobody stated."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from sira.analysis import normal_form
from sira.records import Outcome, SketchPhrase, Topic, Verdict

if TYPE_CHECKING:
    from sira.policy import Policy

_NUMBER = re.compile(r"(?<![\w.])\d[\d.,:/-]*(?!\w)")
_DECADE = re.compile(r"\d{3}0s|\d{2}(?:st|nd|rd|th)\b", re.IGNORECASE)
_EXCLUDES = re.compile(
    r"(?<!\w)(?:not|no|non|never|without|except|excepting|excluding|exclude|excludes|besides|but|other than|rather than"
    r"|instead of|n[o']t)(?!\w)|n['’]t(?!\w)|(?<!\w)-(?=\w)",
    re.IGNORECASE,
)
"""How an English topic says that it does not want something."""
_NAME = re.compile(r"(?<!\w)[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Safety:
    """What a compiler refuses of a sketch.

    `forbids` gives the class of the policy that forbids a phrase (in its normal form), or None. `answer_guesses`:
    names, years and numbers that the topic does not hold are taken for guessed answers; `allowed` are normal forms that
    pass all the same, inside a longer phrase too. `trusted`: constraints (must, must_not, filters) stand as they are;
    otherwise each of their analysed words, or bounds, has to be one of the topic's, and those of an exclusion have to
    stand behind a word that excludes.
    """

    forbids: Callable[[str], str | None] | None = None
    answer_guesses: bool = False
    allowed: frozenset[str] = frozenset()
    trusted: bool = True

    @classmethod
    def of(cls, policy: Policy | None, *, answer_guesses: bool = False, trusted: bool = True) -> Safety:
        """By a policy file: its classes, and what it lets pass as no guess."""
        if policy is None:
            return cls(answer_guesses=answer_guesses, trusted=trusted)
        return cls(policy.forbids, answer_guesses, policy.allowed, trusted)

    def forbidden(self, text: str) -> tuple[Outcome, str] | None:
        """The verdict, with the class of the policy that forbids the text; None where none does."""
        name = None if self.forbids is None else self.forbids(normal_form(text))
        return None if name is None else (Outcome.FORBIDDEN, name)

    def refusal(self, text: str, topic: Topic, *, constraint: bool = False) -> tuple[Outcome, str] | None:
        """Why a proposed text goes whole, and what decided it: the class, or the guessed names. None where it stays.

        Constraints are the topic's own, and so no guesses.
        """
        refused = self.forbidden(text)
        if refused is None and self.answer_guesses and not constraint:
            found = guesses(text, topic.text, self.allowed)
            refused = (Outcome.ANSWER_GUESS, ", ".join(found)) if found else None
        return refused


def guesses(phrase: str, topic: str, allowed: frozenset[str] = frozenset()) -> list[str]:
    """The names, years and numbers of a phrase that the topic does not hold.

    A name is a word in title case (`Paris`, `McKinley`); an abbreviation in capitals (`DNA`) and a decade or century
    (`1990s`, `19th`) are none: these are vocabulary. Where all words of a phrase are in title case it is read as names.
    The digits behind a hyphen are a number (`F-16`), those inside a word are none (`p53`). `allowed` phrases pass.
    """
    if allowed:
        phrase = _allowed_pattern(allowed).sub(" ", unicodedata.normalize("NFKC", phrase))
    known = set(_words(topic))
    found = [match.group() for match in _NUMBER.finditer(_DECADE.sub(" ", phrase))]
    found += [word for word in _NAME.findall(phrase) if word[0].isupper() and not word.isupper()]
    return [item for item in found if normal_form(item).strip(".,:/-") not in known]


@lru_cache(32)
def _allowed_pattern(allowed: frozenset[str]) -> re.Pattern[str]:
    """Any of these phrases as whole words, whatever their capitals and blanks."""
    longest_first = sorted(allowed, key=lambda phrase: (-len(phrase), phrase))
    phrases = (r"\s+".join(map(re.escape, phrase.split())) for phrase in longest_first)
    return re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)", re.IGNORECASE)


def _words(text: str) -> Iterator[str]:
    plain = normal_form(text)
    yield from (match.group().strip(".,:/-") for match in _NUMBER.finditer(plain))
    yield from _NAME.findall(plain)


def excluding_part(topic: str) -> str:
    """What stands behind the first word of a topic that excludes something; empty where none does."""
    found = _EXCLUDES.search(topic)
    return topic[found.end() :] if found else ""


def traced(
    phrase: SketchPhrase, terms: Sequence[str], own: frozenset[str], excluded: frozenset[str]
) -> tuple[SketchPhrase | None, Verdict | None]:
    """A constraint that a model proposes, held to the analysed words of the topic, or for an exclusion to those of its
    excluding part.

    Returned as it is where all of its words are there. Otherwise a verdict says so, and a requirement becomes an
    ordinary phrase, while an exclusion goes: it would hide documents for a reason that nobody gave.
    """
    stated = bool(terms) and (excluded if phrase.role == "must_not" else own).issuperset(terms)
    if phrase.role == "should" or stated:
        return phrase, None
    verdict = Verdict(phrase.text, " ".join(terms), Outcome.UNTRACEABLE)
    return (replace(phrase, role="should"), verdict) if phrase.role == "must" else (None, verdict)
