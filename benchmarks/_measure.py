"""What the benchmarks share: options, rounds in which peers alternate, quantiles, child processes, tables and JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Row = dict[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class Goal:
    """One comparison and its bar; `relation` says on which side of the bar the value must lie."""

    what: str
    value: float
    relation: str
    bar: float

    @property
    def met(self) -> bool:
        return self.value >= self.bar if self.relation == ">=" else self.value <= self.bar


@dataclass(slots=True)
class Report:
    """The figures of one benchmark: rows as measured, then the comparisons that are the result."""

    benchmark: str
    settings: Mapping[str, Any]
    rows: list[Row] = field(default_factory=list[Row])
    goals: list[Goal] = field(default_factory=list[Goal])
    notes: list[str] = field(default_factory=list[str])

    def print(self, *, as_json: bool) -> None:
        """A table, or the same figures as one JSON object, on stdout."""
        if as_json:
            goals = [{**asdict(goal), "met": goal.met} for goal in self.goals]
            data = {"benchmark": self.benchmark, "machine": machine(), "settings": dict(self.settings)}
            print(json.dumps({**data, "rows": self.rows, "goals": goals, "notes": self.notes}, indent=2))
            return
        print(f"{self.benchmark}: " + ", ".join(f"{key} {value}" for key, value in self.settings.items()))
        print("machine: " + ", ".join(f"{key} {value}" for key, value in machine().items()) + "\n")
        print_table(self.rows)
        goals: list[Row] = [
            {
                "result": goal.what,
                "value": goal.value,
                "goal": f"{goal.relation} {goal.bar:g}",
                "": "met" if goal.met else "MISSED",
            }
            for goal in self.goals
        ]
        print()
        print_table(goals)
        for note in self.notes:
            print(f"\n{note}")


def machine() -> dict[str, str | int | float]:
    """What the figures depend on besides the code; the load average tells whether others were at work."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count() or 0,
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def print_table(rows: Sequence[Row]) -> None:
    """Columns in the order in which the rows name them; numbers to the right, with three significant digits."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(column), *(len(row[i]) for row in cells)) for i, column in enumerate(columns)]
    right = [any(isinstance(row.get(column), int | float) for row in rows) for column in columns]
    for line in [columns, ["-" * width for width in widths], *cells]:
        parts = [text.rjust(w) if r else text.ljust(w) for text, w, r in zip(line, widths, right, strict=True)]
        print("  ".join(parts).rstrip())


def _cell(value: str | float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def options(description: str) -> argparse.ArgumentParser:
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sira" / "benchmarks"
    parser.add_argument("--work", type=Path, default=cache, help="folder for the corpus and the indexes (%(default)s)")
    parser.add_argument("--texts", type=Path, help="JSON Lines with id and contents, instead of Debian's descriptions")
    parser.add_argument("--fresh", action="store_true", help="build the indexes anew")
    parser.add_argument("--rounds", type=int, default=5, help="rounds in which the peers alternate (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def alternate(peers: Mapping[str, Callable[[], list[float]]], rounds: int) -> dict[str, list[list[float]]]:
    """Run each peer once to warm up, then `rounds` times in turn, the order reversed every other round.

    A peer returns its measurements of one round; the result holds one list a round for each peer.
    """
    measured: dict[str, list[list[float]]] = {name: [] for name in peers}
    for number in range(rounds + 1):
        say(f"  round {number} of {rounds}" if number else "  warming up")
        names = list(peers) if number % 2 else list(peers)[::-1]
        for name in names:
            values = peers[name]()
            if number:
                measured[name].append(values)
    return measured


def timed(work: Callable[[Any], object], items: Sequence[Any]) -> list[float]:
    """Seconds that `work` takes for each item."""
    clock, seconds = time.perf_counter, list[float]()
    for item in items:
        start = clock()
        work(item)
        seconds.append(clock() - start)
    return seconds


def median(rounds: Sequence[Sequence[float]]) -> float:
    """The median over all measurements of all rounds."""
    return statistics.median(value for values in rounds for value in values)


def p95(rounds: Sequence[Sequence[float]]) -> float:
    """The smallest measurement that at least 95 % of all do not exceed."""
    values = sorted(value for values in rounds for value in values)
    return values[max(0, -(-95 * len(values) // 100) - 1)]


def ratio(over: Sequence[Sequence[float]], under: Sequence[Sequence[float]]) -> float:
    """The median over rounds of (median of one peer / median of the other in the same round)."""
    pairs = zip(over, under, strict=True)
    return statistics.median(statistics.median(first) / statistics.median(second) for first, second in pairs)


@dataclass(frozen=True, slots=True)
class Finished:
    """A child process that ended well: wall seconds, peak resident MB, and what it printed."""

    seconds: float
    peak_mb: float
    stdout: str


_LAUNCH = """
import json, os, resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.call(sys.argv[2:])
seconds, usage = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w", encoding="utf-8") as out:
    json.dump([status, seconds, usage.ru_maxrss / 1024], out)
"""


def run_process(command: Sequence[str]) -> Finished:
    """Run a command to its end. Raises RuntimeError with the end of its output if it fails.

    A small process of its own starts it, because Linux counts what a parent held at the start into a child's peak.
    """
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        launched = [sys.executable, "-S", "-c", _LAUNCH, str(figures), *command]
        done = subprocess.run(launched, capture_output=True, text=True, encoding="utf-8", check=True)
        status, seconds, peak_mb = json.loads(figures.read_text(encoding="utf-8"))
    if status:
        raise RuntimeError(f"{command[0]} ended with {status}: {(done.stderr or done.stdout)[-2000:]}")
    return Finished(seconds, peak_mb, done.stdout)
