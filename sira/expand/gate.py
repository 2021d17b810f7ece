"""The document-side gate: which windows of the proposed phrases become postings.

A window passes where its df on the base corpus is at most the bound; df 0 passes, since new vocabulary is the point.
Only the words ABOVE the bound need be known, a few hundred by Zipf's law, so the gate is a look-up in a small table.
A window of several words is at most as frequent as its rarest word; only where all its words are too common is it
counted.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sira.analysis import DEFAULT_MAX_N, MAX_TERM_BYTES, df_bound
from sira.errors import InputError

DEFAULT_DOCUMENT_MAX_DF_RATIO = 0.2
SAFE_LENGTH = MAX_TERM_BYTES // 4
"""A text of this many characters is within Lucene's limit whatever its letters."""


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
    _windows: dict[str, int] = field(default_factory=dict[str, int])

    def passing(self, words: Iterable[str]) -> list[str]:
        """The words that pass, in order."""
        common = self.common
        return [word for word in words if word not in common]

    def filter(self, phrases: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
        """The words and the atoms (windows of several words, joined by blanks) of one document's analysed phrases.

        Each is listed once, in the order of first appearance, however many phrases hold it. Where no word passes, no
        atom stands alone: a document has an expansion where it has words, so that atoms move no length and no N.
        """
        words: dict[str, None] = {}
        atoms: dict[str, None] = {}
        counts, quota = self.counts, self.settings.max_phrases
        seen: set[str] = set()
        for terms in phrases:
            text = " ".join(terms)
            if not text:
                counts["phrases_empty"] += 1
            elif text in seen:
                counts["phrases_duplicate"] += 1
            elif len(seen) == quota:
                counts["phrases_over_quota"] += 1
            else:
                seen.add(text)
                kept, proposed = self.passing(terms), self._atoms(terms)
                dropped = len(terms) - len(kept)
                if dropped:
                    counts["windows_too_common"] += dropped
                if len(text) > SAFE_LENGTH:
                    kept, proposed = self._short(kept), self._short(proposed)
                words |= dict.fromkeys(kept)
                atoms |= dict.fromkeys(proposed)
        if atoms and not words:
            counts["windows_without_words"] += len(atoms)
            atoms = {}
        counts["phrases_kept"] += len(seen)
        counts["windows_kept"] += len(words) + len(atoms)
        return list(words), list(atoms)

    def _atoms(self, terms: Sequence[str]) -> list[str]:
        """The windows of several words, less those of common words alone that are themselves too common."""
        kept: list[str] = []
        level, doubtful = list(terms), [term in self.common for term in terms]
        for size in range(1, min(len(terms), self.settings.max_n)):
            level = [f"{window} {term}" for window, term in zip(level, terms[size:], strict=False)]
            doubtful = [first and last for first, last in itertools.pairwise(doubtful)]
            if True in doubtful:
                kept += [w for w, doubt in zip(level, doubtful, strict=True) if not (doubt and self._too_common(w))]
            else:
                kept += level
        return kept

    def _too_common(self, atom: str) -> bool:
        df = self._windows.get(atom)
        if df is None:
            (df,) = self.window_df([tuple(atom.split(" "))])
            self._windows[atom] = df
        if df > self.bound:
            self.counts["windows_too_common"] += 1
        return df > self.bound

    def _short(self, terms: list[str]) -> list[str]:
        """Those within Lucene's limit on one term."""
        kept = [term for term in terms if len(term) <= SAFE_LENGTH or len(term.encode()) <= MAX_TERM_BYTES]
        self.counts["windows_too_long"] += len(terms) - len(kept)
        return kept
