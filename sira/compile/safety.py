"""What a model must not bring into a program: guessed answers, forbidden classes, constraints that nobody stated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sira.analysis import normal_form
from sira.records import Outcome, SketchPhrase, Topic, Verdict

_NUMBER = re.compile(r"(?<![\w.])\d[\d.,:/-]*(?!\w)")
_DECADE = re.compile(r"\d{3}0s|\d{2}(?:st|nd|rd|th)\b", re.IGNORECASE)
_EXCLUDES = re.compile(
    r"(?<!\w)(?:not|no|non|never|without|except|excepting|excluding|exclude|excludes|besides|but|other than|rather than"
    r"|instead of|n[o']t)(?!\w)|n['’]t(?!\w)|(?<!\w)-\w",
    re.IGNORECASE,
)
"""How an English topic says that it does not want something."""
_NAME = re.compile(r"(?<!\w)[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Safety:
    """What a compiler refuses of a sketch.

    `forbids` gives the class of the policy that forbids a phrase (in its normal form), or None. `answer_guesses`:
    names, years and numbers that the topic does not hold are taken for guessed answers; `allowed` are normal forms that
    pass all the same. `trusted`: constraints (must, must_not) stand as they are; otherwise each of their analysed words
    has to be one of the topic's.
    """

    forbids: Callable[[str], str | None] | None = None
    answer_guesses: bool = False
    allowed: frozenset[str] = frozenset()
    trusted: bool = True

    def refusal(self, phrase: SketchPhrase, topic: Topic) -> Outcome | None:
        """Why a phrase goes whole; None where it stays. Constraints of the topic itself are no guesses."""
        if self.forbids is not None and self.forbids(normal_form(phrase.text)) is not None:
            return Outcome.FORBIDDEN
        if self.answer_guesses and phrase.role == "should" and guesses(phrase.text, topic.text, self.allowed):
            return Outcome.ANSWER_GUESS
        return None


def guesses(phrase: str, topic: str, allowed: frozenset[str] = frozenset()) -> list[str]:
    """The names, years and numbers of a phrase that the topic does not hold.

    A name is a word in title case (`Paris`, `McKinley`); an abbreviation in capitals (`DNA`) and a decade or century
    (`1990s`, `19th`) are none: these are vocabulary. Where all words of a phrase are in title case it is read as names.
    """
    known = set(_words(topic)) | allowed
    found = [match.group() for match in _NUMBER.finditer(_DECADE.sub(" ", phrase))]
    found += [word for word in _NAME.findall(phrase) if word[0].isupper() and not word.isupper()]
    return [item for item in found if normal_form(item).strip(".,:/-") not in known]


def _words(text: str) -> Iterator[str]:
    plain = normal_form(text)
    yield from (match.group().strip(".,:/-") for match in _NUMBER.finditer(plain))
    yield from _NAME.findall(plain)


def traced(
    phrase: SketchPhrase, terms: Sequence[str], own: frozenset[str], topic: str
) -> tuple[SketchPhrase | None, Verdict | None]:
    """A constraint that a model proposes, held to the topic: its text, and its analysed words `own`.

    Returned as it is where all of its words are there and, for an exclusion, the topic excludes anything at all.
    Otherwise a verdict says so, and a requirement becomes an ordinary phrase, while an exclusion goes: it would hide
    documents for a reason that nobody gave.
    """
    stated = bool(terms) and own.issuperset(terms) and (phrase.role != "must_not" or bool(_EXCLUDES.search(topic)))
    if phrase.role == "should" or stated:
        return phrase, None
    verdict = Verdict(phrase.text, " ".join(terms), Outcome.UNTRACEABLE)
    return (replace(phrase, role="should"), verdict) if phrase.role == "must" else (None, verdict)
