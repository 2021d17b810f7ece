"""One expansion job on a cluster: this process reads the corpus and writes the store, workers elsewhere ask the model.

It is the only writer. Workers hand rows back, so that whatever dies loses at most what was in flight, and nothing can
come twice. What is done is known by docid from the store itself, as for `sira expand`: both go on with the same folder.
"""

# numpy's own signatures of sort, searchsorted and concatenate are partly unknown to the type checker.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from sira.corpora.collection import open_collection
from sira.errors import EnvironmentFault, InputError
from sira.expand.arrays import Hashes, count
from sira.expand.config import ExpandConfig, LimitsConfig
from sira.expand.identity import check_job, open_job, read_job
from sira.expand.ids import hash64, shard_of
from sira.expand.job import ShardResult
from sira.expand.manifest import FILE as MANIFEST
from sira.expand.manifest import write_manifest
from sira.expand.plan import Plan, plan_shard
from sira.expand.progress import Progress, finished
from sira.expand.shard import ShardFile
from sira.expand.survey import Entry, Survey, shard_records, survey
from sira.expand.task import Task, fit_for
from sira.expand.work import Row, Work
from sira.llm.base import Generator, Usage
from sira.records import FAILURES, Document, Record, Status

Read = Callable[[], Iterator[Record]]

KILLED = "the worker that read this document died each time, at last on this document alone"


@dataclass(frozen=True, slots=True)
class Round:
    """One pass of the workers over the documents without a row, in blocks of `size` documents.

    `alone`: a worker is given one block at a time, so that a block that dies takes no other with it.
    """

    size: int
    alone: bool


class Cluster(Protocol):
    """Workers that hold the model. A block whose worker dies twice is dropped, and its documents get no row."""

    def identity(self) -> Mapping[str, Any]:
        """The generator's identity, as one worker states it."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """The generator's facts, and those of the cluster."""
        ...

    def first(self, task: Task, entries: Sequence[Entry], canary: int) -> list[Row]:
        """The rows of the first documents, from one worker; raises InputError where the canary does not parse."""
        ...

    def rows(self, task: Task, todo: Hashes, how: Round) -> Iterator[list[Row]]:
        """The rows of the documents `todo` (hashes of docids) as they come.

        Raises what a worker raised: InputError, EnvironmentFault.
        """
        ...


def run_distributed(
    config: ExpandConfig,
    out: Path,
    open_cluster: Callable[[], Cluster],
    *,
    shards: int | None = None,
    block: int = 512,
    update: bool = False,
    retry: frozenset[str] = frozenset(),
    progress: bool = True,
) -> list[ShardResult]:
    """Do what is missing of every shard of the store `out`; the cluster is opened only where the model is needed.

    `shards` counts for a new store alone (1); `update` and `retry` as in `run_shard`. Raises as `run_shard` does, and
    EnvironmentFault where the workers die whatever they are given; what is done is kept.
    """
    if config.model.backend == "batch-file":
        raise InputError("backend batch-file has no workers: run `sira expand` with it")
    if block < 1 or (shards is not None and shards < 1):
        raise InputError("blocks and shards count from 1")
    task = Task.of(config)
    read = open_collection(config.corpus.source).documents
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}): choose another --out") from None
    job = read_job(out)
    shards = shards or (1 if job is None else int(job["shards"]))
    identity = task.identity(config, {})
    del identity["model"]  # known once a worker has the model
    check_job(out, identity, shards)
    with ExitStack() as stack:
        files = [ShardFile(out, shard, shards) for shard in range(shards)]
        for file in files:
            stack.callback(file.close)
        found = survey(read, 0, 1, duplicates=config.corpus.duplicates, progress=progress)
        parts = [
            _Part.of(file, part, retry=retry, update=update)
            for file, part in zip(files, split(found, shards), strict=True)
        ]
        if job is None or any(part.plan.todo.any() for part in parts):
            cluster = open_cluster()
            identity = task.identity(config, cluster.identity())
            open_job(out, config, identity, shards)
            _Session(config, task.with_job(identity), read, parts, progress=progress).run(cluster, block)
        else:
            for part in parts:
                part.complete(config)
    write_manifest(out, config, shards)
    return [part.result() for part in parts]


