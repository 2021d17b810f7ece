"""What the filters know of the words of a corpus: their analysis and their df, with Java or without."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sira.analysis.english import Analyze, analyzer_for
from sira.corpora.df_table import DfTable
from sira.errors import InputError
from sira.lucene.analyzers import analyzer_name

if TYPE_CHECKING:
    from sira.lucene.reader import Index


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`analyze` gives the index terms of texts; None where only Java could, so that normal forms stand for them.

    `df` gives the df of at least the terms that it is asked for, 0 where absent, on a base corpus of `documents`
    documents; None where no df is at hand.
    """

    analyzer: str
    analyze: Analyze | None = None
    df: Callable[[Set[str]], Mapping[str, int]] | None = None
    documents: int = 0
    fingerprint: str | None = None


def plain_vocabulary(analyzer: str) -> Vocabulary:
    """No df; analysed forms where Java is not needed for them. Raises InputError for a name of no analyzer."""
    return Vocabulary(analyzer_name(analyzer), analyzer_for(analyzer))


def table_vocabulary(table: DfTable) -> Vocabulary:
    """An exported table. Raises InputError where its terms cannot be computed without Java."""
    analyze = analyzer_for(table.analyzer)
    if analyze is None:
        raise InputError(
            f"the df table counts the terms of the analyzer {table.analyzer!r}, which only Java computes: "
            "give --index DIR in its place"
        )
    return Vocabulary(table.analyzer, analyze, lambda _: table.df, table.documents, table.fingerprint)


def index_vocabulary(index: Index) -> Vocabulary:
    """An open index: its own analyzer, and the df of its base corpus, the field `contents`."""

    def df(terms: Set[str]) -> Mapping[str, int]:
        listed = list(terms)
        return dict(zip(listed, index.field_df("contents", listed), strict=True))

    return Vocabulary(index.manifest.analyzer, index.analyze, df, index.document_count, index.contents_fingerprint)
