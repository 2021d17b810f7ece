"""What the compiler may ask of a collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from sira.program import Program


class Statistics(Protocol):
    """Document frequencies and the analysis they were counted under. An open `Index` fulfils it.

    Every df counts the documents that hold the term in `contents` or in `expansion`; a term that is not there has df 0.
    """

    @property
    def document_count(self) -> int:
        """N, the number of documents."""
        ...

    def analyze(self, texts: Sequence[str]) -> list[list[str]]:
        """The index terms of each text."""
        ...

    def df(self, terms: Sequence[str]) -> list[int]:
        """df of each analysed term (a word, or an atom of several words joined by blanks)."""
        ...

    def window_df(self, windows: Sequence[Sequence[str]]) -> list[int]:
        """df of windows of two or more words: side by side in `contents`, or an atom in `expansion`."""
        ...

    def facet_df(self, facets: Sequence[str]) -> list[int]:
        """df of `field:value` strings."""
        ...


@runtime_checkable
class Separation(Protocol):
    """What statistics of an open index also know: postings."""

    def separation(self, plain: Program, terms: Sequence[str]) -> list[float]:
        """How far each term separates the first hits of a plain program from the next thousand: its share of documents
        among the former less its share among the latter, at least 0, over the largest such difference of the terms
        (1 for all where there is none)."""
        ...


@runtime_checkable
class Positions(Protocol):
    """What statistics of an open index also know: whether it can search phrases. Of others it is assumed."""

    @property
    def has_positions(self) -> bool: ...


@runtime_checkable
class ValueFields(Protocol):
    """Statistics that know the numeric and date fields of their collection. On others, ranges are invalid."""

    @property
    def value_fields(self) -> Mapping[str, str]:
        """name -> `integer`, `number` or `date`."""
        ...


def _blanks(texts: Sequence[str]) -> list[list[str]]:
    return [text.lower().split() for text in texts]


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """Statistics from dictionaries: an exported table, or a test. Windows are looked up joined by blanks."""

    document_count: int
    table: Mapping[str, int]
    facets: Mapping[str, int] = field(default_factory=dict[str, int])
    analyzer: Callable[[Sequence[str]], list[list[str]]] = _blanks
    value_fields: Mapping[str, str] = field(default_factory=dict[str, str])

    def analyze(self, texts: Sequence[str]) -> list[list[str]]:
        return self.analyzer(texts)

    def df(self, terms: Sequence[str]) -> list[int]:
        return [self.table.get(term, 0) for term in terms]

    def window_df(self, windows: Sequence[Sequence[str]]) -> list[int]:
        return [self.table.get(" ".join(window), 0) for window in windows]

    def facet_df(self, facets: Sequence[str]) -> list[int]:
        return [self.facets.get(facet, 0) for facet in facets]
