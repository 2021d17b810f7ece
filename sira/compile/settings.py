"""How sketches become programs: gate, weights, n-grams and quotas."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from sira.analysis import DEFAULT_MAX_DF_RATIO, DEFAULT_MAX_N, df_bound
from sira.errors import InputError
from sira.program import MAX_WEIGHT, Scoring

Ngrams = Literal["off", "atoms", "atoms+phrases"]
Gate = Literal["window", "any", "phrase", "soft", "off"]
Weights = Literal["uniform", "rank", "idf", "agreement", "margin"]


@dataclass(frozen=True, slots=True)
class CompileSettings:
    """How sketches become programs; none of the defaults was chosen on a test set.

    `sketch_weight` is lambda.

    `gate` says what df decides: of each window on its own (`window`); of any window of the phrase, which then passes
    whole (`any`, as in the paper's released code); of the phrase as it stands (`phrase`). There, a df passes where
    min_df <= df <= max(1, floor(tau * N)); `max_df_ratio` is tau (1 switches the upper bound off), `max_df` a bound in
    documents in its place. `soft` (docs/decisions/0012) drops nothing above the bound: such a window weighs
    (idf(df) / idf(bound)) ** gate_power as much. `off` has no upper bound. A window of df 0 is dropped by every gate.

    `weights` multiply lambda and the sketch's own weights: `rank`, 1 / log2(1 + rank) of the phrase in the sketch;
    `idf`, the term's idf over that of df 1; `agreement`, the share of the samples that propose the term; `margin`, how
    far the term separates the first hits of the plain query from the next thousand (Statistics.separation).

    `ngrams`: windows of 2..max_n words are left out (`off`), score as atoms of the field `expansion` (`atoms`), or also
    as phrases in `contents` (`atoms+phrases`). `max_terms` keeps the heaviest proposed windows only; None keeps all.
    """

    sketch_weight: float = 0.5
    gate: Gate = "window"
    gate_power: float = 3.0
    max_df_ratio: float = DEFAULT_MAX_DF_RATIO
    max_df: int | None = None
    min_df: int = 1
    weights: Weights = "uniform"
    ngrams: Ngrams = "off"
    max_n: int = DEFAULT_MAX_N
    max_terms: int | None = None
    scoring: Scoring = field(default_factory=Scoring)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sketch_weight) and 0 <= self.sketch_weight <= MAX_WEIGHT):
            raise InputError(f"sketch_weight (lambda) = {self.sketch_weight}: give a finite number >= 0")
        df_bound(1, self.max_df_ratio)
        for name, choices in (("gate", Gate), ("weights", Weights), ("ngrams", Ngrams)):
            if getattr(self, name) not in get_args(choices):
                *most, last = get_args(choices)
                raise InputError(f"{name} = {getattr(self, name)!r}: choose {', '.join(most)} or {last}")
        if not (math.isfinite(self.gate_power) and 0 < self.gate_power <= 100):
            raise InputError(f"gate_power = {self.gate_power}: give a number above 0 and up to 100")
        if self.max_n < 1 or (self.max_terms is not None and self.max_terms < 0):
            raise InputError(f"max_n = {self.max_n}, max_terms = {self.max_terms}: counts from 1, and from 0")
        if self.min_df < 1 or (self.max_df is not None and self.max_df < self.min_df):
            raise InputError(
                f"min_df = {self.min_df}, max_df = {self.max_df}: documents from 1, and max_df not below min_df"
            )

    def bound(self, documents: int) -> int:
        """The largest df that passes, in documents."""
        return df_bound(documents, self.max_df_ratio) if self.max_df is None else self.max_df
