"""Many questions at once, into the folder of a run: killed at any instant and started again, it goes on."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from sira.agent.base import StopReason
from sira.agent.loop_settings import Sink
from sira.agent.run_folder import RunFolder
from sira.agent.trajectory import Recorder, Trajectory
from sira.errors import InputError
from sira.records import Topic

_LOOKS_A_SECOND = 5

_log = logging.getLogger(__name__)

Episode = Callable[[Topic, int, Sink, Callable[[], bool]], Trajectory]
"""Works on one question: the number is added to the seed, the sink takes the steps, the last says whether to stop."""
_SAME_SEED = frozenset({StopReason.ERROR, StopReason.TIME})
"""Begun anew, these go over the replies that are in the cache and on from there; others would end as they did."""


class Watcher(Protocol):
    """Looks on while questions are worked on. Its methods are called from several threads."""

    def kept(self, data: Mapping[str, Any]) -> None:
        """A trajectory of an earlier run stands."""
        ...

    def began(self, qid: str) -> None: ...

    def stepped(self, recorder: Recorder) -> None: ...

    def ended(self, data: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How questions are worked on, without a say in what comes out. A question that ends for a reason in `retry` is
    begun anew, up to `attempts` times in all, and once more when the run is started again."""

    concurrency: int = 8
    attempts: int = 2
    retry: frozenset[StopReason] = frozenset({StopReason.ERROR})

    def __post_init__(self) -> None:
        for name in ("concurrency", "attempts"):
            if getattr(self, name) < 1:
                raise InputError(f"agent: {name} = {getattr(self, name)}: give 1 or more")
        if StopReason.ANSWERED in self.retry:
            raise InputError("agent: retry: an answered question is not asked again: leave out 'answered'")


@dataclass(slots=True)
class RunReport:
    """What became of the questions: stop reason -> questions, those of earlier runs (`kept` in number) among them."""

    stops: Counter[str] = field(default_factory=Counter[str])
    kept: int = 0
    retried: int = 0
    tokens: int = 0
    amounts: Counter[str] = field(default_factory=Counter[str])
    """Currency -> amount."""
    unpriced: int = 0

    def add(self, data: Mapping[str, Any]) -> None:
        self.stops[str(data.get("stop_reason"))] += 1
        usage: Any = data.get("usage") or {}
        self.tokens += int(usage.get("total_tokens", 0))
        price: Any = data.get("price")
        if isinstance(price, dict):
            amount = cast("dict[str, Any]", price)
            self.amounts[str(amount["currency"])] += amount["amount"]
        else:
            self.unpriced += 1


def run_questions(
    questions: Sequence[Topic], episode: Episode, folder: RunFolder, options: RunOptions, watcher: Watcher | None = None
) -> RunReport:
    """Work on the questions that the folder has no finished trajectory of. The caller holds the folder.

    Ctrl-C ends what runs as `cancelled` and is raised again. Raises the fault that ends all (the endpoint or the index
    is gone, the disk is full): what was finished stands, and the same command goes on from there.
    """
    job = _Job(episode, folder, options, watcher)
    for question in questions:
        data = folder.finished(question, options.retry)
        if data is None:
            job.waiting.append((question, 1, 0))
        else:
            job.report.kept += 1
            job.report.add(data)
            if watcher is not None:
                watcher.kept(data)
    threads = [
        threading.Thread(target=job.work, name=f"sira-agent-{number}", daemon=True)
        for number in range(min(options.concurrency, len(job.waiting)))
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(1 / _LOOKS_A_SECOND)
    finally:
        job.cancel.set()
        for thread in threads:
            thread.join()
    if job.fault is not None:
        raise job.fault
    return job.report


@dataclass(slots=True)
class _Job:
    """What the threads of a run share."""

    episode: Episode
    folder: RunFolder
    options: RunOptions
    watcher: Watcher | None
    waiting: deque[tuple[Topic, int, int]] = field(default_factory=deque[tuple[Topic, int, int]])
    """Questions, which attempt it is, and what is added to the seed."""
    report: RunReport = field(default_factory=RunReport)
    cancel: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    fault: BaseException | None = None

    def work(self) -> None:
        """What one thread does: question after question, as long as there are any."""
        while not self.cancel.is_set():
            try:
                question, attempt, seed = self.waiting.popleft()
            except IndexError:
                return
            try:
                self.one(question, attempt, seed)
            except BaseException as error:  # noqa: BLE001 - raised by the thread that waits for this one
                self.give_up(error)

    def one(self, question: Topic, attempt: int, seed: int) -> None:
        watcher, write = self.watcher, self.folder.sink(question.qid)

        def sink(recorder: Recorder) -> None:
            write(recorder)
            if watcher is not None:
                watcher.stepped(recorder)

        if watcher is not None:
            watcher.began(question.qid)
        trajectory = self.episode(question, seed, sink, self.cancel.is_set)
        if trajectory.fault is not None:
            self.give_up(trajectory.fault)
        elif trajectory.stop_reason in self.options.retry and attempt < self.options.attempts:
            _log.info("question %s ended as %s and is begun anew", question.qid, trajectory.stop_reason)
            with self.lock:
                self.report.retried += 1
            self.waiting.append((question, attempt + 1, seed + (trajectory.stop_reason not in _SAME_SEED)))
            return
        with self.lock:
            self.report.add(trajectory.data)
        if watcher is not None:
            watcher.ended(trajectory.data)

    def give_up(self, error: BaseException) -> None:
        with self.lock:
            if self.fault is None:
                self.fault = error
        self.cancel.set()
