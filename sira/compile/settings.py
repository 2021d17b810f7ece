"""How sketches become programs: gate, weights, n-grams and quotas."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from sira.analysis import DEFAULT_MAX_DF_RATIO, DEFAULT_MAX_N, df_bound
from sira.errors import InputError
from sira.program import MAX_WEIGHT, Scoring

Ngrams = Literal["off", "atoms", "atoms+phrases"]
Gate = Literal["auto", "window", "any", "phrase", "soft", "off"]
Weights = Literal["uniform", "rank", "idf", "agreement", "margin"]

MAX_TOPIC_CHARACTERS = 100_000
"""More is a document, and its search would take minutes."""
MAX_PHRASE_CHARACTERS = 1_000
"""A longer phrase gets one verdict as a whole: each window's own would repeat it."""
TINY_COLLECTION = 300
"""Documents; nothing smaller was measured, so the gate of the paper stands there."""
SMALL_COLLECTION = 5_000
"""About the size, in documents, of the smallest collection on which the paper shows its tau (SciFact: 5,183)."""


@dataclass(frozen=True, slots=True)
class CompileSettings:
    """How sketches become programs; none of the defaults was chosen on a test set.

    `sketch_weight` is lambda.

    `gate` says what df decides: of each window on its own (`window`); of any window of the phrase, which then passes
    whole (`any`, as in the paper's released code); of the phrase as it stands (`phrase`). There, a df passes where
    min_df <= df <= max(1, floor(tau * N)); `max_df_ratio` is tau (1 switches the upper bound off), `max_df` a bound in
    documents in its place. `soft` drops nothing above the bound: such a window weighs (idf(df) / idf(bound)) **
    gate_power as much. `auto` (docs/decisions/0012) is `window`, but soft in a collection of 300 to
    `small_collection` documents: there a window goes only above the bound that the larger number has. `off` has no
    upper bound. A window of df 0 is dropped by every gate.

    `weights` multiply lambda and the sketch's own weights: `rank`, 1 / log2(1 + rank) of the phrase in the sketch;
    `idf`, the term's idf over that of df 1; `agreement`, the share of the samples that propose the term; `margin`, how
    far the term separates the first hits of the plain query from the next thousand (Statistics.separation).

    `ngrams`: windows of 2..max_n words are left out (`off`), score as atoms of the field `expansion` (`atoms`), or also
    as phrases in `contents` (`atoms+phrases`); identifiers such as CWE-79 are both, whatever it says
    (sira.compile.identifiers).

    Quotas keep the heaviest of a kind, the earlier of equals; None keeps all: `max_phrases` of the windows of several
    words and identifiers, `max_facets`, `max_ranges`, then `max_terms` of all proposals that are no constraints.
    """

    sketch_weight: float = 0.5
    gate: Gate = "auto"
    gate_power: float = 3.0
    small_collection: int = SMALL_COLLECTION
    max_df_ratio: float = DEFAULT_MAX_DF_RATIO
    max_df: int | None = None
    min_df: int = 1
    weights: Weights = "uniform"
    ngrams: Ngrams = "off"
    max_n: int = DEFAULT_MAX_N
    max_terms: int | None = None
    max_phrases: int | None = None
    max_facets: int | None = None
    max_ranges: int | None = None
    scoring: Scoring = field(default_factory=Scoring)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sketch_weight) and 0 <= self.sketch_weight <= MAX_WEIGHT):
            raise InputError(f"sketch_weight (lambda) = {self.sketch_weight}: give a number from 0 to {MAX_WEIGHT:g}")
        df_bound(1, self.max_df_ratio)
        for name, choices in (("gate", Gate), ("weights", Weights), ("ngrams", Ngrams)):
            if getattr(self, name) not in get_args(choices):
                *most, last = get_args(choices)
                raise InputError(f"{name} = {getattr(self, name)!r}: choose {', '.join(most)} or {last}")
        if not (math.isfinite(self.gate_power) and 0 < self.gate_power <= 100):
            raise InputError(f"gate_power = {self.gate_power}: give a number above 0 and up to 100")
        if self.small_collection < 0:
            raise InputError(f"small_collection = {self.small_collection}: documents, from 0")
        if self.max_n < 1:
            raise InputError(f"max_n = {self.max_n}: counts from 1")
        for name in ("max_terms", "max_phrases", "max_facets", "max_ranges"):
            if (most := getattr(self, name)) is not None and most < 0:
                raise InputError(f"{name} = {most}: counts from 0; leave it out for no limit")
        if self.min_df < 1 or (self.max_df is not None and self.max_df < self.min_df):
            raise InputError(
                f"min_df = {self.min_df}, max_df = {self.max_df}: documents from 1, and max_df not below min_df"
            )

    def bound(self, documents: int) -> int:
        """The largest df that passes, in documents."""
        return df_bound(documents, self.max_df_ratio) if self.max_df is None else self.max_df
