"""A run of `sira agent` that is killed at random, against one that nobody disturbs: the same trajectories.

    python -m benchmarks.agent_kills [--questions 500] [--kills 10] [--json]

The model is a server that answers by a fixed rule; the index is real, of generated documents. Each kill is a SIGKILL a
random moment after a random number of questions. Times, and what follows from them, are left out of the comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._agent_servers import PlayedServer
from benchmarks._measure import Goal, Report, say
from sira.agent.run_folder import RunFolder
from sira.lucene.writer import build_index
from sira.records import Document, Place

_WORDS = [
    *("kiln", "glaze", "raku", "celadon", "slip", "pottery", "bisque", "porcelain", "stoneware", "ash", "lustre"),
    *("engobe", "wheel", "throwing", "saggar", "cone", "oxide", "cobalt", "copper", "iron", "clay", "grog", "temper"),
]
_TIMES = ("elapsed_seconds", "seconds_per_assistant_turn", "seconds_per_tool_call", "model_seconds", "waiting_seconds")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the two runs came to: trajectories that differ, files that were no valid JSON at a kill, kills that hit."""

    differing: list[str]
    torn: list[str]
    kills: int
    questions: int
    asked: int
    asked_undisturbed: int


def compare_runs(folder: Path, questions: int, kills: int, *, seed: int = 7, delay_s: float = 0.02) -> Outcome:
    """Run the same questions undisturbed and under kills, in `folder`."""
    chosen = random.Random(seed)
    index, topics = _corpus(folder, questions, chosen)
    model = folder / "model.toml"
    with PlayedServer(delay_s) as server:
        model.write_text(f'[model]\nbackend = "openai"\nmodel = "played"\nbase_url = "{server.url}"\n')
        base = [str(index), "--questions", str(topics), "--llm", str(model), "--watch", "off", "--concurrency", "4"]
        if _start(folder, "plain", base).wait() != 0:
            raise RuntimeError("the undisturbed run failed")
        undisturbed = server.asked
        torn: list[str] = []
        points = sorted(chosen.randrange(questions) for _ in range(kills))
        for number, point in enumerate(points, start=1):
            child = _start(folder, "killed", base)
            if not _kill(child, folder / "killed", point, chosen.uniform(0, 0.3)):
                raise RuntimeError(f"kill {number} came too late: the run had ended")
            torn += _torn(folder / "killed")
            say(f"  kill {number} of {kills}: {len(list((folder / 'killed').glob('*.json')))} files")
        if _start(folder, "killed", base).wait() != 0:
            raise RuntimeError("the last run failed")
        asked = server.asked - undisturbed
    return Outcome(_differing(folder), torn, kills, questions, asked, undisturbed)


def _kill(child: subprocess.Popen[bytes], run: Path, point: int, delay_s: float) -> bool:
    """Kill the run a moment after it has so many files; whether it was still running."""
    while len(list(run.glob("q*.json"))) < point and child.poll() is None:
        time.sleep(0.005)
    time.sleep(delay_s)
    running = child.poll() is None
    child.kill()
    child.wait()
    return running


def _start(folder: Path, name: str, base: Sequence[str]) -> subprocess.Popen[bytes]:
    """`sira agent` into a folder, with a cache of replies of its own."""
    environment = {**os.environ, "SIRA_CACHE": str(folder / f"cache-{name}")}
    command = [sys.executable, "-m", "sira", "agent", *base, "--out", name]
    return subprocess.Popen(command, cwd=folder, env=_with_path(environment), stdout=subprocess.DEVNULL)


def _with_path(environment: dict[str, str]) -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[1])
    return {**environment, "PYTHONPATH": root}


def _corpus(folder: Path, questions: int, chosen: random.Random) -> tuple[Path, Path]:
    documents = [
        Document(f"d{number}", "\n".join(" ".join(chosen.choices(_WORDS, k=9)) for _ in range(8)), f"Text {number}")
        for number in range(300)
    ]
    records = [(Place("generated", number), document) for number, document in enumerate(documents, start=1)]
    build_index(lambda: records, folder / "index", progress=False)
    topics = folder / "questions.tsv"
    lines = [
        f"q{number}\tWhich {' '.join(chosen.sample(_WORDS, 5))} has number {number}?\n" for number in range(questions)
    ]
    topics.write_text("".join(lines))
    return folder / "index", topics


def _torn(run: Path) -> list[str]:
    """Files that are not whole."""
    found: list[str] = []
    for path in run.glob("*.json"):
        try:
            json.loads(path.read_bytes())
        except ValueError:
            found.append(path.name)
    return found


def _differing(folder: Path) -> list[str]:
    one, two = (RunFolder(folder / name) for name in ("plain", "killed"))
    names = sorted({path.name for run in (one, two) for path in run.files()})
    return [name for name in names if timeless(one.path / name) != timeless(two.path / name)]


def timeless(path: Path) -> dict[str, Any] | None:
    """A trajectory without times, and without the name of its folder."""
    if not path.exists():
        return None
    data: dict[str, Any] = json.loads(path.read_bytes())
    data["metadata"].pop("output_dir")
    for name in _TIMES:
        data["stats"].pop(name)
    for step in data["result"]:
        for name in ("started_seconds", "seconds", "waiting_seconds"):
            step.pop(name, None)
    return data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=500, help="(%(default)s)")
    parser.add_argument("--kills", type=int, default=10, help="(%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = compare_runs(Path(folder), arguments.questions, arguments.kills)
    report = Report("agent_kills", {"questions": outcome.questions, "kills": outcome.kills})
    report.rows = [
        {"run": "undisturbed", "calls of the model": outcome.asked_undisturbed},
        {"run": f"killed {outcome.kills} times", "calls of the model": outcome.asked},
    ]
    report.goals = [
        Goal("trajectories that differ", len(outcome.differing), "<=", 0),
        Goal("files that were not whole at a kill", len(outcome.torn), "<=", 0),
    ]
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
