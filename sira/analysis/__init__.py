"""Text without Java: the English analyzer, normal forms, windows of terms, and the df bound of the gate."""

from sira.analysis.english import Analyze, analyze, analyzer_for
from sira.analysis.windows import DEFAULT_MAX_DF_RATIO, DEFAULT_MAX_N, MAX_TERM_BYTES, df_bound, normal_form, windows

__all__ = [
    "DEFAULT_MAX_DF_RATIO",
    "DEFAULT_MAX_N",
    "MAX_TERM_BYTES",
    "Analyze",
    "analyze",
    "analyzer_for",
    "df_bound",
    "normal_form",
    "windows",
]
