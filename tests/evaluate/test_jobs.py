"""Collections in processes of their own: the same results, errors that name their collection, nothing left running."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sira.errors import EnvironmentFault, InputError, SiraError
from sira.evaluate.config import read_experiment
from sira.evaluate.jobs import fault, run_tasks
from sira.evaluate.runner import run_experiment
from sira.evaluate.selection import on_collection
from sira.evaluate.work import Task
from tests.evaluate.pots import BM25, BOTH, HEAD, RRF, cell, collections, values
from tests.evaluate.test_grids import SELECT
from tests.evaluate.test_plan import Obliging

pytestmark = pytest.mark.java

MACRO = '\n[[macros]]\nname = "all"\nof = ["c0", "c1", "c2"]\n'
LINUX = Path("/proc/self/task").is_dir()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tables = collections(tmp_path, 3, 1)
    (tmp_path / "e.toml").write_text(HEAD + tables + BM25 + BOTH + RRF + SELECT + MACRO, encoding="utf-8")
    return tmp_path


def started(folder: Path, out: Path, jobs: int = 2) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sira", "run", str(folder / "e.toml"), "--out", str(out), "--jobs", str(jobs)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def children(pid: int) -> set[int]:
    """The processes that this one has started, as far down as they go."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            found |= {child} | children(child)
    return found


def is_alive(pid: int) -> bool:
    """A zombie, which only waits to be seen, is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(met: object, seconds: float = 60.0) -> bool:
    assert callable(met)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if met():
            return True
        time.sleep(0.005)
    return False


def timeless(out: Path) -> dict[str, bytes]:
    """Every file without times: runs, scores, programs, hits, and the settings."""
    files = [
        path for pattern in ("*.trec", "*.f32", "*.jsonl", "*.hits.json") for path in out.glob(f"runs/*/{pattern}")
    ]
    files += [out / "config.json", out / "selection.json", out / "per_query.csv", out / "significance.json"]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_any_number_of_processes_writes_the_same_and_a_killed_run_goes_on(folder: Path) -> None:
    whole, out = folder / "whole", folder / "out"
    run_experiment(read_experiment(folder / "e.toml"), whole, progress=False)
    assert cell(whole, "c1", "both")["jobs"] == 1
    run_experiment(read_experiment(folder / "e.toml"), out, jobs=3, progress=False)
    assert timeless(out) == timeless(whole)
    assert values(out) == values(whole)
    assert cell(out, "c1", "both")["jobs"] == 3
    assert "while 3 collections were at work" in (out / "report.md").read_text(encoding="utf-8")
    assert "were at work" not in (whole / "report.md").read_text(encoding="utf-8")
    if not LINUX:
        return
    killed = folder / "killed"
    for sent, collection in ((signal.SIGKILL, "c0"), (signal.SIGINT, "c1")):
        process = started(folder, killed)
        assert wait_until(lambda name=collection: any(killed.glob(f"runs/{name}/*.json")))
        below = children(process.pid)
        os.kill(process.pid, sent)
        _, told = process.communicate(timeout=60)
        assert wait_until(lambda pids=below: not any(map(is_alive, pids)), 20)
        assert below
        if sent is signal.SIGINT:
            assert process.returncode == 130
            assert told.splitlines()[-1] == "sira: interrupted"
            assert "Traceback" not in told
    assert not (killed / "results.json").exists()
    before = {
        path: path.stat().st_mtime_ns for path in killed.glob("runs/*/*.trec") if path.with_suffix(".json").exists()
    }
    process = started(folder, killed)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert timeless(killed) == timeless(whole)
    assert re.search(r"^sira: c2 rrf: finished \(3 of 3\)$", told, re.MULTILINE)
    assert not list(killed.rglob("*.tmp"))


def test_the_first_error_ends_all_and_names_its_collection(folder: Path) -> None:
    text = (folder / "e.toml").read_text(encoding="utf-8").replace(SELECT, "").replace(MACRO, "")
    text += '\n[[systems]]\nname = "dense"\nkind = "run"\nrun = "{collection}.trec"\n'
    (folder / "e.toml").write_text(text, encoding="utf-8")
    for name in ("c0", "c1", "c2"):
        docid = "elsewhere" if name == "c1" else "d1"
        (folder / f"{name}.trec").write_text(f"t1 Q0 {docid} 1 1 dense\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"^collection 'c1': run 'dense': none of its 1 documents is in collection"):
        run_experiment(read_experiment(folder / "e.toml"), folder / "out", jobs=3, progress=False)
    assert not (folder / "out" / "results.json").exists()
    (folder / "c1.trec").write_text("t1 Q0 d1 1 1 dense\n", encoding="utf-8")
    run_experiment(read_experiment(folder / "e.toml"), folder / "out", progress=False)
    assert ("c1", "dense", "nDCG@10") in values(folder / "out")


@pytest.mark.skipif(not LINUX, reason="finds processes by /proc")
def test_a_process_that_is_killed_is_told_by_its_collection(folder: Path) -> None:
    process = started(folder, folder / "out", jobs=1 + 1)
    try:
        assert wait_until((folder / "out" / "indexes").is_dir)
        for pid in children(process.pid):
            command = Path(f"/proc/{pid}/cmdline").read_text()
            if "spawn_main" in command:
                os.kill(pid, signal.SIGKILL)
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "collection 'c0': its process ended with SIGKILL and told nothing" in told.splitlines()[-1]
    assert "SIRA_JAVA_HEAP" in told


@pytest.mark.slow
def test_processes_ask_a_model_each_for_its_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="wants the package openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = Obliging()
    try:
        model = f'[model]\nbackend = "openai"\nmodel = "served-model"\nbase_url = "{server.url}"\n'
        (tmp_path / "model.toml").write_text(model, encoding="utf-8")
        tables = collections(tmp_path).replace('"c0/sketches.jsonl"', '{ llm = "model.toml" }')
        tables = tables.replace('"c1/sketches.jsonl"', '{ llm = "model.toml" }')
        (tmp_path / "e.toml").write_text(HEAD + tables + BM25 + BOTH, encoding="utf-8")
        experiment = read_experiment(tmp_path / "e.toml")
        run_experiment(experiment, tmp_path / "out", jobs=2, progress=False)
        # Of 5 and 6 topics 5 have the same text: two processes may ask for it at once, and one reply is kept.
        assert 6 <= len(server.calls) <= 11
        server.stop()
        run_experiment(experiment, tmp_path / "out", jobs=2, progress=False)
    finally:
        server.stop()
    assert {(c, s) for c, s, _ in values(tmp_path / "out")} == {(c, s) for c in ("c0", "c1") for s in ("bm25", "both")}


def test_code_that_changed_since_the_run_began_is_told(folder: Path) -> None:
    view = on_collection(read_experiment(folder / "e.toml"), "c1", {})
    task = Task(view, "c1", frozenset({"bm25"}), folder / "out", "now", code="of yesterday")
    with pytest.raises(EnvironmentFault, match=r"^collection 'c1': the code of sira changed while the run was at work"):
        run_tasks([task], 1, lambda line: None)
    assert not (folder / "out" / "runs").exists()


def test_errors_keep_their_kind_across_processes() -> None:
    assert fault("InputError") is InputError
    assert fault("EnvironmentFault") is EnvironmentFault
    assert fault("TrecFormatError") is InputError  # which has arguments of its own
    assert fault("ForkedProcessError") is EnvironmentFault
    assert fault("KeyError") is SiraError


def test_less_than_one_process_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="--jobs 0: give 1 or more"):
        run_experiment(read_experiment(folder / "e.toml"), folder / "out", jobs=0)
