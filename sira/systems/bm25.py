"""BM25 on the query's own words (Robertson and Zaragoza 2009, in Lucene's form). No LLM call, one search."""

from __future__ import annotations

from dataclasses import dataclass

from sira.compile import CompileSettings, compile_sketch
from sira.lucene.reader import Index
from sira.program import Scoring
from sira.records import Topic
from sira.systems.base import Answer, Stopwatch
from sira.systems.modes import search_program


@dataclass(frozen=True, slots=True)
class Bm25:
    """On an expanded index it is the document side of SIRA alone."""

    scoring: Scoring

    def answer(self, topic: Topic, index: Index, k: int) -> Answer:
        watch = Stopwatch()
        with watch.timing("compile"):
            program = compile_sketch(topic, None, index, CompileSettings(scoring=self.scoring))
        return search_program(index, program, k, watch=watch)
