"""What is known of a run while it is under way: counts, steps, recall, cost, time left."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from sira.agent.trajectory import Recorder
from sira.records import Qrels


@dataclass(frozen=True, slots=True)
class Running:
    """A question that is worked on: its last step, calls of tools so far, seconds since it began."""

    qid: str
    step: str
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run at one moment. `recall` is the macro recall of surfaced documents over the `judged` questions that are
    done; None where none of them is judged. `left_s` is None until a question was finished."""

    done: int
    total: int
    kept: int
    stops: Mapping[str, int]
    running: tuple[Running, ...]
    recall: float | None
    judged: int
    tokens: int
    amounts: Mapping[str, float]
    elapsed_s: float
    left_s: float | None


@dataclass(slots=True)
class RunState:
    """Fulfils `sira.agent.runs.Watcher`; `on_end` is told of each question that ended, with its file's data."""

    total: int
    qrels: Qrels | None = None
    on_end: Callable[[Mapping[str, Any]], None] | None = None
    now: Callable[[], float] = time.monotonic

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _started: float = 0.0
    _begun: dict[str, tuple[float, str, int]] = field(default_factory=dict[str, tuple[float, str, int]])
    _stops: Counter[str] = field(default_factory=Counter[str])
    _kept: int = 0
    _recalls: list[float] = field(default_factory=list[float])
    _tokens: int = 0
    _amounts: Counter[str] = field(default_factory=Counter[str])

    def __post_init__(self) -> None:
        self._started = self.now()

    def kept(self, data: Mapping[str, Any]) -> None:
        with self._lock:
            self._kept += 1
            self._count(data)

    def began(self, qid: str) -> None:
        with self._lock:
            self._begun[qid] = (self.now(), "start", 0)

    def stepped(self, recorder: Recorder) -> None:
        qid = recorder.question.qid
        with self._lock:
            if qid in self._begun:
                self._begun[qid] = (self._begun[qid][0], recorder.last_step, recorder.calls)

    def ended(self, data: Mapping[str, Any]) -> None:
        with self._lock:
            self._begun.pop(str(data["query_id"]), None)
            self._count(data)
        if self.on_end is not None:
            self.on_end(data)

    def snapshot(self) -> Snapshot:
        with self._lock:
            now, done = self.now(), self._stops.total()
            new, elapsed = done - self._kept, now - self._started
            return Snapshot(
                done=done,
                total=self.total,
                kept=self._kept,
                stops=dict(self._stops.most_common()),
                running=tuple(
                    Running(qid, step, calls, now - begun) for qid, (begun, step, calls) in self._begun.items()
                ),
                recall=sum(self._recalls) / len(self._recalls) if self._recalls else None,
                judged=len(self._recalls),
                tokens=self._tokens,
                amounts=dict(self._amounts),
                elapsed_s=elapsed,
                left_s=elapsed / new * (self.total - done) if new else None,
            )

    def _count(self, data: Mapping[str, Any]) -> None:
        self._stops[str(data.get("stop_reason"))] += 1
        usage: Any = data.get("usage") or {}
        self._tokens += int(usage.get("total_tokens", 0))
        price: Any = data.get("price")
        if isinstance(price, dict):
            amount = cast("dict[str, Any]", price)
            self._amounts[str(amount["currency"])] += amount["amount"]
        judged = (self.qrels or {}).get(str(data["query_id"]), {})
        relevant = {docid for docid, grade in judged.items() if grade >= 1}
        if relevant:
            self._recalls.append(len(relevant & set(data["surfaced_docids"])) / len(relevant))
