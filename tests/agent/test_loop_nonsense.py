"""Models and endpoints that send nonsense: each question ends in time, and its conversation can still be sent."""

from __future__ import annotations

import importlib.util
import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sira.agent.base import StopReason
from sira.agent.budget import Limits
from sira.agent.loop import run_episode
from sira.agent.loop_calls import MAX_CALLS, for_conversation, taken
from sira.agent.run_folder import TrajectoryFile
from sira.agent.trajectory import Recorder, Trajectory
from sira.llm import ModelSettings, open_generator
from sira.records import ToolCall, ToolTurn, Topic
from tests.llm.openai_server import HANG, Answer, OpenAIServer, completion, refusal

from .scripted import FINAL, ManualClock, ScriptedModel, ScriptedTools, call, calls, read, says, settings, steps

QUESTION = Topic("q1", "what is it?")
SEARCHING = calls(call("search", query="q"))
needs_client = pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="wants the package openai")


class InTurn(dict[str, list[Answer]]):
    """The answers whatever was said."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)

    def get(self, key: str, default: Any = None) -> list[Answer]:
        return self._answers


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    started = OpenAIServer()
    yield started
    started.stop()


def asked(*functions: dict[str, Any], **more: Any) -> Answer:
    """A completion with tool calls as an endpoint words them."""
    listed = [{"type": "function", "function": function, **more} for function in functions]
    return Answer(completion(None, "tool_calls", tool_calls=listed))


def episode(
    server: OpenAIServer, *answers: Answer, time_s: float = 30.0, retries: int = 3, **fields: Any
) -> Trajectory:
    server.answers = InTurn(*answers)
    model = ModelSettings.model_validate(
        {"backend": "openai", "model": "served-model", "base_url": server.url, "max_retries": retries}
    )
    sink = fields.pop("sink", None)
    with closing(open_generator(model)) as generator:
        return run_episode(QUESTION, ScriptedTools(), generator, settings(Limits(time_s), **fields), sink=sink)


FINALLY = Answer(completion(FINAL))


@needs_client
def test_ten_thousand_calls_in_one_turn(server: OpenAIServer, tmp_path: Path) -> None:
    many = asked(*({"name": "search", "arguments": '{"query": "q"}'} for _ in range(10_000)))
    done = episode(server, many, FINALLY, sink=TrajectoryFile(tmp_path / "q1.json"))
    assert done.stop_reason is StopReason.ANSWERED
    assert done.data["tool_call_counts"] == {"search": MAX_CALLS}
    turns = server.calls[1]["messages"]
    assert len(turns[2]["tool_calls"]) == MAX_CALLS == len({each["id"] for each in turns[2]["tool_calls"]})
    assert [turn["tool_call_id"] for turn in turns[3:]] == [each["id"] for each in turns[2]["tool_calls"]]
    assert f"[{10_000 - MAX_CALLS} further calls of this turn were not carried out" in turns[-1]["content"]
    assert read(tmp_path / "q1.json")["stop_reason"] == "answered"


@needs_client
def test_arguments_of_ten_megabytes_go_neither_back_nor_into_the_record(server: OpenAIServer) -> None:
    done = episode(server, asked({"name": "search", "arguments": "x" * 10_000_000}), FINALLY)
    assert done.stop_reason is StopReason.ANSWERED
    assert len(json.dumps(server.calls[1])) < 20_000
    assert len(json.dumps(done.data)) < 20_000
    (step,) = steps(done.data, "tool_call")
    assert step["arguments"].endswith("… (10,000,000 characters)")


@needs_client
def test_names_and_arguments_go_back_as_every_endpoint_takes_them(server: OpenAIServer) -> None:
    odd = [
        {"name": "search<|channel|>commentary", "arguments": '{"query": "q"}'},
        {"name": "é" * 500, "arguments": "[1]"},
        {"name": "search", "arguments": '{"query": '},
        {"name": "search", "arguments": ""},
        {"name": "search", "arguments": {"query": "\ud800"}},
    ]
    done = episode(server, asked(*odd, id="same"), FINALLY)
    assert done.stop_reason is StopReason.ANSWERED
    back = server.calls[1]["messages"][2]["tool_calls"]
    for each in back:
        assert re.fullmatch("[A-Za-z0-9_-]{1,64}", each["function"]["name"])
        assert isinstance(json.loads(each["function"]["arguments"]), dict)
    assert len({each["id"] for each in back}) == len(odd)
    assert json.loads(back[2]["function"]["arguments"]) == {"unreadable": '{"query": '}
    assert back[3]["function"]["arguments"] == "{}"
    names = [step["tool_name"] for step in steps(done.data, "tool_call")]
    assert names == ["search<|channel|>commentary", "é" * 200, "search", "search", "search"]


@needs_client
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer("<html><body>Bad gateway</body></html>", headers={"Content-Type": "text/html"}), ""),
        (Answer("<html>"), ""),
        (Answer([]), ""),
        (Answer({"choices": []}), "0 choices"),
        (Answer({"choices": [{"message": "x"}]}), "no `message`"),
        (Answer(b"\xff\xfe".decode("latin-1")), ""),
    ],
)
def test_what_is_no_completion_is_an_error_with_words(server: OpenAIServer, answer: Answer, words: str) -> None:
    done = episode(server, answer, retries=0)
    assert (done.stop_reason, done.status) == (StopReason.ERROR, "failed")
    assert words in done.data["errors"][0]
    assert done.data["errors"][0]


@needs_client
@pytest.mark.parametrize("wait", ["0", None])
def test_an_endpoint_that_is_busy_is_asked_again(server: OpenAIServer, wait: str | None) -> None:
    busy = Answer({"error": {"message": "slow down"}}, 429, {} if wait is None else {"Retry-After": wait})
    done = episode(server, busy, FINALLY)
    assert done.stop_reason is StopReason.ANSWERED
    assert len(server.calls) == 2


@needs_client
@pytest.mark.parametrize(
    "answer",
    [
        refusal(429, "slow down"),
        Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "3600"}),
        Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "nan"}),
        Answer("<html>", 503),
        HANG,
    ],
)
def test_an_endpoint_that_is_always_busy_ends_the_question_in_its_time(server: OpenAIServer, answer: Answer) -> None:
    began = time.monotonic()
    done = episode(server, answer, time_s=1.5)
    assert time.monotonic() - began < 6  # 1.5 s, and what a busy machine adds
    assert done.stop_reason in (StopReason.TIME, StopReason.ERROR)
    assert done.answer is None


# Without an endpoint


def test_calls_that_need_no_waiting_end_in_time_too() -> None:
    clock = ManualClock()
    model = ScriptedModel(calls(*(call("google", f"c{number}") for number in range(50))))

    def slow(recorder: Recorder) -> None:
        clock.advance(50)

    done = run_episode(QUESTION, ScriptedTools(), model, settings(Limits(300)), clock=clock, sink=slow)
    assert done.stop_reason is StopReason.TIME
    assert 0 < done.data["stats"]["tool_calls_total"] <= 6
    stopped = run_episode(
        QUESTION, ScriptedTools(), model, settings(Limits(300)), cancelled=lambda: len(model.asked) > 1
    )
    assert stopped.stop_reason is StopReason.CANCELLED
    assert stopped.data["stats"]["tool_calls_total"] == 0


@pytest.mark.parametrize(
    ("limits", "reason", "status"),
    [
        (Limits(300), StopReason.TIME, "timeout"),
        (Limits(300, tokens=1000), StopReason.TOKENS, "failed"),
    ],
)
def test_a_model_that_calls_blocked_tools_three_turns_ends_for_its_bound(
    limits: Limits, reason: StopReason, status: str
) -> None:
    def run(**fields: Any) -> tuple[Trajectory, ScriptedModel]:
        clock, model = ManualClock(), ScriptedModel(SEARCHING)
        slow = (lambda _: clock.advance(5)) if reason is StopReason.TIME else None
        return run_episode(QUESTION, ScriptedTools(), model, settings(limits, **fields), clock=clock, sink=slow), model

    done, model = run()
    assert (done.stop_reason, done.status, done.answer) == (reason, status, None)
    blocked = [step for step in steps(done.data, "tool_call") if step["failure"] == "blocked"]
    if reason is StopReason.TIME:
        assert len(blocked) == 3
        assert 210 < done.data["stats"]["elapsed_seconds"] < 260
        assert done.data["stats"]["timed_out"]
    unbounded, longer = run(blocked_turns=None)
    assert unbounded.stop_reason is reason
    assert len(longer.asked) >= len(model.asked)
    if reason is StopReason.TIME:
        assert unbounded.data["stats"]["elapsed_seconds"] >= 300


def test_an_answer_after_two_blocked_turns_counts() -> None:
    clock = ManualClock()
    model = ScriptedModel(lambda _: (clock.advance(250), SEARCHING)[1], SEARCHING, says(FINAL))
    done = run_episode(QUESTION, ScriptedTools(), model, settings(Limits(300)), clock=clock)
    assert done.stop_reason is StopReason.ANSWERED


def test_ids_are_made_unique_and_what_fits_stays() -> None:
    listed = [ToolCall(at, "search", '{"query": "q"}') for at in ("a", "a", "", "a-1", "x" * 500)]
    found = taken(listed)
    assert len({each.id for each in found}) == len(found) == 5
    assert found[0].id == "a"
    assert max(len(each.id) for each in found) < 120
    assert [for_conversation(each) for each in found] == list(found)


def test_control_tokens_in_names_do_not_reach_the_template() -> None:
    model = ScriptedModel(calls(ToolCall("c", "search<|im_end|>", "{}")), says(FINAL))
    run_episode(QUESTION, ScriptedTools(), model, settings())
    turn = model.asked[1].messages[2]
    assert isinstance(turn, ToolTurn)
    assert turn.tool_calls == (ToolCall("c", "search_im_end_", "{}"),)
    assert "<|im_end|>" not in model.asked[1].messages[3].content
