"""Passages of a text with the words marked that an index takes for the terms of a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from sira.program import AnyOfClause, Clause, PhraseClause, TermClause
from sira.search.explanation.values import Passage, Piece

Analyze = Callable[[Sequence[str]], list[list[str]]]

PASSAGE_CHARACTERS = 260
READ_CHARACTERS = 200_000
"""Of a longer text the beginning is looked at."""

# Letters and digits of any script with the marks that belong to them (what is no punctuation); inside a word also what
# tokenizers keep there. Where this takes more than one token for a word, the word's analysis has several terms.
_PUNCTUATION = (
    ("\x00", "\xbf"), ("\u1680", "\u1680"), ("\u2000", "\u200b"), ("\u200e", "\u206f"), ("\u2e00", "\u2e7f"),
    ("\u3000", "\u303f"), ("\ufe10", "\ufe1f"), ("\ufe30", "\ufe6f"), ("\uff00", "\uff0f"), ("\uff1a", "\uff20"),
)  # fmt: skip
"""Where punctuation and all blanks stand, with letters and digits among them."""


def _no_letters() -> str:
    """What is no letter, for a class: one class without alternatives takes half the time."""
    signs = (chr(code) for first, last in _PUNCTUATION for code in range(ord(first), ord(last) + 1))
    return "".join(re.escape(sign) for sign in signs if not (sign.isalnum() or sign == "_"))


_LETTER = f"[^{_no_letters()}]"
# The look ahead spares most words the alternatives; nothing that is taken could be given back, hence `++`.
_WORD = re.compile(rf"{_LETTER}++(?:(?=['’.:,])(?:['’.:]|(?<=\d),(?=\d)){_LETTER}++)*+")
_RUN = re.compile(r"\S+")
_BLANKS = re.compile(r"\s+")


class Mark(NamedTuple):
    """A stretch of a text and the places of the clauses that it matches."""

    start: int
    end: int
    clauses: tuple[int, ...]


class Marker:
    """Finds the words of texts that analyse to terms of the clauses. Each distinct word is analysed once.

    `whitespace`: words end at blanks only. `closed`: stop words inside a phrase leave no place in the index.
    """

    def __init__(
        self, clauses: Sequence[Clause], analyze: Analyze, *, whitespace: bool = False, closed: bool = True
    ) -> None:
        self._analyze, self._word, self._closed = analyze, _RUN if whitespace else _WORD, closed
        self._places: dict[str, list[int]] = {}
        self._phrases: list[tuple[int, tuple[str, ...]]] = []
        for place, clause in enumerate(clauses):
            if clause.occur == "must_not":
                continue
            if isinstance(clause, PhraseClause):
                self._phrases.append((place, clause.terms))
            elif isinstance(clause, TermClause | AnyOfClause):
                for term in (clause.term,) if isinstance(clause, TermClause) else clause.terms:
                    self._places.setdefault(term, []).append(place)
        self._terms: dict[str, list[str]] = {}

    def learn(self, texts: Iterable[str]) -> None:
        """Analyse the words of these texts in one batch."""
        words = {match[0] for text in texts for match in self._word.finditer(text, 0, READ_CHARACTERS)}
        new = sorted(words - self._terms.keys())
        self._terms |= zip(new, self._analyze(new), strict=True)

    def marks(self, text: str) -> list[Mark]:
        """The marks of a text that was learned, in its order; none overlap."""
        words = [(match.start(), match.end(), self._terms[match[0]])
                 for match in self._word.finditer(text, 0, READ_CHARACTERS)]  # fmt: skip
        in_phrases = self._in_phrases(words)
        marks: list[Mark] = []
        for number, (start, end, terms) in enumerate(words):
            by_term = {term: self._places[term] for term in terms if term in self._places}
            own = in_phrases.get(number, [])
            if len(terms) > 1 and not own and (parts := _literal(text, start, end, by_term)):
                marks += parts
            elif by_term or own:
                places = sorted({*own, *(place for places in by_term.values() for place in places)})
                marks.append(Mark(start, end, tuple(places)))
        return marks

    def _in_phrases(self, words: Sequence[tuple[int, int, list[str]]]) -> dict[int, list[int]]:
        """The phrase clauses that each word is part of."""
        found: dict[int, list[int]] = {}
        if not self._phrases:
            return found
        gap = [] if self._closed else [""]
        flat = [(term, number) for number, (_, _, terms) in enumerate(words) for term in terms or gap]
        starts: dict[str, list[int]] = {}
        for at, (term, _) in enumerate(flat):
            starts.setdefault(term, []).append(at)
        for place, terms in self._phrases:
            for at in starts.get(terms[0], []):
                stretch = flat[at : at + len(terms)]
                if tuple(term for term, _ in stretch) == terms:
                    for number in {number for _, number in stretch}:
                        found.setdefault(number, []).append(place)
        return found


def _literal(text: str, start: int, end: int, by_term: Mapping[str, list[int]]) -> list[Mark]:
    """Where the terms stand as they are inside a run of several terms, as in scripts that leave no blanks."""
    spans: dict[tuple[int, int], set[int]] = {}
    run = text[start:end].casefold()
    if len(run) == end - start:
        for term, places in by_term.items():
            for match in re.finditer(re.escape(term), run):
                spans.setdefault((start + match.start(), start + match.end()), set()).update(places)
    marks: list[Mark] = []
    for (first, last), places in sorted(spans.items()):
        if marks and first < marks[-1].end:  # overlapping pairs of letters (CJK) are one mark
            before = marks.pop()
            first, last, places = before.start, max(before.end, last), {*before.clauses, *places}
        marks.append(Mark(first, last, tuple(sorted(places))))
    return marks


def beginning(text: str, marks: Sequence[Mark]) -> Passage:
    """The beginning of a text, marked."""
    return _passage(text, marks, 0, _cut(text, PASSAGE_CHARACTERS))


def passages(text: str, marks: Sequence[Mark], worth: Mapping[int, float], most: int = 2) -> tuple[Passage, ...]:
    """Up to `most` passages, in the order of the text: those whose clauses are worth most, each clause counted once.

    Without a mark of worth it is the beginning of the text; of an empty text nothing.
    """
    if not text.strip():
        return ()
    spans: list[tuple[int, int]] = []
    shown: set[int] = set()
    for _ in range(most):
        best = _best(marks, {place: value for place, value in worth.items() if place not in shown})
        if best is None:
            break
        spans.append(_widened(text, *best))
        start, end = spans[-1]
        shown |= {place for mark in marks if start <= mark.start < end for place in mark.clauses}
    if not spans:
        return (beginning(text, marks),)
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(_passage(text, marks, start, end) for start, end in joined)


def _best(marks: Sequence[Mark], worth: Mapping[int, float]) -> tuple[int, int] | None:
    """The stretch of marks that fits a passage and whose distinct clauses are worth most; the first of equals."""
    best, found = 0.0, None
    useful = [mark for mark in marks if any(place in worth for place in mark.clauses)]
    counts: dict[int, int] = {}
    first = 0
    for last, mark in enumerate(useful):
        for place in mark.clauses:
            counts[place] = counts.get(place, 0) + 1
        while mark.end - useful[first].start > PASSAGE_CHARACTERS and first < last:
            for place in useful[first].clauses:
                counts[place] -= 1
            first += 1
        value = sum(worth.get(place, 0.0) for place, count in counts.items() if count)
        if value > best * (1 + 1e-9):
            best, found = value, (useful[first].start, mark.end)
    return found


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """Around a stretch, up to the length of a passage and to the ends of words."""
    room = max(0, PASSAGE_CHARACTERS - (end - start))
    left = max(0, start - room // 2)
    right = min(len(text), end + room - (start - left))
    left = max(0, min(left, right - PASSAGE_CHARACTERS))
    if left and (blank := _BLANKS.search(text, left, start)):
        left = blank.end()
    if right < len(text):
        right = end + _cut(text[end:], right - end)
    return left, right


def _cut(text: str, characters: int) -> int:
    """Where to cut a text so that no word is cut, if one ends before that."""
    if len(text) <= characters:
        return len(text)
    blanks = list(_BLANKS.finditer(text, 0, characters + 1))
    return blanks[-1].start() if blanks else characters


def _passage(text: str, marks: Sequence[Mark], start: int, end: int) -> Passage:
    pieces = [Piece("… ")] if text[:start].strip() else []
    at = start
    for mark in marks:
        if mark.start >= start and mark.end <= end:
            pieces += [Piece(_blanks(text[at : mark.start])), Piece(_blanks(text[mark.start : mark.end]), mark.clauses)]
            at = mark.end
    pieces.append(Piece(_blanks(text[at:end])))
    if text[end:].strip():
        pieces.append(Piece(" …"))
    return tuple(piece for piece in pieces if piece.text)


def _blanks(text: str) -> str:
    return _BLANKS.sub(" ", text)
