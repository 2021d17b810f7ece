"""The Slurm array on a real Slurm of one node: killed, submitted again, and whole. Each wait has an end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from .recorded_job import ROOT, docids_of, make_command, make_job

DOCUMENTS = 8000
SHARDS = 4
SLURM = ROOT / "scripts" / "slurm-on-one-machine"
SCRIPT = ROOT / "jobs" / "slurm-expand.sh"


def two_free_ports() -> int:
    """The first of two neighbours that nobody listens on: another run of the tests may have a Slurm of its own."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("", port + 1))
            except (OSError, OverflowError):
                continue
            return port


@pytest.fixture(scope="module")
def slurm() -> Iterator[dict[str, str]]:
    """The environment in which sbatch reaches a Slurm of our own."""
    with TemporaryDirectory(prefix="sira-slurm-") as parent:  # pytest's own are too deep for a socket's path
        folder = Path(parent) / "s"
        ours = os.environ | {"SIRA_SLURM_PORT": str(two_free_ports())}
        start = [SLURM, "start", folder]
        started = subprocess.run(start, env=ours, check=False, capture_output=True, text=True, timeout=60)
        if started.returncode == 3:
            pytest.skip(started.stderr.strip())
        assert started.returncode == 0, started.stderr
        try:
            yield os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
        finally:
            subprocess.run([SLURM, "stop", folder], check=True, timeout=60)


class Array:
    """A job on recorded replies in a folder of its own, and the arrays that are submitted for it."""

    def __init__(self, folder: Path, slurm: dict[str, str], documents: int = DOCUMENTS) -> None:
        self.folder, self.store = folder, folder / "store"
        self.docids = make_job(folder, documents)
        self.environment = slurm | {"SIRA": str(make_command(folder))}

    def submit(self, array: str, *options: str, **environment: str) -> subprocess.Popen[str]:
        """`sbatch -W`: ends with the array."""
        command = ["sbatch", "-W", "--mem=500M", f"--array={array}", *options, str(SCRIPT), "job.toml", "store"]
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment | environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def finish(self, submitted: subprocess.Popen[str], status: int = 0) -> None:
        try:
            said, _ = submitted.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            submitted.kill()
            raise
        assert submitted.returncode == status, said + self.logs()

    def logs(self) -> str:
        return "".join(file.read_text() for file in sorted(self.folder.glob("sira-expand-*.log")))

    def part(self, shard: int) -> Path:
        return self.store / f"shard-{shard - 1:05d}-of-{SHARDS:05d}.jsonl.part"

    def pid(self, shard: int) -> int:
        """The process that works on a shard, once rows of it are on disk."""
        deadline = time.monotonic() + 60
        progress = self.store / f"shard-{shard - 1:05d}-of-{SHARDS:05d}.progress.json"
        while not (self.part(shard).exists() and self.part(shard).stat().st_size and progress.exists()):
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.002)
        return json.loads(progress.read_text())["sessions"][-1]["pid"]

    def files(self) -> list[Path]:
        return sorted(self.store.glob("*.jsonl"))


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_an_array_whose_process_is_killed_tries_again_and_ends_with_every_document_once(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    array = Array(tmp_path, slurm)
    submitted = array.submit(f"1-{SHARDS}%2")
    os.kill(array.pid(2), signal.SIGKILL)
    array.finish(submitted)
    assert sorted(docids_of(array.files())) == sorted(array.docids)
    assert len(array.files()) == SHARDS
    assert json.loads((array.store / "manifest.json").read_text())["documents"] == DOCUMENTS
    assert "sira expand ended with status 137" in array.logs()
    assert "shard 2/4, try 2" in array.logs()

    before = [file.read_bytes() for file in array.files()]
    array.finish(array.submit("3"))
    assert "shard 3/4, try 1" in array.logs()  # the total is the store's
    assert "now 0 in 0.0 s" in array.logs()
    assert [file.read_bytes() for file in array.files()] == before


def test_a_task_that_is_killed_whole_fails_and_its_shard_alone_is_submitted_again(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    array = Array(tmp_path, slurm)
    submitted = array.submit(f"1-{SHARDS}%2")
    pid = array.pid(2)
    script = parent_of(pid)
    os.kill(script, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    array.finish(submitted, status=1)
    kept = docids_of([array.part(2)])
    assert len(array.files()) == SHARDS - 1
    assert not (array.store / "manifest.json").exists()
    array.finish(array.submit("2"))
    assert sorted(docids_of(array.files())) == sorted(array.docids)
    assert json.loads((array.store / "manifest.json").read_text())["documents"] == DOCUMENTS
    of_the_shard = len(docids_of([array.files()[1]]))
    assert f"now {of_the_shard - len(kept)} in" in array.logs()


def test_a_part_of_an_array_needs_to_know_the_total_and_a_wrong_input_is_not_tried_again(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    array = Array(tmp_path, slurm, documents=50)
    array.finish(array.submit("2-3"), status=2)
    assert "say by SIRA_SHARDS how many shards there are" in array.logs()
    array.finish(array.submit("2-3", SIRA_SHARDS="3"))
    assert [file.name for file in array.files()] == ["shard-00001-of-00003.jsonl", "shard-00002-of-00003.jsonl"]
    array.finish(array.submit("1-3", SIRA_SHARDS="4"), status=2)
    assert "this store has 3 shards, and 4 were asked for" in array.logs()
    assert "try 2" not in array.logs()