def expand_entries(
    task: Task, generator: Generator, entries: Iterable[Entry], limits: LimitsConfig, canary: int = 0
) -> list[Row]:
    """What a worker does with a block: the loop of `sira expand`, less the bound on failures, which counts them all."""
    rows: list[Row] = []
    limits = limits.model_copy(update={"max_failure_share": 1.0})
    Work(task, generator, fit_for(task, generator), limits, rows.append).run(iter(entries), canary=canary)
    return rows


class Waiting:
    """The documents that wait for a row, by the hashes of their docids: nine bytes each."""

    def __init__(self, hashes: Hashes) -> None:
        self._hashes = np.sort(hashes)
        self._left = np.ones(len(hashes), dtype=np.bool_)
        self._count = len(hashes)

    def __len__(self) -> int:
        return self._count

    @property
    def hashes(self) -> Hashes:
        """In ascending order."""
        return self._hashes[self._left]

    def take(self, key: int) -> bool:
        """Whether this one waited; it does not from now on."""
        place = int(np.searchsorted(self._hashes, np.uint64(key)))
        if place == len(self._hashes) or int(self._hashes[place]) != key or not self._left[place]:
            return False
        self._left[place] = False
        self._count -= 1
        return True


def wanted(records: Iterator[Record], todo: Hashes) -> Iterator[Entry]:
    """The first record of each docid whose hash is in `todo`, in the order of the corpus."""
    waiting = Waiting(todo)
    for entry in shard_records(records, 0, 1):
        if not isinstance(entry, str) and waiting.take(entry[0]):
            yield entry
            if not waiting:
                return


def split(found: Survey, shards: int) -> list[Survey]:
    """The survey of a whole corpus as those of its shards."""
    parts: list[Survey] = []
    for shard in range(shards):
        mine = found.hashes % np.uint64(shards) == shard  # as shard_of has it
        part = Survey(found.hashes[mine], found.documents[mine], found.first[mine], 0, ())
        parts.append(replace(part, skipped=len(part.first) - count(part.first)))
    without_docid = found.skipped - sum(part.skipped for part in parts)
    parts[0] = replace(parts[0], skipped=parts[0].skipped + without_docid, examples=found.examples)
    return parts


@dataclass(slots=True)
class _Part:
    """One shard: its file, what is to be done of it, and this process's session in its progress file."""

    file: ShardFile
    found: Survey
    plan: Plan
    progress: Progress | None = None
    done: int = 0
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def of(cls, file: ShardFile, found: Survey, *, retry: frozenset[str], update: bool) -> _Part:
        scan = file.read(lambda row: row["status"] in retry)
        return cls(file, found, plan_shard(found, scan, file, update=update))

    @property
    def todo(self) -> Hashes:
        return self.found.hashes[self.plan.todo]

    def complete(self, config: ExpandConfig) -> None:
        """Nothing is left to be asked: give the file its last form where it lacks it."""
        if self.file.finished and not self.plan.removed and finished(self.file):
            self.file.add_up(self.plan.scan)
            return
        self.begin({"backend": config.model.backend, "gpus": 0, "facts": {}})
        self.finish()

    def begin(self, told: Mapping[str, Any]) -> None:
        (self.file.final.parent / MANIFEST).unlink(missing_ok=True)  # its totals do not hold any more
        self.file.add_up(self.plan.scan)
        self.file.compact(self.plan.scan)
        self.progress = Progress(self.file, told)

    def write(self, row: Row) -> None:
        self.file.append(row)
        self.done += 1
        self.usage += Usage(**row["usage"]) if "usage" in row else Usage()

    def finish(self) -> None:
        self.file.finish(self.found.order)
        self.tell("finished")

    def tell(self, stopped: str | None = None) -> None:
        if self.progress is not None:
            self.progress.tell(
                len(self.found), self.file.tally, done_now=self.done, usage_now=self.usage, skipped=self.found.skipped,
                removed=self.plan.removed, stopped=stopped,
            )  # fmt: skip

    def result(self) -> ShardResult:
        seconds = 0.0 if self.progress is None else self.progress.seconds
        return ShardResult(
            self.file.shard, self.file.shards, len(self.found), self.done, self.plan.removed,
            self.plan.damaged, self.found.skipped, self.found.examples, self.file.tally, seconds, None,
        )  # fmt: skip


