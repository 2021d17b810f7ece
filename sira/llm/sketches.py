"""Sketches from a model: one schema-constrained call a topic, by a prompt of the query side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sira.errors import EnvironmentFault
from sira.llm.base import Finish, Generator, Request, Usage
from sira.llm.parsing import SENTENCE_FACTOR, ReplyLimits, parse_phrases
from sira.llm.schema import DEFAULT_MAX_CHARACTERS, phrases_schema, worst_case_tokens
from sira.prompts import Prompt
from sira.records import Sketch, SketchPhrase, Status, Topic


@dataclass(frozen=True, slots=True)
class Sketched:
    """The sketch of one topic, and what became of the reply. Phrases in the order of the model: most likely first."""

    sketch: Sketch
    status: Status
    usage: Usage
    detail: str | None = None


def sketch_topics(
    topics: Sequence[Topic], generator: Generator, prompt: Prompt, *, max_tokens: int | None = None, seed: int = 0
) -> Iterator[Sketched]:
    """Ask for the sketch of each topic; they come in the order in which replies do.

    A topic without text is not sent and gets an empty sketch. Topics need distinct qids. Raises EnvironmentFault where
    the model is gone or gives no reply.
    """
    limits = ReplyLimits(prompt.max_phrases, DEFAULT_MAX_CHARACTERS, SENTENCE_FACTOR * prompt.max_words)
    schema = phrases_schema(limits.max_phrases, limits.max_characters)
    tokens = max_tokens or worst_case_tokens(limits.max_phrases, limits.max_characters)
    asked = {topic.qid for topic in topics if topic.text.strip()}
    for topic in topics:
        if topic.qid not in asked:
            yield Sketched(Sketch(topic.qid), Status.EMPTY, Usage())
    requests = (
        Request(topic.qid, prompt.render_query(topic.text), tokens, seed, schema)
        for topic in topics
        if topic.qid in asked
    )
    for reply in generator.generate(requests):
        if reply.finish is Finish.PENDING:
            continue
        asked.discard(reply.key)
        parsed = parse_phrases(reply.text, reply.finish, limits)
        phrases = tuple(SketchPhrase(text) for text in parsed.phrases)
        yield Sketched(Sketch(reply.key, phrases), parsed.status, reply.usage, reply.detail)
    if asked:
        why = generator.pending or "the model gave no reply"
        raise EnvironmentFault(f"{len(asked)} topics have no sketch (first: {min(asked)!r}): {why}")
