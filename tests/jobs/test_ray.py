"""The Ray job on a real local cluster: what is killed, and what must stand afterwards. Each wait has an end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.data", reason="Ray Data is not installed: scripts/set-up-llm makes an environment with it")

DOCUMENTS = 800
EMPTY = {"d7", "d500"}
ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).with_name("ray_driver.py")
END_SECONDS = 150


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, recorded replies to it, the TOML of the job, and the store of `sira expand`: `plain`."""
    folder = tmp_path_factory.mktemp("job")
    with (folder / "corpus.jsonl").open("w") as corpus, (folder / "replies.jsonl").open("w") as replies:
        for number in range(DOCUMENTS):
            docid = f"d{number}"
            text = "" if docid in EMPTY else f"document {number} " + "word " * 50
            corpus.write(json.dumps({"docid": docid, "text": text}) + "\n")
            replies.write(json.dumps({"docid": docid, "phrases": [f"phrase {number}", "another — one"]}) + "\n")
        corpus.write(json.dumps({"docid": "no-document", "text": 5}) + "\n")
    (folder / "job.toml").write_text(
        'name = "ray"\n[corpus]\nsource = "corpus.jsonl"\n[model]\nbackend = "recorded"\nreplies = "replies.jsonl"\n'
    )
    for shard in ("1/2", "2/2"):
        sira_expand(folder, folder / "plain", shard)
    return folder


def sira_expand(job: Path, out: Path, shard: str) -> str:
    """Run `sira expand` for a shard; what it printed."""
    command = ["-m", "sira", "expand", str(job / "job.toml"), "--out", str(out), "--shard", shard, "--quiet"]
    done = subprocess.run(
        [sys.executable, *command], check=False, env=environment(job), timeout=60, capture_output=True, text=True
    )
    assert done.returncode in (0, 3), done.stderr  # 3: a row that failed, of the record that is no document
    return done.stdout


