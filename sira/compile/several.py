"""(Topic, Sketch, Statistics) -> several programs: that of the sketch itself, and one of each search it proposes."""

from __future__ import annotations

from dataclasses import replace

from sira.compile.compiler import compile_sketch
from sira.compile.facets import FacetValidator
from sira.compile.safety import Safety
from sira.compile.settings import CompileSettings
from sira.compile.statistics import Statistics
from sira.program import Program
from sira.records import Sketch, Topic


def compile_searches(
    topic: Topic,
    sketch: Sketch | None,
    statistics: Statistics,
    settings: CompileSettings | None = None,
    safety: Safety | None = None,
    *,
    facets: FacetValidator | None = None,
) -> tuple[Program, ...]:
    """The programs of one topic, for `sira.search.several`: first that of the sketch, then those of `sketch.searches`.

    Each is compiled by itself as in `compile_sketch`: it has the topic's own words, and the constraints of its own
    sketch alone. The searches of a model's sketch are its work too. Without further searches (or without a sketch)
    there is one program. Raises as `compile_sketch`.
    """
    if sketch is None:
        return (compile_sketch(topic, None, statistics, settings, safety),)
    further = (replace(search, by_model=search.by_model or sketch.by_model) for search in sketch.searches)
    sketches = (replace(sketch, searches=()), *further)
    return tuple(compile_sketch(topic, one, statistics, settings, safety, facets=facets) for one in sketches)
