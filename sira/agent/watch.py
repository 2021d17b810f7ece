"""Looking on while a run is under way: a live table in a terminal, or one line a question in a log."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import threading
from collections.abc import Generator, Mapping
from typing import Any, Literal, TextIO

from sira.agent.watch_state import RunState, Snapshot
from sira.errors import EnvironmentFault
from sira.records import Qrels
from sira.tables import printable

Mode = Literal["auto", "live", "lines", "off"]

_SHOWN = 16
"""Running questions in the table."""
_REFRESHES_A_SECOND = 4
_QID_CHARACTERS = 40


@contextlib.contextmanager
def watched(total: int, mode: Mode, stream: TextIO, qrels: Qrels | None = None) -> Generator[RunState]:
    """A state that is shown on the stream as it changes, until the block ends.

    `auto` is the table where the stream is a terminal and the package rich is there, else lines. Raises
    EnvironmentFault for `live` without rich.
    """
    has_rich = importlib.util.find_spec("rich") is not None
    if mode == "live" and not has_rich:
        raise EnvironmentFault("the package rich is missing, which draws the live view; --watch lines does without")
    if mode == "off":
        yield RunState(total, qrels)
    elif mode == "live" or (mode == "auto" and has_rich and stream.isatty()):
        with _live(RunState(total, qrels), stream) as state:
            yield state
    else:
        yield _lines(total, stream, qrels)


def _lines(total: int, stream: TextIO, qrels: Qrels | None) -> RunState:
    lock = threading.Lock()

    def say(data: Mapping[str, Any]) -> None:
        with lock:
            print(question_line(data, state.snapshot()), file=stream, flush=True)

    state = RunState(total, qrels, say)
    return state


def question_line(data: Mapping[str, Any], seen: Snapshot) -> str:
    """One question that ended, and how far the run is with it."""
    stats: Mapping[str, Any] = data["stats"]
    tools = stats["tool_calls_total"]
    head = (
        f"{seen.done}/{seen.total} {_name(str(data['query_id']))} {data['stop_reason']} "
        f"{stats['elapsed_seconds']:.1f} s {tools} call{'s' * (tools != 1)}"
    )
    return " | ".join([head, *summary(seen)])


def summary(seen: Snapshot) -> list[str]:
    """Recall, tokens, cost and time left, those that are known."""
    parts: list[str] = []
    if seen.recall is not None:
        parts.append(f"recall {seen.recall:.3f} of {seen.judged}")
    parts.append(f"{seen.tokens:,} tokens")
    parts += [f"{amount:,.4f} {currency}" for currency, amount in seen.amounts.items()]
    if seen.left_s is not None and seen.done < seen.total:
        parts.append(f"{duration(seen.left_s)} left")
    return parts


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


@contextlib.contextmanager
def _live(state: RunState, stream: TextIO) -> Generator[RunState]:
    console: Any = importlib.import_module("rich.console").Console(file=stream)
    live: Any = importlib.import_module("rich.live").Live
    view = _View(state)
    with live(view, console=console, refresh_per_second=_REFRESHES_A_SECOND, transient=True):
        yield state


class _View:
    """What rich draws again and again: the state of that moment."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def __rich__(self) -> Any:
        return table(self._state.snapshot())


def table(seen: Snapshot) -> Any:
    """The table of rich: a bar and the sums above, a row for each question that is worked on."""
    text: Any = importlib.import_module("rich.text").Text
    group: Any = importlib.import_module("rich.console").Group
    bar: Any = importlib.import_module("rich.progress_bar").ProgressBar
    grid: Any = importlib.import_module("rich.table").Table
    rows: Any = grid(box=None, pad_edge=False, header_style="bold")
    for name, side in (("question", "left"), ("step", "left"), ("calls", "right"), ("seconds", "right")):
        rows.add_column(name, justify=side)
    for one in seen.running[:_SHOWN]:
        rows.add_row(text(_name(one.qid)), text(one.step), str(one.calls), f"{one.seconds:.0f}")
    more = len(seen.running) - _SHOWN
    head = f"{seen.done} of {seen.total} questions, {duration(seen.elapsed_s)} so far"
    stops = ", ".join(f"{count} {stop}" for stop, count in seen.stops.items())
    drawn: Any = grid.grid()  # a bar by itself ends no line
    drawn.add_row(bar(total=max(1, seen.total), completed=seen.done, width=60))
    parts = [text(" | ".join([head, *summary(seen)])), drawn, text(stops or "none has ended yet"), rows]
    return group(*parts, *([text(f"and {more} more")] if more > 0 else []))


def _name(qid: str) -> str:
    shown = printable(qid)
    return shown if len(shown) <= _QID_CHARACTERS else shown[: _QID_CHARACTERS - 1] + "…"