def environment(mark: Path) -> dict[str, str]:
    """Ours, with the package's folder for the workers, and a mark by which the processes of a test are found."""
    more = {"PYTHONPATH": str(ROOT), "SIRA_TEST_MARK": str(mark), "RAY_DEDUP_LOGS": "0"}
    return {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"} | more


def marked(mark: Path) -> list[int]:
    """The processes that carry the mark."""
    wanted, found = f"SIRA_TEST_MARK={mark}".encode(), []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                pass
    return found


class Run:
    """Drivers of one store, with the file that counts what the model was asked."""

    def __init__(self, job: Path, folder: Path) -> None:
        self.job, self.folder, self.out, self.calls = job, folder, folder / "store", folder / "calls"
        self.process: subprocess.Popen[str] | None = None

    def start(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(DRIVER), str(self.job / "job.toml"), str(self.out), str(self.calls), *options]
        self.process = subprocess.Popen(
            command, env=environment(self.folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        return self.process

    def complete(self) -> int:
        """Wait for the driver, which must succeed; how many documents it did."""
        assert self.process is not None
        said, error = self.process.communicate(timeout=END_SECONDS)
        assert self.process.returncode == 0, error[-3000:]
        return int(said.split()[-1])

    def asked(self) -> list[tuple[int, str]]:
        """(process, docid) of each request so far."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [(int(pid), docid) for pid, docid in (line.split() for line in lines if line.count(" ") == 1)]

    def wait_for_requests(self, number: int) -> None:
        self.wait(lambda: len(self.asked()) >= number)

    def wait(self, holds: Any) -> None:
        assert self.process is not None
        deadline = time.monotonic() + END_SECONDS
        while not holds():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def rows(self) -> list[bytes]:
        """All rows of the finished store, in the order of its files."""
        return [line for file in sorted(self.out.glob("*.jsonl")) for line in file.read_bytes().splitlines()]

    def written(self) -> list[str]:
        """The docids of whole rows that are on disk, the job finished or not."""
        parts = [part.read_bytes().split(b"\n")[:-1] for part in self.out.glob("*.jsonl.part")]
        return [json.loads(line)["docid"] for lines in parts for line in lines]

    def gone(self) -> bool:
        """Whether no process of the run is left, after some patience."""
        deadline = time.monotonic() + 60
        while marked(self.folder):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def sweep(self) -> None:
        """End what is left of the run."""
        for pid in marked(self.folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def run(job: Path, tmp_path: Path) -> Iterator[Run]:
    made = Run(job, tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.communicate()
    clean = made.gone()
    made.sweep()
    assert clean, "the run left processes behind"


def plain(job: Path) -> list[bytes]:
    files = sorted((job / "plain").glob("*.jsonl"))
    return [line for file in files for line in file.read_bytes().splitlines()]


def docids(rows: Sequence[bytes]) -> list[str]:
    return [json.loads(row)["docid"] for row in rows]


@pytest.mark.slow
def test_the_store_is_that_of_sira_expand_byte_for_byte_and_each_finds_nothing_to_do_in_the_others(
    job: Path, run: Run
) -> None:
    run.start()
    assert run.complete() == DOCUMENTS + 1
    assert run.rows() == plain(job)
    assert len(set(docids(run.rows()))) == DOCUMENTS + 1
    assert Counter(docid for _, docid in run.asked()) == Counter(
        f"d{number}" for number in range(DOCUMENTS) if f"d{number}" not in EMPTY
    )
    manifest = json.loads((run.out / "manifest.json").read_text())
    assert manifest["statuses"] == {"empty": 2, "error": 1, "ok": DOCUMENTS - 2}
    assert manifest["fingerprint"] == json.loads((job / "plain" / "manifest.json").read_text())["fingerprint"]

    before = [file.read_bytes() for file in sorted(run.out.glob("*.jsonl"))]
    assert "now 0 in" in sira_expand(job, run.out, "1/2")
    run.start()
    assert run.complete() == 0
    assert [file.read_bytes() for file in sorted(run.out.glob("*.jsonl"))] == before


@pytest.mark.slow
def test_a_killed_worker_costs_its_block_alone(job: Path, run: Run) -> None:
    run.start("--seconds=0.003")
    run.wait_for_requests(250)
    os.kill(run.asked()[-1][0], signal.SIGKILL)
    assert run.complete() == DOCUMENTS + 1
    assert run.rows() == plain(job)
    assert len(run.asked()) - len({docid for _, docid in run.asked()}) <= 200  # two blocks in flight


@pytest.mark.slow
def test_the_driver_after_a_killed_one_redoes_nothing_that_was_written(job: Path, run: Run) -> None:
    process = run.start("--seconds=0.003", "--block=50")
    run.wait(lambda: len(run.written()) >= 200)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept, before = run.written(), len(run.asked())
    assert len(kept) < DOCUMENTS
    run.start("--block=50")
    assert run.complete() == DOCUMENTS + 1 - len(kept)
    assert run.rows() == plain(job)
    assert not set(kept) & {docid for _, docid in run.asked()[before:]}
    run.sweep()  # Ray's own agents outlive a killed driver by a minute or so


@pytest.mark.slow
def test_a_document_that_kills_its_worker_becomes_one_error_row_and_its_neighbours_stand(job: Path, run: Run) -> None:
    run.start("--poison=d300")
    assert run.complete() == DOCUMENTS + 1
    rows = {json.loads(row)["docid"]: row for row in run.rows()}
    poison = json.loads(rows.pop("d300"))
    assert poison["status"] == "error"
    assert poison["phrases"] == []
    assert poison["detail"] == "the worker that read this document died each time, at last on this document alone"
    expected = {json.loads(row)["docid"]: row for row in plain(job)}
    assert poison["provenance"] == json.loads(expected.pop("d300"))["provenance"]
    assert rows == expected
    assert sum(docid == "d300" for _, docid in run.asked()) == 6  # twice in each of three rounds


@pytest.mark.slow
def test_a_node_that_is_removed_at_work_loses_nothing(job: Path, run: Run) -> None:
    run.start("--workers=3", "--seconds=0.01", "--block=50", "--remove-a-node-after=200")
    assert run.complete() == DOCUMENTS + 1
    assert (run.folder / "removed").exists()
    assert run.rows() == plain(job)
