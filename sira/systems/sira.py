"""SIRA (arXiv 2605.06647): the topic's words and a gated sketch as one weighted BM25 program.

One LLM call a topic (here: a recorded sketch), one search; by its mode also several searches, or none of either for a
topic that plain BM25 answers. With no sketch for a topic it is plain BM25, and the report says for how many topics that
was so.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sira.errors import InputError
from sira.llm.base import Usage
from sira.lucene.reader import Index
from sira.records import Sketch, Topic
from sira.search.routing import Decision, route
from sira.systems.base import Answer, Stopwatch
from sira.systems.compiler import Compiler
from sira.systems.modes import Mode, SearchSettings, route_note, search_program, search_together

SHUFFLE_SEED = 20260511


@dataclass(frozen=True, slots=True)
class Sira:
    """Searches by sketches by qid; `usage` has the tokens that they took, for those of which it is known. Without `own`
    routing does not look at the document whose docid is the qid."""

    sketches: Mapping[str, Sketch]
    compiler: Compiler = field(default_factory=Compiler)
    settings: SearchSettings = field(default_factory=SearchSettings)
    usage: Mapping[str, Usage] = field(default_factory=dict[str, Usage])
    own: bool = True

    def answer(self, topic: Topic, index: Index, k: int) -> Answer:
        mode = self.settings.mode
        if mode != "auto":
            return self._search(topic, index, k, mode)
        decision, plain = self.decide(topic, index, k)
        told = {"route": route_note(decision)}
        if decision.action == "plain":
            return replace(plain, note=told)
        found = self._search(topic, index, k, "several" if decision.action == "several" else "compiled")
        return replace(
            found,
            note={**told, **found.note},
            searches=plain.searches + found.searches,
            compile_ms=plain.compile_ms + found.compile_ms,
            search_ms=plain.search_ms + found.search_ms,
        )

    def decide(self, topic: Topic, index: Index, k: int = 1) -> tuple[Decision, Answer]:
        """What routing makes of a topic, and plain BM25's answer to depth k, from which it was decided. Asks no model
        and reads no sketch."""
        watch, depth = Stopwatch(), self.settings.routing.score_depth
        with watch.timing("compile"):
            program = self.compiler.program(topic, None, index)
        with watch.timing("search"):
            ranking = index.search(program, max(k, depth + (not self.own)))
        with watch.timing("compile"):
            judged = ranking if self.own else ranking.without(topic.qid)
            decision = route(topic, index, judged.top(depth), self.settings.routing)
        plain = Answer(topic.qid, ranking.top(k), (program,), compile_ms=watch.compile_ms, search_ms=watch.search_ms)
        return decision, plain

    def _search(self, topic: Topic, index: Index, k: int, mode: Mode) -> Answer:
        sketch, watch = self.sketches.get(topic.qid), Stopwatch()
        calls = 0 if sketch is None else sketch.samples
        usage = self.usage.get(topic.qid, Usage()) if calls else Usage()
        with watch.timing("compile"):
            wanted = sketch if mode == "several" or sketch is None else replace(sketch, searches=())
            programs = self.compiler.searches(topic, wanted, index)
        # Where routing would have several searches and the sketch proposes none, no budget of pages cuts the one.
        if len(programs) == 1 and self.settings.mode != "several":
            found = search_program(index, programs[0], k, self.settings.relax, watch)
        else:
            found = search_together(index, programs, k, self.settings, watch)
        return replace(found, llm_calls=calls, usage=usage)


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
