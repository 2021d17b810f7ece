"""The gate: which proposed windows become clauses, and at what share of their weight. Pure functions of df."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sira.analysis import windows
from sira.compile.settings import TINY_COLLECTION, CompileSettings, Gate
from sira.records import Outcome

Terms = tuple[str, ...]


def idf(df: float, documents: int) -> float:
    """Lucene's: ln(1 + (N - df + 0.5) / (df + 0.5)) (BM25Similarity.idf)."""
    return math.log(1 + (documents - df + 0.5) / (df + 0.5))


@dataclass(frozen=True, slots=True)
class DfGate:
    """The bounds of one collection. df counts documents: windows above `most` lose weight, those above `ceiling` go."""

    mode: Gate
    documents: int
    least: int
    most: int
    ceiling: int
    power: float = 1.0

    @classmethod
    def of(cls, settings: CompileSettings, documents: int) -> DfGate:
        most = settings.bound(documents)
        small = TINY_COLLECTION <= documents < settings.small_collection
        auto = settings.bound(settings.small_collection) if small else most
        ceiling = {"auto": auto, "soft": documents, "off": documents}.get(settings.gate, most)
        return cls(settings.gate, documents, settings.min_df, most, ceiling, settings.gate_power)

    def judge(self, df: int) -> Outcome:
        """The outcome for one df."""
        if df == 0:
            return Outcome.UNSEEN
        if df < self.least:
            return Outcome.TOO_RARE
        return Outcome.TOO_COMMON if df > self.ceiling else Outcome.KEPT

    def share(self, df: int) -> float:
        """What a kept window weighs, between 0 and 1: less than 1 only above the bound, with `auto` and `soft`."""
        if self.mode not in ("auto", "soft") or df <= self.most:
            return 1.0
        reference = idf(self.most, self.documents)
        share = min(1.0, max(0.0, idf(df, self.documents)) / reference) if reference > 0 else 1.0
        return share**self.power


def deciding(terms: Sequence[str], settings: CompileSettings) -> list[Terms]:
    """The windows of a phrase whose df decides for the whole phrase; none where each window stands for itself."""
    if settings.gate == "any":
        return list(windows(terms, settings.max_n))
    return [tuple(terms)] if settings.gate == "phrase" and terms else []


def phrase_outcome(gate: DfGate, asked: Iterable[Terms], df: Mapping[Terms, int]) -> Outcome:
    """Of a phrase by its deciding windows: kept where one is, else the fault nearest to passing."""
    found = {gate.judge(df[window]) for window in asked}
    ranking = (Outcome.KEPT, Outcome.TOO_COMMON, Outcome.TOO_RARE, Outcome.UNSEEN)
    return next((outcome for outcome in ranking if outcome in found), Outcome.KEPT)
