"""Validation of category facets: what a compiler asks before it takes a clause such as `category:1927_births`."""

from __future__ import annotations

from dataclasses import dataclass

from sira.categories.graph import CategoryGraph

FIELD = "category"


@dataclass(frozen=True, slots=True)
class CategoryValidator:
    """Checks facets of the field `category` against the graph; a `sira.compile.FacetValidator`."""

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
