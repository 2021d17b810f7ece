"""BM25 on the query's own words (Robertson and Zaragoza 2009, in Lucene's form). No LLM call, one search."""

from __future__ import annotations

from dataclasses import dataclass

from sira.compile import CompileSettings, Statistics, compile_sketch
from sira.program import Program, Scoring
from sira.records import Topic


@dataclass(frozen=True, slots=True)
class Bm25:
    """On an expanded index it is the document side of SIRA alone."""

    scoring: Scoring
    llm_calls: int = 0

    def program(self, topic: Topic, statistics: Statistics) -> Program:
        return compile_sketch(topic, None, statistics, CompileSettings(scoring=self.scoring))