class _Session:
    """This process's work on all shards: rounds of the workers until every document has its row."""

    def __init__(self, config: ExpandConfig, task: Task, read: Read, parts: list[_Part], *, progress: bool) -> None:
        self._config, self._task, self._read, self._parts, self._progress = config, task, read, parts, progress
        self._working = [part for part in parts if part.plan.todo.any() or part.plan.removed or not part.file.finished]
        self._waiting = Waiting(np.concatenate([part.todo for part in parts]))
        self._failures = 0
        self._example = ""
        self._bar: Any = None

    def run(self, cluster: Cluster, block: int) -> None:
        """Raises InputError where failures pass the bound, EnvironmentFault where the workers die on everything."""
        facts = dict(cluster.facts())
        # The pool works for all shards at once: each is told its share, and the manifest adds them up.
        gpus = facts.pop("gpus", 0) / max(len(self._working), 1)
        told = {"backend": self._config.model.backend, "gpus": gpus, "facts": facts}
        for part in self._parts:
            if part in self._working:
                part.begin(told)
            else:
                part.file.add_up(part.plan.scan)
        try:
            with tqdm(total=len(self._waiting), desc="documents", unit=" docs", disable=not self._progress,
                      mininterval=0.5) as self._bar:  # fmt: skip
                self._work(cluster, block)
            for part in self._working:
                part.finish()
        except BaseException as error:
            why = "interrupted" if isinstance(error, KeyboardInterrupt) else f"failed: {error}"
            for part in self._working:
                part.tell(why[:500])
            raise

    def _work(self, cluster: Cluster, block: int) -> None:
        canary = self._config.limits.canary if self._task.live else 0
        if canary and self._waiting:
            first = list(islice(wanted(self._read(), self._waiting.hashes), canary))
            self._take(cluster.first(self._task, first, canary))
        for how in rounds(block):
            before = len(self._waiting)
            if not before:
                return
            for rows in cluster.rows(self._task, self._waiting.hashes, how):
                self._take(rows)
            if len(self._waiting) == before > how.size:
                raise EnvironmentFault(
                    f"the workers died on every block of the {before} documents left: Ray's log says of what "
                    "(memory, a GPU); what is done is kept, run the job again"
                )
        if self._waiting:
            for _, docid, item in wanted(self._read(), self._waiting.hashes):
                self._take([killed_row(self._task, docid, item)])

    def _take(self, rows: Iterable[Row]) -> None:
        """Write the rows of documents that wait for one; what comes twice counts once."""
        for row in rows:
            key = hash64(row["docid"])
            if self._waiting.take(key):
                self._write(shard_of(key, len(self._parts)), row)
        for part in self._working:
            part.tell()

    def _write(self, shard: int, row: Row) -> None:
        self._parts[shard].write(row)
        self._bar.update()
        if row["status"] not in FAILURES or not ("usage" in row or row.get("detail") == KILLED):
            return  # a record that is no document says nothing about the model
        self._failures += 1
        self._example = self._example or f"{row['docid']}: {row['status']}, {json.dumps(row.get('detail', ''))[:200]}"
        limits, done = self._config.limits, sum(part.done for part in self._working)
        if done >= limits.failures_after and self._failures > limits.max_failure_share * done:
            raise InputError(
                f"{self._failures} of {done} documents failed, more than the share of "
                f"{limits.max_failure_share:g} that max_failure_share allows; the first: {self._example}. "
                "Mend the cause, then go on with --retry STATUS to redo the failed ones"
            )


def rounds(block: int) -> Iterator[Round]:
    """Blocks as they are; those that killed their worker in smaller ones; at last each document alone."""
    yield Round(block, alone=False)
    if math.isqrt(block) > 1:
        yield Round(math.isqrt(block), alone=True)
    yield Round(1, alone=True)


def killed_row(task: Task, docid: str, item: Any) -> Row:
    """The row of a document that no worker survived."""
    if not isinstance(item, Document):
        return task.error_row(docid, item.detail)
    return task.empty_row(item) | {"status": Status.ERROR.value, "detail": KILLED}
