"""Looking on: what is shown of a run while it is under way."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from typing import Any

import pytest

from sira.agent import watch
from sira.agent.loop import run_episode
from sira.agent.run_folder import RunFolder
from sira.agent.runs import RunOptions, run_questions
from sira.agent.trajectory import Recorder
from sira.agent.watch import duration, question_line, table, watched
from sira.agent.watch_state import Running, RunState, Snapshot
from sira.errors import EnvironmentFault
from sira.records import Topic

from .scripted import FINAL, ScriptedModel, ScriptedTools, call, calls, says, settings

QRELS = {"q1": {"d1": 1, "d9": 1, "d2": 0}, "q3": {"d8": 1}}
needs_rich = pytest.mark.skipif(importlib.util.find_spec("rich") is None, reason="wants the package rich")


def ended(qid: str, **fields: Any) -> dict[str, Any]:
    stats = {"elapsed_seconds": 14.25, "tool_calls_total": 5}
    price = {"amount": 0.5, "currency": "USD", "date": "2026-01-01"}
    base = {
        "query_id": qid,
        "stop_reason": "answered",
        "surfaced_docids": ["d1", "d2"],
        "usage": {"total_tokens": 1200},
    }
    return {**base, "price": price, "stats": stats, **fields}


class Time:
    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


def test_counts_recall_cost_and_time_left() -> None:
    now = Time()
    state = RunState(4, QRELS, now=now)
    assert (state.snapshot().left_s, state.snapshot().recall) == (None, None)
    state.kept(ended("q1"))
    state.began("q2")
    now.at = 5.0
    state.stepped(Recorder(Topic("q2", "x"), {}, {}))
    assert state.snapshot().running == (Running("q2", "start", 0, 5.0),)
    now.at = 10.0
    state.ended(ended("q2", price=None))
    seen = state.snapshot()
    assert (seen.done, seen.total, seen.kept, seen.running) == (2, 4, 1, ())
    assert (seen.recall, seen.judged) == (0.5, 1)  # q2 has no judgment, and grade 0 is none of the relevant
    assert (seen.tokens, seen.amounts, seen.left_s) == (2400, {"USD": 0.5}, 20.0)
    state.ended(ended("q3", stop_reason="time"))
    assert state.snapshot().recall == 0.25
    assert state.snapshot().stops == {"answered": 2, "time": 1}


def test_one_line_a_question() -> None:
    seen = Snapshot(2, 5, 0, {"answered": 2}, (), 0.5, 2, 2400, {"USD": 0.5}, 10.0, 3725.4)
    assert question_line(ended("q\x1b[1"), seen) == (
        "2/5 q\\x1b[1 answered 14.2 s 5 calls | recall 0.500 of 2 | 2,400 tokens | 0.5000 USD | 1:02:05 left"
    )
    assert duration(59.6) == "0:01:00"


def test_a_log_has_one_line_a_question_and_no_control_characters(tmp_path: Path) -> None:
    stream, folder = io.StringIO(), RunFolder(tmp_path)
    folder.begin({"settings": {}})
    questions = [Topic(f"q{number}", "what?") for number in range(3)]

    def episode(question: Topic, seed: int, sink: Any, cancelled: Any) -> Any:
        model = ScriptedModel(calls(call("search", query="q")), says(FINAL))
        return run_episode(question, ScriptedTools(), model, settings(), sink=sink)

    with watched(3, "auto", stream, QRELS) as state:
        run_questions(questions, episode, folder, RunOptions(concurrency=1), state)
    lines = stream.getvalue().splitlines()
    assert [line.split()[:3] for line in lines] == [[f"{at + 1}/3", f"q{at}", "answered"] for at in range(3)]
    assert "\x1b" not in stream.getvalue()
    assert "recall 0.500 of 1" in lines[1]
    silent = io.StringIO()
    with watched(3, "off", silent) as state:
        run_questions(questions, episode, folder, RunOptions(), state)
    assert silent.getvalue() == ""
    assert state.snapshot().kept == 3


@needs_rich
def test_the_table_shows_steps_and_sums() -> None:
    from rich.console import Console

    running = tuple(Running(f"q{number}[bold]", "read_document", number, 3.4) for number in range(20))
    seen = Snapshot(2, 30, 1, {"answered": 1, "time": 1}, running, 0.5, 2, 2400, {"USD": 0.5}, 10.0, None)
    stream = io.StringIO()
    Console(file=stream, width=100).print(table(seen))
    text = stream.getvalue()
    assert "2 of 30 questions, 0:00:10 so far | recall 0.500 of 2 | 2,400 tokens | 0.5000 USD" in text
    assert "1 answered, 1 time" in [line.strip() for line in text.splitlines()]
    assert "q3[bold]" in text  # a qid is no markup
    assert "and 4 more" in text


@needs_rich
def test_a_terminal_has_the_live_table() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with watched(2, "auto", stream) as state:
        state.began("q1")
        state.ended(ended("q1"))
    assert "1 of 2 questions" in stream.getvalue()


def test_without_rich_there_are_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentFault, match="--watch lines does without"), watched(1, "live", io.StringIO()):
        pass
    stream = io.StringIO()
    with watched(1, "auto", stream) as state:
        state.ended(ended("q1"))
    assert stream.getvalue().startswith("1/1 q1 answered")
