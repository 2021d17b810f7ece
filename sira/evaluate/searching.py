"""The search of one cell: every topic answered, timed and counted, with run, scores, programs and notes on disk."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from tqdm import tqdm

from sira.corpora.files import replacing
from sira.corpora.trec_writer import RunWriter
from sira.evaluate.inputs import Inputs
from sira.llm import Generator, Usage
from sira.llm.settings import read_model
from sira.lucene.reader import Index
from sira.program import program_to_json
from sira.records import Topic
from sira.search.batch import in_order, naming_topic
from sira.search.tables import ModelRerank
from sira.systems import Answer, System, Tally, rerank_answers, topics_together

WARM_UP, WARM_UP_S = 200, 3.0
"""Searches, and seconds at most, before a cell is timed: Java compiles its hot paths on the first ones, which are no
system's own cost."""


@dataclass(slots=True)
class Searched:
    """Counts while the topics of a cell are searched; `own` calls and tokens are those without the reranking."""

    zero_results: int = 0
    self_hits: int = 0
    llm_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    own_calls: int = 0
    own_usage: Usage = field(default_factory=Usage)
    own_untold: bool = False
    untold: bool = False
    compile_ms: list[float] = field(default_factory=list[float])
    search_ms: list[float] = field(default_factory=list[float])
    tally: Tally = field(default_factory=Tally)


@dataclass(frozen=True, slots=True)
class SearchWork:
    """The search of one cell."""

    depth: int
    inputs: Inputs
    system: System
    index: Index
    rerank: ModelRerank | None
    generator: Generator | None
    asked_together: int | None = None
    """Topics at once of a system that asks a model as it searches, and is not warmed up; None: one after the other."""

    def search(self, base: Path, *, progress: bool) -> Searched:
        """Search every topic and write run, scores, programs and notes beside each other.

        Programs have one line each, in the order in which they were searched: several for a topic of several searches,
        none for a topic that nothing was searched for. Notes have one line for each topic that there is something to
        tell of, and no file where there is none.
        """
        self._warm_up()
        done = Searched()
        scores: list[float] = []
        notes: list[str] = []
        title = f"{self.inputs.config.name} {base.name}"
        bar = tqdm(self.inputs.topics, desc=title, unit=" topics", disable=not progress, leave=False)
        with (
            RunWriter(base.with_name(f"{base.name}.trec"), base.name) as writer,
            replacing(base.with_name(f"{base.name}.programs.jsonl")) as programs,
        ):
            for answer in map(done.tally.add, self._answers(bar, done)):
                ranking = answer.ranking.top(self.depth)
                done.compile_ms.append(answer.compile_ms)
                done.search_ms.append(answer.search_ms)
                done.llm_calls += answer.llm_calls
                done.usage += answer.usage
                done.untold |= untold(answer)
                done.zero_results += not ranking
                writer.write(answer.qid, ranking)
                scores += ranking.scores
                programs.writelines(
                    json.dumps(program_to_json(program), ensure_ascii=False) + "\n" for program in answer.programs
                )
                if answer.note:
                    notes.append(json.dumps({"qid": answer.qid, **answer.note}, ensure_ascii=False) + "\n")
        np.array(scores, np.float32).tofile(base.with_name(f"{base.name}.scores.f32"))
        told = base.with_name(f"{base.name}.notes.jsonl")
        told.unlink(missing_ok=True)
        if notes:
            with replacing(told) as stream:
                stream.writelines(notes)
        return done

    def _answers(self, topics: Iterable[Topic], done: Searched) -> Iterator[Answer]:
        found = in_order(self._found, topics, self.asked_together or 1)
        answers = (self._answer(answer, done) for answer in found)
        if self.rerank is None or self.generator is None:
            return answers
        texts = {topic.qid: topic.text for topic in self.inputs.topics}
        together = topics_together(read_model(self.rerank.llm))
        return rerank_answers(answers, texts, self.index.documents, self.generator, self.rerank, together=together)

    @property
    def _depth(self) -> int:
        return self.depth if self.rerank is None else max(self.depth, self.rerank.top_n)

    def _found(self, topic: Topic) -> Answer:
        with naming_topic(topic.qid):
            return self.system.answer(topic, self.index, self._depth + self.inputs.ignore_self_hits)

    def _answer(self, answer: Answer, done: Searched) -> Answer:
        """The answer, counted, without the document that is the topic, where the collection says so."""
        done.untold |= untold(answer)
        done.own_untold |= untold(answer)
        done.own_calls += answer.llm_calls
        done.own_usage += answer.usage
        if not self.inputs.ignore_self_hits:
            return answer
        done.self_hits += answer.qid in answer.ranking.docids
        return replace(answer, ranking=answer.ranking.without(answer.qid).top(self._depth))

    def _warm_up(self) -> None:
        if self.asked_together is not None:
            return
        warm = time.perf_counter() + WARM_UP_S
        for topic in islice(cycle(self.inputs.topics), WARM_UP):
            if time.perf_counter() > warm:
                break
            self.system.answer(topic, self.index, self.depth)


def untold(answer: Answer) -> bool:
    """Whether its calls took tokens that nobody counted."""
    return answer.llm_calls > 0 and answer.usage == Usage()
