"""Many topics under one system: answered in their order, and reranked in groups that keep a model busy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from sira.lucene.reader import Index
from sira.records import Topic
from sira.search.batch import in_order, naming_topic
from sira.systems.base import Answer, System

if TYPE_CHECKING:
    from sira.llm import Generator, ModelSettings
    from sira.search.rerank import Read, Reranked, RerankSettings

TOGETHER = 64
"""Topics whose documents are scored in one stream of requests."""


def answer_topics(system: System, topics: Iterable[Topic], index: Index, k: int, threads: int = 1) -> Iterator[Answer]:
    """The answers in the order of the topics. The first error ends the batch, naming its topic."""

    def answer(topic: Topic) -> Answer:
        with naming_topic(topic.qid):
            return system.answer(topic, index, k)

    return in_order(answer, topics, threads)


def rerank_answers(
    answers: Iterable[Answer],
    texts: Mapping[str, str],
    read: Read,
    generator: Generator,
    settings: RerankSettings,
    *,
    together: int | None = TOGETHER,
) -> Iterator[Answer]:
    """The answers with their first documents in the order of a model's scores; else as `rerank_topics`.

    `texts` has the text of each topic by qid; `together` is the number of topics of one stream (None: all). The calls
    of a topic are added to those of its answer, and its note gets `rerank`: what was scored, and what could not be.
    """
    from sira.search.rerank import rerank_topics

    waiting = iter(answers)
    while group := list(islice(waiting, together)):
        asked = [(Topic(answer.qid, texts[answer.qid]), answer.ranking) for answer in group]
        for answer, found in zip(group, rerank_topics(asked, read, generator, settings), strict=True):
            yield _reranked(answer, found)


def topics_together(model: ModelSettings) -> int | None:
    """Topics of one stream of requests; None, all of them, where requests go into files that are run as a whole."""
    return None if model.backend == "batch-file" else TOGETHER


def _reranked(answer: Answer, found: Reranked) -> Answer:
    told = {name: value for name, value in found.to_json().items() if name != "qid"}
    return replace(
        answer,
        ranking=found.ranking,
        note={**answer.note, "rerank": told},
        llm_calls=answer.llm_calls + found.calls,
        usage=answer.usage + found.usage,
    )
