"""RM3 and Rocchio as systems: words of the first hits join the query. No LLM call, two searches."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sira.compile import CompileSettings, compile_sketch
from sira.lucene.reader import Index
from sira.program import Scoring
from sira.records import Topic
from sira.search.feedback import FeedbackSettings, with_feedback
from sira.systems.base import Answer, Stopwatch
from sira.systems.modes import search_program


@dataclass(frozen=True, slots=True)
class Feedback:
    """Plain BM25, then the program of its first hits' words (see sira.search.feedback). Without `own` the document
    whose docid is the qid gives none."""

    scoring: Scoring = field(default_factory=Scoring)
    settings: FeedbackSettings = field(default_factory=FeedbackSettings)
    own: bool = True

    def answer(self, topic: Topic, index: Index, k: int) -> Answer:
        watch = Stopwatch()
        with watch.timing("compile"):
            plain = compile_sketch(topic, None, index, CompileSettings(scoring=self.scoring))
        with watch.timing("search"):
            first = index.search(plain, self.settings.documents + (not self.own))
        with watch.timing("compile"):
            program = with_feedback(index, plain, first if self.own else first.without(topic.qid), self.settings)
        return replace(search_program(index, program, k, watch=watch), searches=2)
