"""The job as a process of its own: killed at any instant and run again, interrupted, and in several processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

DOCUMENTS = 6000


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, recorded replies to it, and the TOML of the job."""
    folder = tmp_path_factory.mktemp("job")
    with (folder / "corpus.jsonl").open("w") as corpus, (folder / "replies.jsonl").open("w") as replies:
        for number in range(DOCUMENTS):
            corpus.write(json.dumps({"docid": f"d{number}", "text": f"document {number} " + "word " * 50}) + "\n")
            replies.write(json.dumps({"docid": f"d{number}", "phrases": [f"phrase {number}", "another one"]}) + "\n")
    (folder / "job.toml").write_text(
        'name = "killed"\n[corpus]\nsource = "corpus.jsonl"\n[model]\nbackend = "recorded"\nreplies = "replies.jsonl"\n'
    )
    return folder


def start(job: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sira", "expand", str(job / "job.toml"), "--out", str(out), "--quiet", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def complete(process: subprocess.Popen[str]) -> str:
    """Wait for a process that must succeed; what it printed."""
    said, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return said


def lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []


def wait_for(path: Path, rows: int, process: subprocess.Popen[str]) -> None:
    """Until the part file holds so many rows."""
    deadline = time.monotonic() + 60
    while len(lines(path)) < rows:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def docids(files: Sequence[Path]) -> list[str]:
    return [json.loads(line)["docid"] for file in files for line in lines(file)]


def test_killed_three_times_the_store_holds_each_document_once_and_nothing_is_done_twice(
    job: Path, tmp_path: Path
) -> None:
    out = tmp_path / "store"
    part = out / "shard-00000-of-00001.jsonl.part"
    kept: list[bytes] = []
    for rows in (1, 1500, 4000):
        process = start(job, out)
        wait_for(part, rows, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        now = lines(part)
        assert now[: len(kept)] == kept  # what was done stands, in the same bytes
        assert len(now) >= rows
        kept = now
    said = complete(start(job, out))
    done_now = int(said.splitlines()[1].split()[1])
    assert done_now == DOCUMENTS - len(kept)
    assert docids([out / "shard-00000-of-00001.jsonl"]) == [f"d{number}" for number in range(DOCUMENTS)]
    assert not part.exists()

    whole = tmp_path / "whole"
    complete(start(job, whole))
    name = "shard-00000-of-00001.jsonl"
    assert (out / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_job_leaves_with_130_and_says_so_in_its_progress(
    job: Path, tmp_path: Path, how: signal.Signals
) -> None:
    out = tmp_path / "store"
    process = start(job, out)
    wait_for(out / "shard-00000-of-00001.jsonl.part", 500, process)
    process.send_signal(how)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == "sira: interrupted\n"
    progress = json.loads((out / "shard-00000-of-00001.progress.json").read_text())
    assert progress["sessions"][0]["stopped"] == "interrupted"
    assert progress["finished"] is False
    # The signal may fall between a row and its being counted; the next run counts the rows themselves.
    assert len(lines(out / "shard-00000-of-00001.jsonl.part")) - progress["done"] in (0, 1)


def test_several_processes_share_the_work_and_the_store_is_whole(job: Path, tmp_path: Path) -> None:
    out = tmp_path / "store"
    complete(start(job, out, "--processes", "3"))
    files = sorted(out.glob("*.jsonl"))
    assert len(files) == 3
    assert sorted(docids(files)) == sorted(f"d{number}" for number in range(DOCUMENTS))
    assert json.loads((out / "manifest.json").read_text())["documents"] == DOCUMENTS


def test_a_killed_member_loses_nothing_and_the_same_command_goes_on(job: Path, tmp_path: Path) -> None:
    out = tmp_path / "store"
    process = start(job, out, "--processes", "2")
    first = out / "shard-00000-of-00002.progress.json"
    deadline = time.monotonic() + 60
    while not first.exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(json.loads(first.read_text())["sessions"][0]["pid"], signal.SIGKILL)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 128 + 9, error
    assert "shard 1/2 ended with status -9" in error
    complete(start(job, out, "--processes", "2"))
    files = sorted(out.glob("*.jsonl"))
    assert sorted(docids(files)) == sorted(f"d{number}" for number in range(DOCUMENTS))


def test_the_exit_status_of_a_job_done_in_part_is_one_number() -> None:
    from sira.cli import expand
    from sira.expand import launch

    assert expand.DONE_IN_PART == launch.DONE_IN_PART == 3


def test_too_many_processes_are_refused(job: Path, tmp_path: Path) -> None:
    process = start(job, tmp_path / "store", "--processes", "1000")
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (2, "sira: error: --processes 1000: give 1 to 64\n")
