"""The budget: an episode always ends in time, and a final text that came before counts."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from benchmarks._agent_servers import SlowServer
from benchmarks.agent_budget import FAULTS, run_all
from sira.agent.base import StopReason
from sira.agent.budget import Budget, Difficulty, Limits
from sira.agent.budget_rates import Rates
from sira.agent.clock import Cancelled, Overdue
from sira.agent.loop import run_episode
from sira.agent.prompting import BLOCKED, STEER
from sira.agent.run_folder import TrajectoryFile
from sira.agent.trajectory import Trajectory
from sira.errors import InputError
from sira.llm.base import Reply, Request, Usage
from sira.llm.endpoint import EndpointGenerator
from sira.llm.settings import ModelSettings, Price
from sira.records import Topic

from .scripted import FINAL, ManualClock, ScriptedModel, ScriptedTools, call, calls, read, says, settings, steps

QUESTION = Topic("q1", "what is it?")
RATES: dict[str, Any] = {"input_per_million": 1.0, "cached_input_per_million": 0.5, "output_per_million": 10.0}
PRICE = Price.model_validate({"date": dt.date(2026, 1, 2), **RATES})
SEARCHING = calls(call("search", query="q"))


def after(clock: ManualClock, seconds: float, reply: Reply) -> Callable[[Request], Reply]:
    """A reply that takes so long."""

    def answer(request: Request) -> Reply:
        clock.advance(seconds)
        return reply

    return answer


def slow_model(url: str) -> ModelSettings:
    return ModelSettings.model_validate({"backend": "openai", "model": "slow", "base_url": url})


def episode(clock: ManualClock, model: ScriptedModel, limits: Limits, **fields: Any) -> Trajectory:
    tools = fields.pop("tools", None) or ScriptedTools()
    return run_episode(QUESTION, tools, model, settings(limits, **fields), clock=clock)


# Bounds


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "abc", True])
@pytest.mark.parametrize("name", ["time_s", "turns", "tokens", "price"])
def test_a_bound_that_is_no_number_above_0_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"budget: {name} = .*: give a number of .* above 0"):
        Limits(**{name: value})


def test_an_episode_without_bound_of_time_and_turns_is_refused() -> None:
    with pytest.raises(InputError, match="neither time nor turns are bounded"):
        Limits(time_s=None, tokens=10)
    assert Limits(time_s=None, turns=3).time_s is None
    for ratio in (0, -0.1, 1.5):
        with pytest.raises(InputError, match="steer_ratio"):
            Limits(steer_ratio=ratio)


# Time


def test_at_seven_tenths_of_the_time_the_model_is_told_to_answer_and_tools_are_blocked() -> None:
    clock, tools = ManualClock(), ScriptedTools()
    model = ScriptedModel(
        after(clock, 209, SEARCHING),
        after(clock, 1, SEARCHING),
        after(clock, 1, SEARCHING),
        after(clock, 1, says(FINAL)),
    )
    done = episode(clock, model, Limits(300), tools=tools)
    assert done.stop_reason is StopReason.ANSWERED
    assert len(tools.called) == 1
    first, second, third = steps(done.data, "tool_call")
    assert first["failure"] is None
    assert second["output"] == third["output"] == BLOCKED
    assert second["failure"] == "blocked"
    (steer,) = steps(done.data, "steer")
    assert (steer["cause"], steer["started_seconds"], steer["output"]) == ("time", 210.0, STEER)
    assert model.asked[2].messages[-1].content == STEER
    assert done.data["stats"]["pi_search_failures"] == 0  # to be blocked is none of the tools' doing


def test_a_final_text_that_came_before_the_end_is_the_answer() -> None:
    clock = ManualClock()
    done = episode(clock, ScriptedModel(after(clock, 299.9, says("It is 42."))), Limits(300))
    assert (done.stop_reason, done.status) == (StopReason.ANSWERED, "completed")


def test_a_whole_answer_beside_calls_counts_once_the_model_was_told_to_answer() -> None:
    clock = ManualClock()
    both = calls(call("search", query="q"), text=FINAL)
    done = episode(clock, ScriptedModel(after(clock, 250, SEARCHING), after(clock, 1, both)), Limits(300))
    assert done.stop_reason is StopReason.ANSWERED
    early = episode(ManualClock(), ScriptedModel(both, says("no")), Limits(300))
    assert early.answer is not None
    assert early.answer.text == "no"


def test_a_model_that_never_answers_is_left_behind_at_the_end() -> None:
    clock, release = ManualClock(), threading.Event()

    def hang(request: Request) -> Reply:
        assert request.timeout_s == 300 - 40
        clock.advance(1000)
        release.wait(30)
        return says(FINAL)

    done = episode(clock, ScriptedModel(after(clock, 40, SEARCHING), hang), Limits(300))
    release.set()
    assert (done.stop_reason, done.status, done.answer) == (StopReason.TIME, "timeout", None)
    assert done.data["stats"]["timed_out"]
    assert done.data["surfaced_docids"] == ["d1", "d2"]


def test_a_search_that_never_ends_is_left_behind_at_the_end() -> None:
    clock, release = ManualClock(), threading.Event()

    def hang(name: str, arguments: str) -> None:
        clock.advance(1000)
        release.wait(30)

    done = episode(clock, ScriptedModel(SEARCHING), Limits(300), tools=ScriptedTools(on_call=hang), tool_timeout_s=None)
    release.set()
    assert done.stop_reason is StopReason.TIME


def test_a_slow_tool_is_an_error_after_its_own_time_and_the_episode_goes_on() -> None:
    clock, release, entered = ManualClock(), threading.Event(), threading.Event()

    def hang(name: str, arguments: str) -> None:
        if not entered.is_set():
            entered.set()
            clock.advance(2)
            release.wait(30)

    def second(request: Request) -> Reply:
        release.set()
        return SEARCHING

    model = ScriptedModel(SEARCHING, second, says(FINAL))
    done = episode(clock, model, Limits(10), tools=ScriptedTools(on_call=hang), tool_timeout_s=2.0)
    first, other = steps(done.data, "tool_call")
    assert first["output"] == "search took longer than 2 s and was given up. Try a simpler call, or answer."
    assert (first["failure"], other["failure"]) == ("timed_out", None)
    assert (done.stop_reason, clock.now()) == (StopReason.ANSWERED, 2.0)


@pytest.mark.parametrize("manner", ["hang", "drip"])
def test_an_endpoint_that_hangs_or_streams_for_ever_ends_in_time(
    manner: Literal["hang", "drip"], tmp_path: Path
) -> None:
    with SlowServer(manner) as server:
        generator = EndpointGenerator(slow_model(server.url))
        begun = time.monotonic()
        sink = TrajectoryFile(tmp_path / "q1.json")
        done = run_episode(QUESTION, ScriptedTools(), generator, settings(Limits(0.5)), sink=sink)
        took = time.monotonic() - begun
        generator.close()
    assert done.stop_reason is StopReason.TIME
    assert 0.4 < took < 1.5
    assert read(tmp_path / "q1.json")["status"] == "timeout"


def test_a_search_that_sleeps_ends_in_time() -> None:
    release = threading.Event()

    def sleep(name: str, arguments: str) -> None:
        release.wait(30)

    tools = ScriptedTools(on_call=sleep)
    begun = time.monotonic()
    done = run_episode(QUESTION, tools, ScriptedModel(SEARCHING), settings(Limits(0.5)))
    took = time.monotonic() - begun
    release.set()
    assert (done.stop_reason, done.data["tool_call_counts"]) == (StopReason.TIME, {})
    assert took < 1.5


def test_all_three_faults_at_once_end_in_time_with_whole_files(tmp_path: Path) -> None:
    ended = run_all(tmp_path, runs=6, time_s=0.5, at_once=6)
    assert {one.fault for one in ended} == set(FAULTS)
    assert all(one.whole and one.stop is StopReason.TIME and one.seconds < 1.5 for one in ended)


def test_threads_are_used_again_and_one_that_was_left_behind_comes_back() -> None:
    release, used = threading.Event(), set[int]()

    def note(name: str, arguments: str) -> None:
        used.add(threading.get_ident())

    def one(tools: ScriptedTools, limits: Limits) -> StopReason:
        model = ScriptedModel(SEARCHING, says(FINAL))
        return run_episode(QUESTION, tools, model, settings(limits)).stop_reason

    def hang(name: str, arguments: str) -> None:
        note(name, arguments)
        release.wait(30)

    before = threading.active_count()
    assert [one(ScriptedTools(on_call=note), Limits(30)) for _ in range(40)] == [StopReason.ANSWERED] * 40
    assert one(ScriptedTools(on_call=hang), Limits(0.2)) is StopReason.TIME
    release.set()
    assert [one(ScriptedTools(on_call=note), Limits(30)) for _ in range(40)] == [StopReason.ANSWERED] * 40
    assert threading.active_count() <= before + 6
    assert len(used) <= 6


# The other bounds


def test_turns_are_counted_and_the_last_one_is_for_the_answer() -> None:
    model = ScriptedModel(SEARCHING)
    done = episode(ManualClock(), model, Limits(time_s=None, turns=5))
    assert (done.stop_reason, done.status, len(model.asked)) == (StopReason.TURNS, "failed", 5)
    (steer,) = steps(done.data, "steer")
    assert steer["cause"] == "turns"
    assert [step["failure"] for step in steps(done.data, "tool_call")] == [None] * 4 + ["blocked"]
    plain = episode(ManualClock(), ScriptedModel(SEARCHING), Limits(time_s=None, turns=5, steer_all=False))
    assert steps(plain.data, "steer") == []
    two = episode(ManualClock(), ScriptedModel(SEARCHING, says(FINAL)), Limits(time_s=None, turns=2))
    assert (two.stop_reason, len(steps(two.data, "steer"))) == (StopReason.ANSWERED, 1)


def test_tokens_and_price_are_bounds() -> None:
    done = episode(ManualClock(), ScriptedModel(SEARCHING), Limits(tokens=300))
    assert (done.stop_reason, done.data["usage"]["total_tokens"]) == (StopReason.TOKENS, 330)
    # 60 fresh prompt tokens at 1, 40 cached at 0.5, 10 written at 10, per million: 0.00018 a turn
    paid = episode(ManualClock(), ScriptedModel(SEARCHING), Limits(price=0.0005), price=PRICE)
    assert paid.stop_reason is StopReason.PRICE
    assert paid.data["price"] == {"amount": 0.00054, "currency": "USD", "date": "2026-01-02"}
    last = episode(ManualClock(), ScriptedModel(says(FINAL)), Limits(tokens=50))
    assert last.stop_reason is StopReason.ANSWERED  # it is there; to throw it away would save nothing


def test_the_first_bound_that_is_used_up_is_named() -> None:
    clock = ManualClock()
    budget = Budget(Limits(100, turns=4, tokens=1000), clock)
    assert (budget.exhausted(), budget.to_steer()) == (None, None)
    budget.spend(Usage(700, 10))
    assert budget.to_steer() is StopReason.TOKENS
    assert budget.to_steer(time_alone=True) is None
    clock.advance(70)
    assert budget.to_steer(time_alone=True) is StopReason.TIME
    clock.advance(30)
    assert (budget.exhausted(), budget.remaining_s) == (StopReason.TIME, 0.0)
    assert Budget(Limits(steer_ratio=None), clock).to_steer() is None
    assert Budget(Limits(None, turns=1), clock).status_line() == "[Left: 1 of 1 turns]"


# Difficulty


def test_time_and_turns_grow_with_difficulty() -> None:
    policy, limits = Difficulty(), Limits(300, turns=8)
    for share, factor in ((1.0, 0.5), (1.4, 0.5), (0.7, 1.25), (0.4, 2.0), (0.0, 2.0)):
        scaled = policy.scaled(limits, {"max_idf_share": share})
        assert scaled.time_s == pytest.approx(300 * factor)
        assert scaled.turns == 8 * factor
    assert Difficulty("words", easy=5, hard=40).factor({"words": 40.0}) == 2.0
    with pytest.raises(InputError, match="no predictor 'x': choose words"):
        Difficulty("x").factor({"words": 1.0})
    with pytest.raises(InputError, match="two different finite numbers"):
        Difficulty(easy=0.4)
    with pytest.raises(InputError, match="0 < least <= most"):
        Difficulty(least=3)


# Rates


def test_no_minute_holds_more_calls_or_tokens_than_allowed() -> None:
    clock = ManualClock()
    rates = Rates(requests=2, tokens=100, clock=clock)
    admitted = [rates.admit(10, None, lambda: False) for _ in range(5)]
    assert [round(one.at) for one in admitted] == [0, 0, 60, 60, 120]
    rates.settle(admitted[-1], 95)
    assert round(rates.admit(10, None, lambda: False).at) == 180
    assert round(rates.admit(500, None, lambda: False).at) == 240  # alone in its minute
    with pytest.raises(Overdue):
        rates.admit(10, 270.0, lambda: False)
    assert round(clock.now()) == 270
    with pytest.raises(Cancelled):
        rates.admit(10, None, lambda: True)
    with pytest.raises(InputError, match="0 requests a minute"):
        Rates(requests=0)


def test_waiting_for_a_rate_is_part_of_the_time_and_told_apart() -> None:
    clock = ManualClock()
    rates = Rates(requests=1, clock=clock)
    model = ScriptedModel(SEARCHING, says(FINAL))
    done = run_episode(QUESTION, ScriptedTools(), model, settings(Limits(300)), clock=clock, rates=rates)
    stats = done.data["stats"]
    assert (round(stats["waiting_seconds"]), round(stats["elapsed_seconds"]), stats["model_seconds"]) == (60, 60, 0.0)
