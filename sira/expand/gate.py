"""The document-side gate: which windows of the proposed phrases become postings.

A window passes where its df on the base corpus is at most the bound; df 0 passes, since new vocabulary is the point.
Only the words ABOVE the bound need be known, a few hundred by Zipf's law, so the gate is a look-up in a small table.
A window of several words is at most as frequent as its rarest word; only where all its words are too common is it
counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sira.analysis import DEFAULT_MAX_N, MAX_TERM_BYTES, df_bound, windows
from sira.errors import InputError

DEFAULT_DOCUMENT_MAX_DF_RATIO = 0.2


@dataclass(frozen=True, slots=True)
class GateSettings:
    """tau (docs/decisions/0003), the longest window in words, and the most phrases taken of one document."""

    max_df_ratio: float = DEFAULT_DOCUMENT_MAX_DF_RATIO
    max_n: int = DEFAULT_MAX_N
    max_phrases: int = 50

    def __post_init__(self) -> None:
        df_bound(1, self.max_df_ratio)
        if self.max_n < 1 or self.max_phrases < 1:
            raise InputError(f"max_n = {self.max_n}, max_phrases = {self.max_phrases}: both count from 1")


@dataclass(slots=True)
class DocumentGate:
    """Applies the gate and counts its verdicts.

    `common` holds the df of every word above the bound; `window_df` counts windows of several words on the base corpus
    (asked only where every word is common; answers are kept).
    """

    bound: int
    settings: GateSettings
    common: Mapping[str, int]
    window_df: Callable[[Sequence[tuple[str, ...]]], Sequence[int]]
    counts: Counter[str] = field(default_factory=Counter[str])
    _windows: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])

    def filter(self, phrases: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
        """The words and the atoms (windows of several words, joined by blanks) of one document's analysed phrases.

        Each is listed once, in the order of first appearance, however many phrases hold it. Where no word passes, no
        atom stands alone: a document has an expansion where it has words, so that atoms move no length and no N.
        """
        words: dict[str, None] = {}
        atoms: dict[str, None] = {}
        counts, common = self.counts, self.common
        seen: set[tuple[str, ...]] = set()
        for phrase in phrases:
            terms = tuple(phrase)
            if not terms:
                counts["phrases_empty"] += 1
                continue
            if terms in seen:
                counts["phrases_duplicate"] += 1
                continue
            if len(seen) == self.settings.max_phrases:
                counts["phrases_over_quota"] += 1
                continue
            seen.add(terms)
            for term in terms:
                if term in common:
                    counts["windows_too_common"] += 1
                elif len(term) > MAX_TERM_BYTES // 4 and len(term.encode()) > MAX_TERM_BYTES:
                    counts["windows_too_long"] += 1
                else:
                    words[term] = None
            if len(terms) > 1 and self.settings.max_n > 1:
                atoms |= dict.fromkeys(self._atoms(terms))
        if not words:
            counts["windows_without_words"] += len(atoms)
            atoms = {}
        counts["phrases_kept"] += len(seen)
        counts["windows_kept"] += len(words) + len(atoms)
        return list(words), list(atoms)

    def _atoms(self, terms: tuple[str, ...]) -> Iterable[str]:
        for window in windows(terms, self.settings.max_n):
            if len(window) == 1:
                continue
            if all(word in self.common for word in window) and self._df(window) > self.bound:
                self.counts["windows_too_common"] += 1
                continue
            atom = " ".join(window)
            if len(atom) > MAX_TERM_BYTES // 4 and len(atom.encode()) > MAX_TERM_BYTES:
                self.counts["windows_too_long"] += 1
                continue
            yield atom

    def _df(self, window: tuple[str, ...]) -> int:
        known = self._windows.get(window)
        if known is None:
            (known,) = self.window_df([window])
            self._windows[window] = known
        return known
