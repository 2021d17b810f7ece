"""Validation of facets: what a compiler asks before it takes a clause such as `category:1927_births`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sira.categories.graph import CategoryGraph

FIELD = "category"


class FacetValidator(Protocol):
    """Says of a facet whether it may be searched for."""

    def check(self, facet: str) -> tuple[bool, tuple[str, ...]]:
        """(valid, suggestions) of a `field:value` string; suggestions are whole facets, the best first.

        A valid facet with a suggestion is the same thing spelt otherwise: the suggestion is what the index holds. For
        an invalid one, the suggestions are the nearest valid facets, if any are near. A facet of a field that the
        validator does not know is valid.
        """
        ...


@dataclass(frozen=True, slots=True)
class CategoryValidator:
    """Checks facets of the field `category` against the graph."""

    graph: CategoryGraph
    suggestions: int = 3

    def check(self, facet: str) -> tuple[bool, tuple[str, ...]]:
        field, colon, name = facet.partition(":")
        if not colon or field != FIELD:
            return True, ()
        canonical = self.graph.resolve(name)
        if canonical is not None:
            return True, () if canonical == name else (f"{FIELD}:{canonical}",)
        return False, tuple(f"{FIELD}:{near}" for near in self.graph.nearest(name, self.suggestions))
