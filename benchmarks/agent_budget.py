"""When episodes end whose endpoint never answers or streams for ever, or whose search sleeps, under a budget of time.

    python -m benchmarks.agent_budget [--runs 200] [--time 3] [--at-once 20] [--json]

Each run is one episode; the three faults take turns. A trajectory must be there, whole and with every step that was
finished.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks._agent_servers import PlayedServer, SlowServer
from benchmarks._measure import Goal, Report, Row
from sira.agent.base import StopReason, ToolResult
from sira.agent.budget import Limits
from sira.agent.loop import run_episode
from sira.agent.loop_settings import EpisodeSettings
from sira.agent.run_folder import TrajectoryFile
from sira.llm.base import Generator, Tool
from sira.llm.endpoint import EndpointGenerator
from sira.llm.settings import ModelSettings
from sira.prompts import load_prompt
from sira.records import Topic

FAULTS = ("endpoint hangs", "endpoint streams for ever", "search sleeps")


@dataclass(frozen=True, slots=True)
class Ended:
    """One episode: its fault, seconds, why it ended, and whether its file is whole."""

    fault: str
    seconds: float
    stop: StopReason
    whole: bool


class SleepingTools:
    """A search that does not come back before `release`."""

    tools = (Tool("search", "search", {"type": "object", "properties": {}}),)

    def __init__(self, release: threading.Event) -> None:
        self._release = release

    def call(self, name: str, arguments: str) -> ToolResult:  # noqa: ARG002
        self._release.wait(120)
        return ToolResult("late")


def run_all(folder: Path, runs: int, time_s: float, at_once: int) -> list[Ended]:
    """So many episodes, `at_once` of them at a time."""
    release = threading.Event()
    with SlowServer("hang") as hanging, SlowServer("drip") as dripping, PlayedServer() as playing:
        models: dict[str, Generator] = {
            fault: EndpointGenerator(
                ModelSettings.model_validate({"backend": "openai", "model": "played", "base_url": server.url})
            )
            for fault, server in zip(FAULTS, (hanging, dripping, playing), strict=True)
        }
        settings = EpisodeSettings(load_prompt("agent-pi-serini"), Limits(time_s))

        def one(number: int) -> Ended:
            fault = FAULTS[number % len(FAULTS)]
            path = folder / f"{number}.json"
            begun = time.monotonic()
            done = run_episode(
                Topic(str(number), "Which kiln?"),
                SleepingTools(release),
                models[fault],
                settings,
                sink=TrajectoryFile(path),
            )
            seconds = time.monotonic() - begun
            data = json.loads(path.read_bytes())
            return Ended(
                fault, seconds, done.stop_reason, data["status"] == "timeout" and data["query_id"] == str(number)
            )

        with ThreadPoolExecutor(at_once) as pool:
            ended = list(pool.map(one, range(runs)))
        release.set()
        for model in models.values():
            model.close()
    return ended


def rows(ended: Sequence[Ended], time_s: float) -> list[Row]:
    """The distribution of what went by beyond the budget, by fault."""
    found: list[Row] = []
    for fault in FAULTS:
        late = sorted(1000 * (one.seconds - time_s) for one in ended if one.fault == fault)
        if not late:
            continue
        quantiles = {f"p{share}": late[min(len(late) - 1, share * len(late) // 100)] for share in (50, 95)}
        found.append(
            {
                "fault": fault,
                "runs": len(late),
                **{f"{k} late ms": v for k, v in quantiles.items()},
                "max late ms": late[-1],
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--time", type=float, default=3.0, help="seconds of each (%(default)s)")
    parser.add_argument("--at-once", type=int, default=20, help="(%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ended = run_all(Path(folder), arguments.runs, arguments.time, arguments.at_once)
    report = Report("agent_budget", {"runs": arguments.runs, "T": arguments.time, "at once": arguments.at_once})
    report.rows = rows(ended, arguments.time)
    report.goals = [
        Goal("seconds of the longest run", max(one.seconds for one in ended), "<=", arguments.time + 1),
        Goal("runs without a whole trajectory", sum(not one.whole for one in ended), "<=", 0),
        Goal("runs that ended for another reason", sum(one.stop is not StopReason.TIME for one in ended), "<=", 0),
    ]
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
