"""What a kept window weighs beside lambda: by rank, idf, agreement or separation. Pure functions; factors in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sira.compile.gates import idf
from sira.compile.settings import Weights
from sira.records import SketchPhrase

Terms = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Weigher:
    """The factor of one window.

    `agreement` maps windows to the share of samples that propose them, `separation` terms to how far they separate the
    plain query's first hits from the next (Statistics.separation); each is empty unless its weighting is chosen.
    """

    weights: Weights
    documents: int
    agreement: Mapping[Terms, float] = field(default_factory=dict[Terms, float])
    separation: Mapping[Terms, float] = field(default_factory=dict[Terms, float])

    def factor(self, window: Terms, rank: int, df: int) -> float:
        """`rank` counts the phrases of the sketch from 1."""
        match self.weights:
            case "uniform":
                return 1.0
            case "rank":
                return 1.0 / math.log2(1 + rank)
            case "idf":
                most = idf(1, self.documents)
                return min(1.0, max(0.0, idf(df, self.documents)) / most) if most > 0 else 1.0
            case "agreement":
                return self.agreement.get(window, 1.0)
            case "margin":
                return self.separation.get(window, 1.0)


def agreements(proposals: Iterable[tuple[SketchPhrase, Terms]], samples: int) -> dict[Terms, float]:
    """The share of the samples in which each window was proposed; 1 where more are named than there are said to be."""
    seen: dict[Terms, set[int]] = {}
    for phrase, window in proposals:
        seen.setdefault(window, set()).add(phrase.sample)
    return {window: min(1.0, len(found) / max(samples, 1)) for window, found in seen.items()}
