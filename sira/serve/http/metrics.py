"""Counters of one process, and the text in which Prometheus reads them (exposition format 0.0.4)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sira.serve.front import Front

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_FAMILIES: Mapping[str, tuple[str, str]] = {
    "sira_requests_total": ("counter", "Requests that were answered."),
    "sira_request_seconds": ("histogram", "From the first byte of a request to the last of its answer."),
    "sira_requests_in_flight": ("gauge", "Requests that are being answered."),
    "sira_rejected_total": ("counter", "Requests refused because all places were taken."),
    "sira_abandoned_total": ("counter", "Requests whose client left before the answer."),
    "sira_searches_running": ("gauge", "Threads that search."),
    "sira_searches_waiting": ("gauge", "Requests that wait for a thread."),
    "sira_sessions": ("gauge", "Open sessions of the HTTP API; those of MCP are not counted."),
    "sira_index_generation": ("gauge", "Builds of an index opened so far."),
    "sira_index_fault": ("gauge", "1 where the newest build of an index cannot be used."),
    "sira_resident_bytes": ("gauge", "Memory of the process, Java's included."),
    "sira_start_time_seconds": ("gauge", "When the process started, in seconds of the epoch."),
}

Sample = tuple[str, dict[str, str], float]
"""Name with its suffix, labels, value."""


class Metrics:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], int] = {}
        self._seconds: dict[str, list[float]] = {}
        """By route: the count of each bucket, then of all above, then the sum of seconds."""
        self.in_flight = 0
        self.abandoned = 0
        self._start = time.time()

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        with self._lock:
            key = (route, method, status)
            self._requests[key] = self._requests.get(key, 0) + 1
            row = self._seconds.setdefault(route, [0.0] * (len(BUCKETS_S) + 2))
            place = next((place for place, bound in enumerate(BUCKETS_S) if seconds <= bound), len(BUCKETS_S))
            row[place] += 1
            row[-1] += seconds

    def samples(self, front: Front) -> list[Sample]:
        """All of it, as it stands now."""
        with self._lock:
            requests, seconds = dict(self._requests), {route: list(row) for route, row in self._seconds.items()}
        found: list[Sample] = [
            ("sira_requests_total", {"route": route, "method": method, "status": str(status)}, count)
            for (route, method, status), count in sorted(requests.items())
        ]
        for route, row in sorted(seconds.items()):
            total = 0.0
            for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), row, strict=False):
                total += count
                found.append(("sira_request_seconds_bucket", {"route": route, "le": bound}, total))
            found += [
                ("sira_request_seconds_sum", {"route": route}, row[-1]),
                ("sira_request_seconds_count", {"route": route}, total),
            ]
        service = front.service
        found += [
            ("sira_requests_in_flight", {}, self.in_flight),
            ("sira_rejected_total", {"queue": "search"}, front.searching.rejected),
            ("sira_rejected_total", {"queue": "sketch"}, front.sketching.rejected),
            ("sira_abandoned_total", {}, self.abandoned),
            ("sira_searches_running", {}, front.searching.running),
            ("sira_searches_waiting", {}, front.searching.waiting),
            ("sira_sessions", {}, len(service.sessions)),
            ("sira_resident_bytes", {}, resident_bytes()),
            ("sira_start_time_seconds", {}, self._start),
        ]
        for state in service.pool.states():
            found.append(("sira_index_generation", {"index": state.name}, state.generation))
            found.append(("sira_index_fault", {"index": state.name}, float(state.fault is not None)))
        return found


def resident_bytes() -> int:
    """0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def text_of(by_worker: Mapping[str, Iterable[Any]]) -> str:
    """The samples of one or several processes; `worker` is a label where there are several."""
    several = len(by_worker) > 1
    lines: dict[str, list[str]] = {family: [] for family in _FAMILIES}
    for worker, samples in by_worker.items():
        for name, labels, value in samples:
            family = next(item for item in (name, name.rpartition("_")[0]) if item in lines)
            every = {**labels, "worker": worker} if several else labels
            inner = ",".join(f'{key}="{_escaped(str(text))}"' for key, text in every.items())
            lines[family].append(f"{name}{{{inner}}} {value:.12g}" if inner else f"{name} {value:.12g}")
    told: list[str] = []
    for family, (kind, text) in _FAMILIES.items():
        if lines[family]:
            told += [f"# HELP {family} {text}", f"# TYPE {family} {kind}", *lines[family]]
    return "\n".join(told) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
