"""`sira status` as a command: its table, its JSON, its exit statuses."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sira.cli.status import duration, percent, ranges

from .conftest import Sira


def session(**fields: Any) -> dict[str, Any]:
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    usage = {"prompt_tokens": 4000, "completion_tokens": 2000, "cached_tokens": 0}
    return {"host": "node1", "updated": now, "seconds": 20.0, "done": 100, "usage": usage, "gpus": 8} | fields


def write(folder: Path, shard: int, *sessions: dict[str, Any], **fields: Any) -> None:
    data = {
        "documents": 400,
        "done": 100,
        "statuses": {"ok": 99, "error": 1},
        "failures": 1,
        "sessions": list(sessions),
    } | fields
    (folder / f"shard-{shard:05d}-of-00006.progress.json").write_text(json.dumps(data), encoding="utf-8")


@pytest.fixture
def job(tmp_path: Path) -> Path:
    (tmp_path / "job.json").write_text('{"name": "pottery", "shards": 6, "fingerprint": "ab"}', encoding="utf-8")
    return tmp_path


def test_a_running_job_is_status_0(sira: Sira, job: Path) -> None:
    write(job, 0, session())
    write(job, 1, session(host="node2\x1b[31m", seconds=10.0))
    answer = sira("status", job)
    assert (answer.status, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0].split("  ")[0] == "shard"
    assert [line.split()[:8] for line in lines[2:4]] == [
        ["1", "running", "100", "400", "25.0", "5", "200", "100"],
        ["2", "running", "100", "400", "25.0", "10", "400", "200"],
    ]
    assert lines[3].endswith(r"node2\x1b[31m")
    assert "4 of 6 shards not started: 3-6" in lines
    assert "200 of about 2,400 documents (8.3 %), 0 of 6 shards finished" in lines
    assert lines[-1] == "2 running on 2 machines with 16 GPUs: 15 docs/s; 2 min 27 s left at this rate"


def test_a_complete_job_is_status_0(sira: Sira, job: Path) -> None:
    for shard in range(6):
        write(job, shard, session(stopped="finished"), done=400, finished=True)
        (job / f"shard-{shard:05d}-of-00006.jsonl").touch()
    answer = sira("status", job)
    assert answer.status == 0
    assert answer.out.endswith("\ncomplete\n")
    assert "2,400 of 2,400 documents (100.0 %), 6 of 6 shards finished" in answer.out


def test_a_failed_shard_is_status_1_and_says_why(sira: Sira, job: Path) -> None:
    write(job, 3, session(stopped="failed: CUDA out of memory"))
    answer = sira("status", job)
    assert answer.status == 1
    assert "shard 4: failed: CUDA out of memory" in answer.out.splitlines()
    assert answer.out.endswith("nothing runs\n")


def test_a_silent_shard_is_status_1_in_json_too(sira: Sira, job: Path) -> None:
    # a later version may count more kinds of tokens
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "reasoning_tokens": 3}
    write(job, 0, session(updated="2020-01-01T00:00:00+00:00"), usage=usage)
    file = job / "shard-00000-of-00006.progress.json"
    os.utime(file, (1577836800, 1577836800))
    text = sira("status", job).out
    assert "shard 1: no sign of life since 2020-01-01 00:00:00 UTC on node1: " in text
    assert "--shard 1/6" in text
    answer = sira("status", job, "--json")
    assert answer.status == 1
    data = json.loads(answer.out)
    assert (data["needs_help"], data["complete"], data["seconds_left"]) == (True, False, None)
    assert data["shards"][0]["state"] == "no sign of life"
    assert data["shards"][0]["last_seen"] == "2020-01-01T00:00:00+00:00"
    assert data["shards"][0]["failures"] == 1
    assert data["shards"][0]["usage"] == {"prompt_tokens": 7, "completion_tokens": 5, "cached_tokens": 0}
    assert data["shards"][1]["state"] == "not started"
    assert data["shards"][1]["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0}


def test_what_is_no_job_is_status_2(sira: Sira, tmp_path: Path) -> None:
    answer = sira("status", tmp_path)
    assert (answer.status, answer.out) == (2, "")
    assert "no expansion job" in answer.err


def test_figures_for_people() -> None:
    assert [duration(n) for n in (0.4, 59.6, 3599, 3600, 86399, 90000)] == [
        "0 s",
        "1 min 00 s",
        "59 min 59 s",
        "1 h 00 min",
        "23 h 59 min",
        "1 d 01 h",
    ]
    assert ranges([0, 2, 3, 4, 9]) == "0, 2-4, 9"
    assert [percent(1999, 2000), percent(0, 0), percent(1, None)] == ["99.9", "100.0", "-"]
