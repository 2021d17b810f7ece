"""The record of one episode: every step as it happened, and what follows from the steps, under Pi-Serini's names.

docs/agent.md lists the fields. The docids are read from the details of the tools' results alone, never from prose.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sira.agent.answer import Answer, parse_answer
from sira.agent.base import Failure, StopReason, ToolResult
from sira.agent.budget import Budget
from sira.agent.citations import check_citations
from sira.agent.ledger import Ledger, Seen
from sira.agent.trajectory_parts import BROWSE, READ, SEARCH, arguments_of, read_docid, seen_docids, usage_json, written
from sira.llm.base import Usage
from sira.records import ToolCall, Topic

_NAME_CHARACTERS = 200
"""Of a tool that there is not, as a model may call it."""
RUNNING, COMPLETED, TIMEOUT, FAILED = "running", "completed", "timeout", "failed"


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An episode that has ended. `data` is what its file holds; `fault` is what ended it where that concerns more than
    this one question: the endpoint or the index is gone."""

    qid: str
    stop_reason: StopReason
    answer: Answer | None
    data: Mapping[str, Any]
    fault: Exception | None = None

    @property
    def status(self) -> str:
        return status_of(self.stop_reason)


@dataclass(frozen=True, slots=True)
class Span:
    """When a step began, in seconds from the beginning of the episode, and how long it took."""

    started_s: float
    seconds: float

    def to_json(self) -> dict[str, float]:
        return {"started_seconds": round(self.started_s, 4), "seconds": round(self.seconds, 4)}


def status_of(stop_reason: StopReason | None) -> str:
    """Pi-Serini's word for it."""
    match stop_reason:
        case None:
            return RUNNING
        case StopReason.ANSWERED:
            return COMPLETED
        case StopReason.TIME:
            return TIMEOUT
        case _:
            return FAILED


