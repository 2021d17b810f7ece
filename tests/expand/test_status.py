"""How far a job is: states by shard, rates and time left over machines, clocks that disagree, files half-written."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sira.errors import EnvironmentFault, InputError
from sira.expand.config import read_expand_config
from sira.expand.job import run_shard
from sira.expand.status import Sign, State, last_sign, read_status
from sira.inspection.statistics import inspect_store
from sira.llm import Reply, Request

from .models import AnsweringModel, phrases

NOW = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC)


def stem(shard: int, shards: int = 4) -> str:
    return f"shard-{shard:05d}-of-{shards:05d}"


def job(folder: Path, shards: int = 4) -> None:
    text = json.dumps({"schema_version": 1, "name": "pottery", "fingerprint": "ab", "shards": shards})
    (folder / "job.json").write_text(text, encoding="utf-8")


def session(ago: float, **fields: Any) -> dict[str, Any]:
    """A session whose machine wrote `ago` seconds before NOW by its own clock."""
    updated = (NOW - dt.timedelta(seconds=ago)).isoformat(timespec="seconds")
    usage = {"prompt_tokens": 1000, "completion_tokens": 500, "cached_tokens": 100}
    return {
        "host": "node1", "pid": 7, "started": updated, "updated": updated, "seconds": 50.0, "done": 100,
        "usage": usage, "backend": "vllm", "gpus": 2, "stopped": None,
    } | fields  # fmt: skip


def progress(
    folder: Path, shard: int, *sessions: dict[str, Any], shards: int = 4, written: float | None = None, **fields: Any
) -> Path:
    """A progress file, last written `written` seconds before NOW (by default when its session says)."""
    data = {
        "shard": shard, "shards": shards, "documents": 400, "done": 100, "skipped": 0,
        "statuses": {"ok": 97, "runaway": 2, "error": 1},
        "failures": 3,
        "usage": {"prompt_tokens": 1000, "completion_tokens": 500, "cached_tokens": 100},
        "finished": False, "sessions": list(sessions),
    } | fields  # fmt: skip
    path = folder / f"{stem(shard, shards)}.progress.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    if written is None:
        written = (NOW - dt.datetime.fromisoformat(sessions[-1]["updated"])).total_seconds() if sessions else 0.0
    os.utime(path, (NOW.timestamp() - written, NOW.timestamp() - written))
    return path


def test_running_shards_on_two_machines_and_one_not_started(tmp_path: Path) -> None:
    job(tmp_path, shards=3)
    progress(tmp_path, 0, session(10, host="node1", seconds=50.0), shards=3)
    progress(tmp_path, 1, session(10, host="node2", seconds=25.0), shards=3)
    found = read_status(tmp_path, NOW)
    assert [shard.state for shard in found.shards] == [State.RUNNING, State.RUNNING, State.MISSING]
    assert [shard.documents_per_second for shard in found.shards] == [2.0, 4.0, None]
    assert found.shards[0].prompt_tokens_per_second == 20.0
    assert found.shards[0].completion_tokens_per_second == 10.0
    assert found.shards[0].failures == 3
    assert (found.done, found.documents, found.estimated) == (200, 1200, True)
    assert found.seconds_left == 1000 / 6
    assert found.statuses == {"ok": 194, "runaway": 4, "error": 2}
    assert (found.complete, found.needs_help, found.notes) == (False, False, ())


def test_a_complete_job(tmp_path: Path) -> None:
    job(tmp_path)
    for shard in range(4):
        progress(tmp_path, shard, session(9000, stopped="finished"), done=400, finished=True)
        (tmp_path / f"{stem(shard)}.jsonl").touch()
    found = read_status(tmp_path, NOW)
    assert found.complete
    assert (found.done, found.documents, found.estimated, found.seconds_left) == (1600, 1600, False, 0.0)
    assert not found.needs_help
    assert [shard.gpu_seconds for shard in found.shards] == [100.0] * 4


@pytest.mark.parametrize(
    ("stopped", "ago", "state", "needs_help"),
    [
        (None, 119, State.RUNNING, False),
        (None, 121, State.STALE, True),
        ("failed: CUDA out of memory", 5, State.FAILED, True),
        ("interrupted", 5, State.STOPPED, False),
        ("pending", 9000, State.STOPPED, False),
    ],
)
def test_the_last_session_decides(
    tmp_path: Path, stopped: str | None, ago: float, state: State, needs_help: bool
) -> None:
    job(tmp_path)
    progress(tmp_path, 0, session(9999, stopped="failed: earlier"), session(ago, stopped=stopped))
    found = read_status(tmp_path, NOW)
    assert found.shards[0].state is state
    assert found.shards[0].last_seen == NOW - dt.timedelta(seconds=ago)
    assert found.needs_help is needs_help
    assert (found.shards[0].documents_per_second is not None) is (state is State.RUNNING)
    assert (found.seconds_left is None) is (state is not State.RUNNING)


@pytest.mark.parametrize(
    ("updated_ago", "written_ago", "sign"),
    [
        (10, 12, Sign(10, 0)),
        (3600, 5, Sign(5, 0)),  # its clock is behind, or the file was copied
        (-3600, 5, Sign(5, 3600)),
        (-3600, 900, Sign(900, 3600)),  # dead, though its clock promises otherwise
        (-60, 900, Sign(0, 0)),  # a minute is within what clocks differ
        (900, -3600, Sign(900, 0)),
        (-3600, -3600, Sign(0, 3600)),
    ],
)
def test_clocks_that_disagree(updated_ago: float, written_ago: float, sign: Sign) -> None:
    updated = NOW - dt.timedelta(seconds=updated_ago)
    assert last_sign(updated, NOW.timestamp() - written_ago, NOW) == sign


def test_a_clock_that_is_ahead_is_told(tmp_path: Path) -> None:
    job(tmp_path)
    progress(tmp_path, 0, session(-3600), written=3)
    found = read_status(tmp_path, NOW)
    assert found.shards[0].state is State.RUNNING
    assert found.notes == ("the clock of node1 is 3600 s ahead of this one's",)


def test_files_that_are_absent_or_half_written_are_told_and_left_out(tmp_path: Path) -> None:
    job(tmp_path)
    (tmp_path / f"{stem(0)}.jsonl").touch()  # finished, its progress file lost
    (tmp_path / f"{stem(1)}.jsonl.part").touch()  # at work, no progress file yet
    whole = progress(tmp_path, 2, session(5)).read_bytes()
    (tmp_path / f"{stem(2)}.progress.json").write_bytes(whole[: len(whole) // 2])
    found = read_status(tmp_path, NOW)
    assert [shard.state for shard in found.shards] == [
        State.FINISHED,
        State.UNREADABLE,
        State.UNREADABLE,
        State.MISSING,
    ]
    assert found.notes == (f"{stem(2)}.progress.json is half-written or damaged: what it told is left out",)
    assert (found.documents, found.seconds_left, found.needs_help) == (None, None, False)


@pytest.mark.parametrize("text", [None, '{"shards": 4', '{"shards": 0}', "[]"])
def test_without_a_job_file_the_names_tell_the_number_of_shards(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "job.json").write_text(text, encoding="utf-8")
    progress(tmp_path, 2, session(5))
    found = read_status(tmp_path, NOW)
    assert [shard.state for shard in found.shards] == [State.MISSING, State.MISSING, State.RUNNING, State.MISSING]
    assert len(found.notes) == 1
    assert found.notes[0].startswith("job.json is absent, half-written or damaged")


def test_what_is_no_job_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match="no expansion job"):
            read_status(path, NOW)
    (tmp_path / "job.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"job\.json: cannot be read"):
        read_status(tmp_path, NOW)


def test_a_finished_shard_whose_file_is_gone_needs_help(tmp_path: Path) -> None:
    job(tmp_path)
    progress(tmp_path, 0, session(5, stopped="finished"), finished=True)
    found = read_status(tmp_path, NOW)
    assert found.shards[0].state is State.FAILED
    assert f"{stem(0)}.jsonl is not there" in found.notes[0]


def test_a_finished_shard_that_is_redone_is_not_finished(tmp_path: Path) -> None:
    job(tmp_path)
    progress(tmp_path, 0, session(9000, stopped="finished"), session(5), finished=False)
    (tmp_path / f"{stem(0)}.jsonl").touch()
    (tmp_path / f"{stem(0)}.jsonl.part").touch()
    assert read_status(tmp_path, NOW).shards[0].state is State.RUNNING


def test_progress_files_of_another_number_of_shards_are_left_out(tmp_path: Path) -> None:
    job(tmp_path, shards=2)
    progress(tmp_path, 1, session(5))
    found = read_status(tmp_path, NOW)
    assert [shard.state for shard in found.shards] == [State.MISSING, State.MISSING]
    assert "1 progress files of another number of shards than 2" in found.notes[0]


def test_what_a_job_writes_is_what_status_and_inspect_read(tmp_path: Path) -> None:
    rows = [json.dumps({"docid": f"d{n}", "text": f"text {n}"}) for n in range(20)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    toml = tmp_path / "job.toml"
    model = '[model]\nbackend = "openai"\nmodel = "m"\n[limits]\ncanary = 0\n'
    toml.write_text(f'name = "pottery"\n[corpus]\nsource = "corpus.jsonl"\n{model}', encoding="utf-8")
    config, out, answered = read_expand_config(toml), tmp_path / "store", 0

    def fails_late(request: Request) -> Reply:
        nonlocal answered
        answered += 1
        if answered > 3:
            raise EnvironmentFault("the engine is gone")
        return phrases(request)

    done = run_shard(config, out, 0, 3, progress=False, open_model=lambda _: AnsweringModel())
    with pytest.raises(EnvironmentFault):
        run_shard(config, out, 1, 3, progress=False, open_model=lambda _: AnsweringModel(fails_late, batch=1))
    job = read_status(out)
    assert [shard.state for shard in job.shards] == [State.FINISHED, State.FAILED, State.MISSING]
    assert (job.name, job.notes) == ("pottery", ())
    assert [shard.done for shard in job.shards] == [done.documents, 3, 0]
    assert job.shards[0].usage.prompt_tokens == 100 * done.documents
    assert job.shards[1].stopped == "failed: the engine is gone"
    found = inspect_store(out)
    assert (found.name, found.documents, found.unfinished) == ("pottery", done.documents + 3, 1)
    assert found.statuses == {"ok": done.documents + 3}
    assert found.tokens["cached_tokens"].counts == {50: done.documents + 3}
    assert len(found.jobs) == 1


def test_shards_are_never_read(tmp_path: Path) -> None:
    job(tmp_path)
    (tmp_path / f"{stem(0)}.jsonl").mkdir()  # reading it would fail
    (tmp_path / f"{stem(1)}.jsonl.part").mkdir()
    states = [shard.state for shard in read_status(tmp_path, NOW).shards]
    assert states == [State.FINISHED, State.UNREADABLE, State.MISSING, State.MISSING]
