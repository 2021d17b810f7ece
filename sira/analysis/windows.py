"""Windows over analysed terms, the normal form of a phrase, and the df bound that both sides of the gate share."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence

from sira.errors import InputError

DEFAULT_MAX_DF_RATIO = 0.05
DEFAULT_MAX_N = 3
MAX_TERM_BYTES = 32766
"""Lucene's limit on one term (IndexWriter.MAX_TERM_LENGTH), in bytes of UTF-8."""


def windows(terms: Sequence[str], max_n: int) -> Iterator[tuple[str, ...]]:
    """The sliding windows of 1..max_n terms of ONE phrase: single words first, then pairs, each from left to right.

    Windows never cross phrases because a caller passes one phrase at a time.
    """
    for n in range(1, min(max_n, len(terms)) + 1):
        for start in range(len(terms) - n + 1):
            yield tuple(terms[start : start + n])


def normal_form(text: str) -> str:
    """NFKC, case folded, runs of white space as one blank: phrases with one normal form are one phrase."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def df_bound(documents: int, max_df_ratio: float) -> int:
    """The largest df that passes the gate: max(1, floor(tau * N)) documents (SIRA, section 3.1; at least one document,
    so that a corpus of a handful keeps a usable bound).

    Raises InputError where the ratio is not in (0, 1].
    """
    if not (math.isfinite(max_df_ratio) and 0 < max_df_ratio <= 1):
        raise InputError(f"max_df_ratio = {max_df_ratio}: give a share above 0 and up to 1 (1 switches the bound off)")
    # 0.05 * 60 is 3.0000000000000004 in binary, and 0.29 * 100 is 28.999999999999996: round away the representation
    return max(1, math.floor(round(max_df_ratio * documents, 9)))
