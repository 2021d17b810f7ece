"""Models, tools and a clock that do as they are told, for tests of episodes."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from sira.agent.base import Failure, ToolResult
from sira.agent.budget import Limits
from sira.agent.loop_settings import EpisodeSettings
from sira.llm.base import Finish, Reply, Request, Tool, Usage
from sira.prompts import load_prompt
from sira.records import ToolCall

USAGE = Usage(100, 10, 40)
FINAL = "Explanation: it is so [d2].\nExact Answer: 42\nConfidence: 80%"
Step = Reply | Exception | Callable[[Request], Reply]


def call(name: str, at: str = "c1", /, **arguments: Any) -> ToolCall:
    return ToolCall(at, name, json.dumps(arguments))


def calls(*asked: ToolCall, text: str = "", finish: Finish = Finish.STOP, reasoning: str = "") -> Reply:
    return Reply("", text, finish, USAGE, tool_calls=asked, reasoning=reasoning)


def says(text: str, finish: Finish = Finish.STOP, detail: str | None = None, reasoning: str = "") -> Reply:
    return Reply("", text, finish, USAGE, detail, reasoning=reasoning)


class ScriptedModel:
    """A generator that gives the listed replies in turn, the last of them ever after. `asked` are its requests."""

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self.asked: list[Request] = []

    identity: Mapping[str, Any] = {"model": "scripted"}
    facts: Mapping[str, Any] = {}
    context_tokens = None
    tokenizer = None
    pending = None

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        for request in requests:
            self.asked.append(request)
            step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
            if isinstance(step, Exception):
                raise step
            reply = step if isinstance(step, Reply) else step(request)
            yield Reply(
                request.key, reply.text, reply.finish, reply.usage, reply.detail, reply.tool_calls, reply.reasoning
            )

    def close(self) -> None:
        pass


class ScriptedTools:
    """Pi-Serini's three tools over rankings by query; documents are lists of lines. `on_call` runs before each call."""

    def __init__(
        self, rankings: Mapping[str, Sequence[str]] | None = None, on_call: Callable[[str, str], None] | None = None
    ) -> None:
        self._rankings = {"q": ["d1", "d2"]} if rankings is None else rankings
        self._on_call = on_call
        self._ids = itertools.count(1)
        self._cached: dict[str, Sequence[str]] = {}
        self.called: list[tuple[str, str]] = []
        self.tools = tuple(
            Tool(name, name, {"type": "object", "properties": {}})
            for name in ("search", "read_search_results", "read_document")
        )

    def call(self, name: str, arguments: str) -> ToolResult:
        self.called.append((name, arguments))
        if self._on_call is not None:
            self._on_call(name, arguments)
        try:
            given = json.loads(arguments)
        except ValueError:
            return ToolResult("Invalid arguments: not JSON", failure=Failure.INVALID_ARGUMENTS)
        if name == "search":
            found = list(self._rankings.get(given["query"], []))
            at = f"s{next(self._ids)}"
            self._cached[at] = found
            return ToolResult(f"{at}: {found}", {"searchId": at, "rawQuery": given["query"], "retrievedDocids": found})
        if name == "read_search_results":
            found = list(self._cached[given["search_id"]])
            return ToolResult(str(found), {"searchId": given["search_id"], "retrievedDocids": found})
        if given["docid"] == "absent":
            return ToolResult("docid 'absent' was not found", failure=Failure.EXECUTION)
        return ToolResult(f"text of {given['docid']}", {"docid": given["docid"]})


class ManualClock:
    """A clock that moves when it is told to. A wait ends when the work is done or the time has come."""

    def __init__(self) -> None:
        self._now = 0.0
        self._moved = threading.Condition()

    def now(self) -> float:
        with self._moved:
            return self._now

    def advance(self, seconds: float) -> None:
        with self._moved:
            self._now += seconds
            self._moved.notify_all()

    def wait(self, done: Future[Any], seconds: float) -> bool:
        def told(_: Future[Any]) -> None:
            with self._moved:
                self._moved.notify_all()

        done.add_done_callback(told)
        with self._moved:
            until = self._now + seconds
            assert self._moved.wait_for(lambda: done.done() or self._now >= until, 30), "nothing happened in 30 s"
        return done.done()

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)


def settings(limits: Limits | None = None, **fields: Any) -> EpisodeSettings:
    return EpisodeSettings(load_prompt("agent-pi-serini"), limits or Limits(), **fields)


def steps(data: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """The steps of one type in a trajectory."""
    return [step for step in data["result"] if step["type"] == kind]


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
