"""A run that is there already: imported from elsewhere, or fused from other systems."""

from __future__ import annotations

from dataclasses import dataclass

from sira.lucene.reader import Index
from sira.records import Ranking, Run, Topic
from sira.systems.base import Answer


@dataclass(frozen=True, slots=True)
class Recorded:
    """Answers with the rankings of a run. A topic that the run lacks gets none, and its note says so."""

    run: Run

    def answer(self, topic: Topic, index: Index, k: int) -> Answer:
        del index  # nothing is searched
        ranking = self.run.rankings.get(topic.qid)
        note = {"run": {"missing": True}} if ranking is None else {}
        return Answer(topic.qid, (ranking or Ranking()).top(k), note=note, searches=0)
