"""Marks of the words of texts, fast enough for every page: what a word analyses to is asked once for an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from weakref import WeakKeyDictionary

from sira.lucene.reader import Index
from sira.program import Clause
from sira.search.explanation.passages import READ_CHARACTERS, Mark, Marker

KEPT_WORDS = 100_000
"""Of an index; with more, new rankings learn them anew."""


class KnownWords:
    """The words of an index's texts met so far: `terms`, what each analyses to, and back; `keys`, a number
    for that, 0 for nothing. It only grows."""

    def __init__(self) -> None:
        self.terms: dict[str, list[str]] = {}
        self.keys: dict[str, int] = {}
        self._words: dict[str, set[str]] = {}
        self._lock = Lock()

    def know(self, words: set[str], analyze: Callable[[Sequence[str]], list[list[str]]]) -> None:
        new = sorted(words.difference(self.terms))
        if not new:
            return
        analysed = analyze(new)
        with self._lock:
            for word, terms in zip(new, analysed, strict=True):
                for term in terms:
                    self._words.setdefault(term, set()).add(word)
                self.keys[word] = hash(tuple(terms)) if terms else 0
                self.terms[word] = terms

    def words_of(self, terms: Iterable[str]) -> set[str]:
        """The known words that analyse to any of the terms."""
        with self._lock:
            return set[str]().union(*(self._words.get(term, ()) for term in terms))


class QuickMarker(Marker):
    """As a Marker of the index; words that match nothing cost next to nothing. Phrases are found as a Marker does."""

    def __init__(self, clauses: Sequence[Clause], index: Index) -> None:
        manifest = index.manifest
        whitespace, closed = manifest.analyzer == "whitespace", manifest.closed_positions
        super().__init__(clauses, index.analyze, whitespace=whitespace, closed=closed)
        self._known = _known_words(index)
        self._terms, self._keys = self._known.terms, self._known.keys
        self._matches: dict[str, list[Mark]] = {}

    def words(self, text: str) -> list[str]:
        """The words of a text, in order; of a long one those of its beginning."""
        return self._word.findall(text, 0, READ_CHARACTERS)

    def know(self, texts: Iterable[Sequence[str]]) -> None:
        """Have the words of these texts analysed, in one batch."""
        self._known.know(set[str]().union(*texts), self._analyze)
        for word in self._known.words_of(self._places) - self._matches.keys():
            self._matches[word] = self.marks(word)

    def keys(self, words: Sequence[str]) -> list[int]:
        """A number for the terms of each known word, within this process; of a word without terms there is none."""
        return list(filter(None, map(self._keys.__getitem__, words)))

    def marks_of(self, text: str, words: Sequence[str]) -> list[Mark]:
        """The marks of a text with its words, which are known; the same as `marks`."""
        if self._phrases:
            return self.marks(text)
        found: list[Mark] = []
        matches, place, next_word = self._matches, 0, 0
        for number in [number for number, word in enumerate(words) if word in matches]:
            word = words[number]
            # The word may also stand inside the ones that are skipped; between two words there is none.
            inside = " ".join(words[next_word:number]).count(word)
            for _ in range(inside):
                place = text.index(word, place) + len(word)
            place = text.index(word, place)
            found += [Mark(place + mark.start, place + mark.end, mark.clauses) for mark in matches[word]]
            place, next_word = place + len(word), number + 1
        return found


_lock = Lock()
_known: WeakKeyDictionary[Index, KnownWords] = WeakKeyDictionary()


def _known_words(index: Index) -> KnownWords:
    """Those of an index, for all of its readers."""
    with _lock:
        known = _known.get(index)
        if known is None or len(known.terms) > KEPT_WORDS:
            known = _known[index] = KnownWords()
        return known
