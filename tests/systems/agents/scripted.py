"""An endpoint that says what it is told to in turn, over HTTP, and what an agent makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sira.llm import Generator
from sira.prompts import load_prompt
from sira.systems.agents.base import Agent, AgentSettings
from sira.systems.agents.table import AGENTS
from tests.llm.openai_server import Answer, OpenAIServer, completion

USAGE = {"prompt_tokens": 10, "completion_tokens": 5}
MakeAgent = Callable[..., Agent]


class ScriptedServer(OpenAIServer):
    """Answers call after call from `script`, whatever is asked; a call too many is a fault of the request (400)."""

    def __init__(self) -> None:
        super().__init__()
        self.script: list[Answer] = []

    def _answer(self, body: dict[str, Any], key: str) -> Answer:
        self.calls.append(body)
        self.keys.add(key)
        return self.script.pop(0) if self.script else Answer({"error": {"message": "the script is at its end"}}, 400)

    def last_message(self, call: int) -> str:
        """The content of the last message of the n-th call, from 0."""
        return self.calls[call]["messages"][-1]["content"]


def says(text: str | None, finish: str = "stop", **message: Any) -> Answer:
    return Answer(completion(text, finish, USAGE, **message))


def calls(*asked: tuple[str, str, Any], text: str | None = None, finish: str = "tool_calls") -> Answer:
    """A turn that asks for calls: (id, name, arguments), arguments as text or as what is written as JSON."""
    listed = [
        {
            "id": place,
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for place, name, given in asked
    ]
    return says(text, finish, tool_calls=listed)


def agent_of(kind: str, generator: Generator, **fields: Any) -> Agent:
    """An agent of the table with its own bounds, but for `fields`."""
    method, converse = AGENTS[kind]
    bounds = AgentSettings(
        load_prompt(method.prompt, side="agent"),
        method.rounds,
        method.documents,
        method.characters,
        method.max_tokens,
        method.ranking,
    )
    return Agent(converse, replace(bounds, **fields), generator)


def note_of(answer: Any) -> Mapping[str, Any]:
    return answer.note["agent"]
