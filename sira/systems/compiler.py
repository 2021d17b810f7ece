"""How sketches become programs, as one value that a system holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sira.compile import CompileSettings, FacetValidator, Safety, Statistics, compile_sketch
from sira.compile.several import compile_searches
from sira.program import Program
from sira.records import Sketch, Topic


@dataclass(frozen=True, slots=True)
class Compiler:
    """What `compile_sketch` is given beside topic, sketch and statistics."""

    settings: CompileSettings = field(default_factory=CompileSettings)
    safety: Safety | None = None
    facets: FacetValidator | None = None

    def program(self, topic: Topic, sketch: Sketch | None, statistics: Statistics) -> Program:
        return compile_sketch(topic, sketch, statistics, self.settings, self.safety, facets=self.facets)

    def searches(self, topic: Topic, sketch: Sketch | None, statistics: Statistics) -> tuple[Program, ...]:
        return compile_searches(topic, sketch, statistics, self.settings, self.safety, facets=self.facets)


def compiler_of(
    settings: CompileSettings,
    policy: str | None = None,
    *,
    drop_guesses: bool = False,
    categories: str | Path | None = None,
) -> Compiler:
    """With what a user names: a policy file (`default`: that of sira), and the folder of a category graph
    that `sira categories build` made.

    Raises InputError for a file or a folder that cannot be used.
    """
    read, facets = None, None
    if policy is not None:
        from sira.policy import DEFAULT_POLICY, read_policy

        read = read_policy(DEFAULT_POLICY if policy == "default" else policy)
    if categories is not None:
        from sira.categories import CategoryGraph, CategoryValidator

        facets = CategoryValidator(CategoryGraph.open(Path(categories)))
    safety = Safety.of(read, answer_guesses=drop_guesses) if read is not None or drop_guesses else None
    return Compiler(settings, safety, facets)
