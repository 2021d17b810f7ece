"""From the phrases of a sketch to the windows on which the index decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sira.analysis import windows
from sira.compile.entries import Entry
from sira.compile.gates import Terms
from sira.compile.identifiers import MAX_TERMS, identifiers
from sira.compile.safety import Safety, traced
from sira.compile.settings import MAX_PHRASE_CHARACTERS
from sira.compile.statistics import Statistics
from sira.records import Outcome, SketchPhrase, Topic, Verdict


class Phrase(NamedTuple):
    """One proposed phrase, analysed. `rank` counts from 1."""

    phrase: SketchPhrase
    terms: Terms
    rank: int


class Window(NamedTuple):
    """One window of one phrase, on its way to a verdict; or an identifier in it, whatever its length. A tuple, since a
    program is made of a hundred of them and more."""

    phrase: SketchPhrase
    rank: int
    terms: Terms
    identifier: bool = False

    @property
    def term(self) -> str:
        return " ".join(self.terms)


def admitted(
    phrases: Sequence[SketchPhrase],
    analysed: Sequence[Sequence[str]],
    *,
    topic: Topic,
    own: frozenset[str],
    excluded: frozenset[str],
    safety: Safety,
    entries: dict[int, list[Entry]],
) -> Iterator[Phrase]:
    """The phrases that stay, with their terms; the verdicts on what goes are put into `entries` by rank.

    `own` are the terms of the topic, `excluded` those of its excluding part.
    """
    for rank, (phrase, terms) in enumerate(zip(phrases, analysed, strict=True), start=1):
        if len(phrase.text) > MAX_PHRASE_CHARACTERS:
            said = f"{len(phrase.text):,} characters: at most {MAX_PHRASE_CHARACTERS:,} make a phrase"
            begin = phrase.text[:MAX_PHRASE_CHARACTERS]
            entries.setdefault(rank, []).append(Entry(Verdict(begin, "", Outcome.TOO_LONG, reason=said)))
            continue
        if not safety.trusted:
            kept, verdict = traced(phrase, terms, own, excluded)
            if verdict is not None:
                entries.setdefault(rank, []).append(Entry(verdict))
            if kept is None:
                continue
            phrase = kept
        refused = safety.refusal(phrase.text, topic, constraint=phrase.role != "should")
        if refused is not None:
            outcome, reason = refused
            entries.setdefault(rank, []).append(Entry(Verdict(phrase.text, " ".join(terms), outcome, reason=reason)))
        else:
            yield Phrase(phrase, tuple(terms), rank)


def proposed_windows(phrases: Sequence[Phrase], statistics: Statistics, max_n: int) -> Iterator[Window]:
    """The windows of each phrase, its identifiers first. Of a required phrase all words must be there; a forbidden one
    excludes as a whole: neither has identifiers."""
    named = [list(identifiers(item.phrase.text)) if item.phrase.role == "should" else [] for item in phrases]
    texts = list(dict.fromkeys(text for listed in named for text in listed))
    terms = dict(zip(texts, statistics.analyze(texts) if texts else [], strict=True))
    for item, listed in zip(phrases, named, strict=True):
        if not item.terms or item.phrase.role == "must_not":
            yield Window(item.phrase, item.rank, item.terms)
            continue
        several = dict.fromkeys(tuple(terms[text]) for text in listed if 2 <= len(terms[text]) <= MAX_TERMS)
        yield from (Window(item.phrase, item.rank, unit, identifier=True) for unit in several)
        for window in windows(item.terms, 1 if item.phrase.role == "must" else max_n):
            yield Window(item.phrase, item.rank, window)