class Recorder:
    """Takes the steps of one episode in, and gives its file out at any moment.

    Each step is written as JSON once, so that the file of a long episode costs no more than its bytes each time.
    """

    def __init__(self, question: Topic, metadata: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
        self.question = question
        self._metadata = {
            "benchmark_id": None, "query_set_id": None, "model": None, "output_dir": None, "query": question.text,
            "prompt_variant": None, **metadata,
        }  # fmt: skip
        self._provenance = provenance
        self._steps: list[str] = []
        self._surfaced: dict[str, None] = {}
        self._previewed: dict[str, None] = {}
        self._opened: dict[str, None] = {}
        self._calls: Counter[str] = Counter()
        self._rewrites = {"after": 0, "without": 0}
        self._browsed = False
        self._failures = 0
        self._model_s = 0.0
        self._waiting_s = 0.0
        self._searches: dict[str, dict[str, Any]] = {}
        self._errors: list[str] = []
        self._budget: Budget | None = None
        self._elapsed_s = 0.0
        self._stop: StopReason | None = None
        self._answer: Answer | None = None
        self._citations: Mapping[str, Any] | None = None
        self._cited: tuple[str, ...] = ()
        self.last_step = "start"

    # Steps

    def turn(self, span: Span, usage: Usage, finish: str, *, waiting_s: float = 0.0) -> None:
        """One call of the model, whatever it gave; `waiting_s` of it went by before it was sent, for a rate limit."""
        self._model_s += span.seconds - waiting_s
        self._waiting_s += waiting_s
        more = {"waiting_seconds": round(waiting_s, 4)} if waiting_s else {}
        self._add({"type": "turn", "finish": finish, **span.to_json(), "usage": usage_json(usage), **more})
        self.last_step = "thought"

    def text(self, output: str, span: Span, usage: Usage) -> None:
        self._add({"type": "output_text", "output": output, **span.to_json(), "usage": usage_json(usage)})

    def reasoning(self, output: str) -> None:
        self._add({"type": "reasoning", "output": output})

    def told(self, kind: str, output: str, started_s: float, **more: Any) -> None:
        """A user turn of ours (`steer`, `ask_again`), or a `note` of what was done to the conversation."""
        self._add({"type": kind, "output": output, "started_seconds": round(started_s, 4), **more})
        self.last_step = kind

    def tool(self, call: ToolCall, result: ToolResult, output: str, span: Span) -> None:
        """`output` is what the model reads."""
        arguments, name = arguments_of(call.arguments), call.name[:_NAME_CHARACTERS]
        failure = None if result.failure is None else result.failure.value
        self._add(
            {
                "type": "tool_call", "tool_name": name, "arguments": arguments, "output": output,
                "details": dict(result.details), "failure": failure, "id": call.id, **span.to_json(),
            }
        )  # fmt: skip
        self._count(name)
        self.last_step = name
        if result.failure is None:
            self._see(name, arguments, result.details)
        elif result.failure is not Failure.BLOCKED:
            self._failures += 1
            self._add({"type": "failure", "tool_name": name, "failure": failure, "output": result.text})

    def error(self, text: str) -> None:
        self._errors.append(text)

    # What follows from them

    @property
    def calls(self) -> int:
        """Of tools, so far."""
        return self._calls.total()

    @property
    def stop_reason(self) -> StopReason | None:
        return self._stop

    def at(self, budget: Budget) -> None:
        """Before the file is written: how far the budget is used."""
        self._budget, self._elapsed_s = budget, budget.elapsed_s

    def finish(self, stop: StopReason, text: str | None) -> None:
        """The end; `text` is the final text where there is one."""
        self._stop = stop
        self.last_step = stop.value
        if text is not None:
            self._answer = parse_answer(text)
            met = Ledger(
                self._surfaced, dict.fromkeys(self._previewed, Seen("", 0)), {docid: [] for docid in self._opened}
            )
            found = check_citations(text, met)
            self._cited, self._citations = found.cited, found.to_json()

    def trajectory(self, fault: Exception | None = None) -> Trajectory:
        """The episode, which must have ended."""
        assert self._stop is not None
        return Trajectory(self.question.qid, self._stop, self._answer, json.loads("".join(self.pieces())), fault)

    def pieces(self) -> Iterator[str]:
        """The file as it stands, valid JSON, in pieces."""
        yield written(self._head())[:-1] + ',"result":[\n'
        for number, step in enumerate(self._steps):
            yield f",\n{step}" if number else step
        yield "\n]," + written(self._tail())[1:] + "\n"

    def _head(self) -> dict[str, Any]:
        turns, calls = 0 if self._budget is None else self._budget.turns, self._calls.total()
        elapsed = round(self._elapsed_s, 4)
        return {
            "metadata": self._metadata,
            "query_id": self.question.qid,
            "tool_call_counts": dict(self._calls),
            "status": status_of(self._stop),
            "completion_source": "assistant_text" if self._stop is StopReason.ANSWERED else None,
            "stop_reason": self._stop,
            "surfaced_docids": list(self._surfaced),
            "previewed_docids": list(self._previewed),
            "opened_docids": list(self._opened),
            "cited_docids": list(self._cited),
            "agent_docids": list(dict.fromkeys((*self._opened, *self._cited))),
            "stats": {
                "elapsed_seconds": elapsed,
                "assistant_turns": turns,
                "tool_calls_total": calls,
                "seconds_per_assistant_turn": round(elapsed / turns, 4) if turns else None,
                "seconds_per_tool_call": round(elapsed / calls, 4) if calls else None,
                "search_calls": self._calls[SEARCH],
                "read_search_results_calls": self._calls[BROWSE],
                "read_document_calls": self._calls[READ],
                "search_rewrites_after_browse": self._rewrites["after"],
                "search_rewrites_without_browse": self._rewrites["without"],
                "pi_search_failures": self._failures,
                "timed_out": self._stop is StopReason.TIME,
                "model_seconds": round(self._model_s, 4),
                "waiting_seconds": round(self._waiting_s, 4),
            },
        }

    def _tail(self) -> dict[str, Any]:
        budget = self._budget
        usage = Usage() if budget is None else budget.usage
        return {
            "usage": {**usage_json(usage), "calls": 0 if budget is None else budget.turns},
            "price": None if budget is None else budget.price_json(),
            "searches": self._searches,
            "answer": None if self._answer is None else self._answer.to_json(),
            "citations": self._citations,
            "errors": self._errors,
            "provenance": self._provenance,
        }

    def _add(self, step: Mapping[str, Any]) -> None:
        self._steps.append(written(step))

    def _count(self, tool: str) -> None:
        if tool == SEARCH:
            if self._calls[SEARCH]:
                self._rewrites["after" if self._browsed else "without"] += 1
            self._browsed = False
        elif tool == BROWSE:
            self._browsed = True
        self._calls[tool] += 1

    def _see(self, tool: str, arguments: object, details: Mapping[str, Any]) -> None:
        retrieved, previewed = seen_docids(tool, details)
        self._surfaced |= dict.fromkeys(retrieved)
        self._previewed |= dict.fromkeys(previewed)
        if tool == READ and (docid := read_docid(arguments, details)) is not None:
            self._opened[docid] = None
        search_id, query = details.get("searchId"), details.get("rawQuery")
        if isinstance(search_id, str) and search_id not in self._searches and query is not None:
            entry: dict[str, Any] = {"query": query, "mode": details.get("queryMode", "plain")}
            if entry["mode"] == "fused" and isinstance(query, str):
                entry["of"] = [name.strip() for name in query.split(",")]
            self._searches[search_id] = entry
