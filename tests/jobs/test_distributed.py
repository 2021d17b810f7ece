"""The driver of a distributed job, with workers in this process that die as they are told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sira.cluster.driver import KILLED, Round, expand_entries, rounds, run_distributed, split, wanted
from sira.corpora.collection import open_collection
from sira.errors import EnvironmentFault, InputError
from sira.expand.config import read_expand_config
from sira.expand.job import run_shard
from sira.expand.survey import Entry, survey
from sira.expand.task import Task
from sira.expand.work import Row
from sira.llm import open_generator

from .recorded_job import docids_of, make_job


class Workers:
    """A cluster of one: blocks that hold a document of `poison` get no rows, and each block comes `times` times."""

    def __init__(self, job: Path, poison: Sequence[str] = (), times: int = 1) -> None:
        self.config = read_expand_config(job / "job.toml")
        self.poison, self.times = set(poison), times
        self.generator = open_generator(self.config.model)
        self.sizes: list[int] = []

    def identity(self) -> Mapping[str, Any]:
        return self.generator.identity

    def facts(self) -> Mapping[str, Any]:
        return {"gpus": 4}

    def first(self, task: Task, entries: Sequence[Entry], canary: int) -> list[Row]:
        return expand_entries(task, self.generator, entries, self.config.limits, canary)

    def rows(self, task: Task, todo: Any, how: Round) -> Iterator[list[Row]]:
        self.sizes.append(how.size)
        entries = list(wanted(open_collection(self.config.corpus.source).documents(), todo))
        for start in range(0, len(entries), how.size):
            block = entries[start : start + how.size]
            if not self.poison & {docid for _, docid, _ in block}:
                for _ in range(self.times):
                    yield expand_entries(task, self.generator, block, self.config.limits)


@pytest.fixture
def hire(job: Path) -> Iterator[Callable[..., Workers]]:
    """hire(poison=, times=) -> Workers, whose recorded replies are closed after the test."""
    hired: list[Workers] = []

    def hire(**options: Any) -> Workers:
        hired.append(Workers(job, **options))
        return hired[-1]

    yield hire
    for workers in hired:
        workers.generator.close()


@pytest.fixture
def job(tmp_path: Path) -> Path:
    make_job(tmp_path, 100)
    with (tmp_path / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"docid": "empty", "text": ""}\n{"docid": "no-document", "text": 5}\n{"text": "no docid"}\n')
    return tmp_path


def run(job: Path, workers: Workers, **options: Any) -> list[Any]:
    return run_distributed(workers.config, job / "store", lambda: workers, block=16, progress=False, **options)


def unreachable() -> Any:
    raise AssertionError("the model is not needed")


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("*.jsonl"))}


def test_the_shards_are_those_of_run_shard_and_a_finished_store_wants_no_cluster(
    job: Path, hire: Callable[..., Workers]
) -> None:
    workers = hire()
    results = run(job, workers, shards=3)
    plain = [run_shard(workers.config, job / "plain", shard, 3, progress=False) for shard in range(3)]
    assert files(job / "store") == files(job / "plain")
    for ours, theirs in zip(results, plain, strict=True):
        assert (ours.documents, ours.done_now, ours.skipped, ours.examples, ours.tally) == (
            theirs.documents, theirs.done_now, theirs.skipped, theirs.examples, theirs.tally,
        )  # fmt: skip
    again = run_distributed(workers.config, job / "store", unreachable, progress=False)
    assert [result.done_now for result in again] == [0, 0, 0]
    assert run_shard(workers.config, job / "store", 2, 3, progress=False).done_now == 0


def test_a_block_that_comes_twice_is_written_once(job: Path, hire: Callable[..., Workers]) -> None:
    run(job, hire(times=2))
    assert len(docids_of(list((job / "store").glob("*.jsonl")))) == 102


def test_dropped_blocks_come_smaller_until_the_documents_that_kill_stand_alone(
    job: Path, hire: Callable[..., Workers]
) -> None:
    workers = hire(poison=("d20", "d90", "empty"))
    (result,) = run(job, workers)
    assert workers.sizes == [16, 4, 1]
    assert result.tally.statuses == {"ok": 98, "error": 4}
    rows = {
        row["docid"]: row
        for row in map(json.loads, files(job / "store")["shard-00000-of-00001.jsonl"].split(b"\n")[:-1])
    }
    assert [docid for docid, row in rows.items() if row.get("detail") == KILLED] == ["d20", "d90", "empty"]
    assert run_shard(workers.config, job / "store", progress=False).done_now == 0  # no text counts as changed
    healthy = hire()
    (result,) = run(job, healthy, retry=frozenset({"error"}))
    assert result.done_now == 4
    run_shard(workers.config, job / "plain", progress=False)
    assert files(job / "store") == files(job / "plain")


def test_workers_that_die_on_every_block_end_the_job_and_what_was_done_is_kept(
    job: Path, hire: Callable[..., Workers]
) -> None:
    everything = [f"d{number}" for number in range(100)]
    with pytest.raises(EnvironmentFault, match="died on every block of the 102 documents left"):
        run(job, hire(poison=[*everything, "empty", "no-document"]))
    assert json.loads((job / "store" / "shard-00000-of-00001.progress.json").read_text())["finished"] is False
    (result,) = run(job, hire())
    assert result.done_now == 102


def test_documents_that_kill_count_for_the_bound_on_failures(job: Path, hire: Callable[..., Workers]) -> None:
    workers = hire(poison=[f"d{number}" for number in range(25)])
    workers.config = read_expand_config(job / "job.toml", changes=["limits.failures_after=50"])
    with pytest.raises(InputError, match=r"documents failed, more than the share of 0\.1 .* first: d0: error"):
        run(job, workers)


def test_gpu_seconds_of_a_pool_that_works_for_several_shards_count_once(
    job: Path, hire: Callable[..., Workers]
) -> None:
    run(job, hire(), shards=4)
    parts = [json.loads(path.read_text()) for path in (job / "store").glob("*.progress.json")]
    assert [part["sessions"][0]["gpus"] for part in parts] == [1.0, 1.0, 1.0, 1.0]


def test_the_number_of_shards_is_that_of_the_store(job: Path, hire: Callable[..., Workers]) -> None:
    run(job, hire(), shards=2)
    with pytest.raises(InputError, match="this store has 2 shards, and 3 were asked for"):
        run(job, hire(), shards=3)


def test_a_survey_splits_into_those_of_its_shards(job: Path) -> None:
    with (job / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"docid": "d5", "text": "again"}\n{"docid": "d6", "text": "again"}\n')
    read = open_collection(str(job / "corpus.jsonl")).documents
    whole = survey(read, 0, 1, duplicates="keep-first")
    for shard, part in enumerate(split(whole, 3)):
        expected = survey(read, shard, 3, duplicates="keep-first")
        assert part.hashes.tolist() == expected.hashes.tolist()
        assert part.documents.tolist() == expected.documents.tolist()
        assert part.first.tolist() == expected.first.tolist()
        assert (part.skipped, part.examples) == (expected.skipped, expected.examples)


@pytest.mark.parametrize(("block", "sizes"), [(512, [512, 22, 1]), (9, [9, 3, 1]), (3, [3, 1]), (1, [1, 1])])
def test_blocks_shrink_to_one_document(block: int, sizes: list[int]) -> None:
    assert [how.size for how in rounds(block)] == sizes
