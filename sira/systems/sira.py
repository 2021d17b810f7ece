"""SIRA (arXiv 2605.06647): the topic's words and a gated sketch as one weighted BM25 program.

One LLM call a topic (here: a recorded sketch), one search. With no sketch for a topic it is plain BM25, and the
report says for how many topics that was so.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sira.compile import CompileSettings, Statistics, compile_sketch
from sira.errors import InputError
from sira.program import Program
from sira.records import Sketch, Topic

SHUFFLE_SEED = 20260511


@dataclass(frozen=True, slots=True)
class Sira:
    """Programs from sketches by qid."""

    settings: CompileSettings
    sketches: Mapping[str, Sketch]
    llm_calls: int = 1

    def program(self, topic: Topic, statistics: Statistics) -> Program:
        return compile_sketch(topic, self.sketches.get(topic.qid), statistics, self.settings)


def others(ids: Iterable[str]) -> dict[str, str]:
    """For a control: to each id another one, by a cyclic shift of a seeded permutation.

    Raises InputError where there are fewer than two.
    """
    order = sorted(ids)
    if len(order) < 2:
        raise InputError(f"a shuffled control needs two or more rows to exchange; there are {len(order)}")
    random.Random(SHUFFLE_SEED).shuffle(order)
    return dict(zip(order, [*order[1:], *order[:1]], strict=True))


def shuffled(sketches: Mapping[str, Sketch]) -> dict[str, Sketch]:
    """A control: every topic gets the sketch of another one."""
    return {qid: _given(sketches[other], qid) for qid, other in others(sketches).items()}


def _given(sketch: Sketch, qid: str) -> Sketch:
    return replace(sketch, qid=qid, searches=tuple(_given(search, qid) for search in sketch.searches))
