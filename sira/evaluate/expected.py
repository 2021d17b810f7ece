"""How often a system will ask a model, and how long its prompts are, before anything is opened or searched.

The code that asks is rehearsed with a model that answers every request by a text of the longest length, made of a
letter of its own (in Unicode's private use area). A prompt in which that letter stands depends on a search or on
another reply, so that it is not known yet whether its reply is held: it counts as a call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sira.errors import EnvironmentFault, SiraError
from sira.evaluate.agent_job import AgentJob
from sira.evaluate.asking import TextJob, job_of
from sira.evaluate.config import LiveSketches
from sira.evaluate.system_config import SystemConfig
from sira.llm import ModelSettings, Usage
from sira.llm.base import Finish, Generator, Reply, Request
from sira.llm.cache import CachedGenerator, known_identity
from sira.llm.settings import read_model
from sira.llm.sketches import sketch_topics
from sira.records import Document, Ranking, Topic
from sira.search.rerank import rerank
from sira.search.tables import ModelRerank
from sira.systems.agents.table import AGENTS
from sira.systems.text_expansion import TEXT_METHODS
from sira.systems.texts import ask_texts

CHARACTERS_A_TOKEN = 4
_UNSEEN = "\ue000"


@dataclass(slots=True)
class Calls:
    """What one model will be asked: `calls` with the tokens of their prompts (characters / 4) and replies (at most);
    `held` replies lie ready, `unseen` calls have prompts that are not known before a search."""

    model: ModelSettings
    calls: int = 0
    held: int = 0
    unseen: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Asking:
    """A system with the topics that it will be asked; `replies` is the folder of replies that are held, if any."""

    system: SystemConfig
    topics: tuple[Topic, ...]
    replies: Path | None


def texts(asking: Asking) -> Iterator[Calls]:
    """Of a method whose texts join the query. Raises InputError for a model's file or a prompt that cannot be used."""
    if asking.system.llm is None:
        return
    job = TextJob.of(asking.system)
    method = job.method
    documents = [_UNSEEN * method.characters] * method.documents
    found = Rehearsal(job.model, asking.replies)
    ask_texts(asking.topics, job.request, found, (lambda _: documents) if documents else None)
    yield found.counted


def agents(asking: Asking) -> Iterator[Calls]:
    """Of an agent, at most: every round of every topic, each prompt with all that the rounds before it could add."""
    job = AgentJob.of(asking.system)
    rounds, topics = job.settings.rounds, len(asking.topics)
    opening = sum(
        len(message.content) for topic in asking.topics for message in job.settings.prompt.render_query(topic.text)
    )
    shown = job.settings.documents * job.settings.characters + CHARACTERS_A_TOKEN * job.settings.max_tokens
    prompts = rounds * opening + topics * shown * (rounds * (rounds - 1) // 2)
    usage = Usage(-(-prompts // CHARACTERS_A_TOKEN), topics * rounds * job.settings.max_tokens)
    yield Calls(job.model, calls=topics * rounds, unseen=topics * (rounds - 1), usage=usage)


def sketches(asked: LiveSketches, topics: tuple[Topic, ...], replies: Path | None) -> Calls:
    """Of sketches by a model, which all systems of a collection share. Raises as `texts`."""
    job = job_of(asked)
    found = Rehearsal(job.settings, replies)
    made = sketch_topics(
        topics,
        found,
        job.prompt,
        max_tokens=job.settings.max_tokens,
        seed=job.settings.seed,
        samples=job.samples,
        form=job.form,
    )
    for _ in made:
        pass
    return found.counted


def reranking(settings: ModelRerank, topics: tuple[Topic, ...]) -> Calls:
    """Of the first documents of each topic, as if there were `top_n` of the longest length."""
    found = Rehearsal(read_model(settings.llm), None, times=settings.top_n)
    document = Document("d", _UNSEEN * settings.document_characters)
    for topic in topics:
        rerank(topic, Ranking(("d",), (1.0,)), lambda docids: [document for _ in docids], found, settings)
    return found.counted


def nothing(asking: Asking) -> Iterator[Calls]:
    """Of a kind that asks no model by itself."""
    del asking
    yield from ()


EXPECTED: Mapping[str, Callable[[Asking], Iterator[Calls]]] = {
    **dict.fromkeys(("bm25", "rm3", "rocchio", "sira", "run", "fusion"), nothing),
    **dict.fromkeys(TEXT_METHODS, texts),
    **dict.fromkeys(AGENTS, agents),
}
"""By kind of system, the calls of its own: a row for each of sira.systems.table.KINDS. Sketches and reranking, which
several kinds may have, are counted beside them. What a kind without a row asks is not counted, and the plan says so."""


class _NotHeldError(SiraError):
    """A reply would have to be asked for."""


class Rehearsal:
    """A `sira.llm.Generator` that asks nobody; `counted` has what it was asked, each request `times` over."""

    identity: Mapping[str, object] = {}
    facts: Mapping[str, object] = {}
    context_tokens = None
    tokenizer = None
    pending = None

    def __init__(self, model: ModelSettings, replies: Path | None, *, times: int = 1) -> None:
        self.counted = Calls(model)
        self._times, self._recorded = times, model.backend == "recorded"
        self._cache: CachedGenerator | None = None
        if replies is not None and model.backend not in ("recorded", "batch-file"):
            with contextlib.suppress(EnvironmentFault):  # a local model that is not here: its replies are not known
                self._cache = CachedGenerator(_refuse, known_identity(model), model.sampling(), replies)

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        for request in requests:
            self._count(request)
            text = _UNSEEN * (CHARACTERS_A_TOKEN * request.max_tokens)
            yield Reply(request.key, text, Finish.LENGTH)

    def close(self) -> None:
        pass

    def _count(self, request: Request) -> None:
        found, told = self.counted, [message.content for message in request.messages]
        unseen = any(_UNSEEN in text for text in told)
        if self._recorded or (not unseen and self._is_held(request)):
            found.held += self._times
            return
        found.calls += self._times
        found.unseen += self._times if unseen else 0
        prompt = -(-sum(map(len, told)) // CHARACTERS_A_TOKEN)
        found.usage += Usage(self._times * prompt, self._times * request.max_tokens)

    def _is_held(self, request: Request) -> bool:
        if self._cache is None:
            return False
        try:
            return bool(list(self._cache.generate([request])))
        except _NotHeldError:
            return False


def _refuse() -> Generator:
    raise _NotHeldError("a rehearsal opens no model")
