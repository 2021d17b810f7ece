"""One shard of an expansion job: every document of the shard gets its row, whatever stops the process on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Generator as Generator_
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from sira.corpora.collection import open_collection
from sira.errors import InputError
from sira.expand.arrays import count
from sira.expand.config import ExpandConfig
from sira.expand.identity import check_job, check_model, make_folder, open_job, read_job
from sira.expand.manifest import FILE as MANIFEST
from sira.expand.manifest import write_manifest
from sira.expand.plan import Plan, plan_shard
from sira.expand.progress import Progress, finished
from sira.expand.shard import ShardFile, Tally
from sira.expand.survey import Entry, Survey, shard_records, survey
from sira.expand.task import Task, fit_for
from sira.expand.work import Work
from sira.llm import Generator, ModelSettings, Usage, open_generator
from sira.records import Record

MOST_SHARDS = 100_000


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What became of one shard (counted from 0). `done_now` rows were written by this process; `removed` rows had no
    document any more, `damaged` lines were no rows; `skipped` records are no documents, with `examples` of why.

    `pending` says what to do about documents that still wait for a batch file; None: every document has its row.
    """

    shard: int
    shards: int
    documents: int
    done_now: int
    removed: int
    damaged: int
    skipped: int
    examples: tuple[str, ...]
    tally: Tally
    seconds: float
    pending: str | None

    @property
    def failures(self) -> int:
        return self.tally.failures


def run_shard(
    config: ExpandConfig,
    out: Path,
    shard: int = 0,
    shards: int = 1,
    *,
    update: bool = False,
    retry: frozenset[str] = frozenset(),
    progress: bool = True,
    open_model: Callable[[ModelSettings], Generator] = open_generator,
) -> ShardResult:
    """Do what is missing of one shard (counted from 0) of the store `out`.

    `update` redoes documents whose text has changed; `retry` redoes rows of these statuses. Rows of documents that the
    corpus no longer holds go. Raises InputError (configuration, corpus, a store made otherwise, a canary that does not
    parse, too many failures), EnvironmentFault (the model); what is done is kept.
    """
    if not 0 <= shard < shards <= MOST_SHARDS:
        raise InputError(f"shard {shard + 1}/{shards}: shards count from 1 to at most {MOST_SHARDS:,}")
    task = Task.of(config)
    read = open_collection(config.corpus.source).documents
    make_folder(out)
    identity = task.identity(config, {})
    del identity["model"]  # known once the model is open
    check_job(out, identity, shards)
    with closing(ShardFile(out, shard, shards)) as file:
        found = survey(read, shard, shards, duplicates=config.corpus.duplicates, progress=progress)
        plan = plan_shard(found, file.read(lambda row: row["status"] in retry), file, update=update)
        session = _Session(config, file, found, plan)
        file.add_up(plan.scan)
        if plan.todo.any() or read_job(out) is None:
            with session.told(), closing(open_model(_of_shard(config.model, file))) as generator:
                identity = task.identity(config, generator.identity)
                open_job(out, config, identity, shards)
                session.work(task.with_job(identity), generator, read, progress=progress)
        else:
            _check_finished(out, config, task, file, open_model)
            if plan.removed or plan.damaged or not file.finished or not finished(file):
                with session.told():
                    session.complete()
    write_manifest(out, config, shards)
    return session.result()


def _check_finished(
    out: Path, config: ExpandConfig, task: Task, file: ShardFile, open_model: Callable[[ModelSettings], Generator]
) -> None:
    """Raises InputError where a store that needs nothing more was made otherwise than is asked now."""
    if config.model.backend != "recorded":  # whose replies are read in seconds; a model takes minutes to open
        check_model(out, config)
        return
    with closing(open_model(config.model)) as generator:
        check_job(out, task.identity(config, generator.identity), file.shards)


def _of_shard(model: ModelSettings, file: ShardFile) -> ModelSettings:
    """A batch job writes and reads a folder; shards that run at once need one each."""
    if model.backend != "batch-file" or file.shards == 1 or model.replies is None:
        return model
    return model.model_copy(update={"replies": model.replies / file.final.stem})


class _Session:
    """This process's work on a shard: rows to the file; how far it is to the progress file and to the screen."""

    def __init__(self, config: ExpandConfig, file: ShardFile, found: Survey, plan: Plan) -> None:
        self._config, self._file, self._found, self._plan = config, file, found, plan
        self._work: Work | None = None
        self._progress: Progress | None = None
        self._bar: Any = None
        self._pending: str | None = None

    @contextmanager
    def told(self) -> Generator_[None]:
        """Tell the progress file from before the model is opened, which may take minutes, and how it ended."""
        self._progress = Progress(self._file, {"backend": self._config.model.backend, "gpus": 0, "facts": {}})
        self._tell()
        try:
            yield
        except BaseException as error:
            why = "interrupted" if isinstance(error, KeyboardInterrupt) else f"failed: {error}"
            self._tell(stopped=why[:500])
            raise
        self._tell(stopped="finished" if self._pending is None else "pending")

    def work(self, task: Task, generator: Generator, read: Callable[[], Iterator[Record]], *, progress: bool) -> None:
        """Let the model answer for every document without a row."""
        config, file = self._config, self._file
        assert self._progress is not None
        self._progress.learn(generator.facts)
        self._begin()
        work = Work(task, generator, fit_for(task, generator), config.limits, self._write)
        entries = self._entries(read)
        wanted = config.limits.canary
        canary = wanted if task.live and file.tally.statuses["ok"] < wanted else 0  # a store with good rows has had its
        done = len(self._found) - count(self._plan.todo)
        with tqdm(total=len(self._found), initial=done, desc=file.final.name, unit=" docs", disable=not progress,
                  mininterval=0.5) as bar:  # fmt: skip
            self._work, self._bar = work, bar
            self._pending = work.run(entries, canary=canary)
        if self._pending is None:
            file.finish(self._found.order)

    def complete(self) -> None:
        """Give the file its last form: every document has its row."""
        self._begin()
        self._file.finish(self._found.order)

    def _begin(self) -> None:
        (self._file.final.parent / MANIFEST).unlink(missing_ok=True)  # its totals do not hold any more
        self._file.compact(self._plan.scan)

    def _write(self, row: dict[str, Any]) -> None:
        self._file.append(row)
        self._tell()
        self._bar.update()

    def _tell(self, stopped: str | None = None) -> None:
        work, progress = self._work, self._progress
        assert progress is not None
        usage = Usage() if work is None else work.usage
        told = progress.tell(
            len(self._found),
            self._file.tally,
            done_now=0 if work is None else work.done,
            usage_now=usage,
            skipped=self._found.skipped,
            removed=self._plan.removed,
            stopped=stopped,
        )
        if told and work is not None:
            tokens = (usage.prompt_tokens + usage.completion_tokens) / max(progress.seconds, 1e-9)
            self._bar.set_postfix({"tok/s": f"{tokens:.0f}", "failed": work.failures}, refresh=False)

    def _entries(self, read: Callable[[], Iterator[Record]]) -> Iterator[Entry]:
        """The records without a row, in the order of the corpus. Raises InputError where it is another by now."""
        found, todo = self._found, self._plan.todo
        entries = (e for e in shard_records(read(), self._file.shard, self._file.shards) if not isinstance(e, str))
        number = 0
        for number, entry in enumerate(entries, start=1):
            if number > len(todo) or entry[0] != int(found.hashes[number - 1]):
                break
            if todo[number - 1]:
                yield entry
        else:
            if number == len(todo):
                return
        raise InputError("the corpus changed while the job read it: what is done is kept; run the job again")

    def result(self) -> ShardResult:
        return ShardResult(
            self._file.shard,
            self._file.shards,
            len(self._found),
            0 if self._work is None else self._work.done,
            self._plan.removed,
            self._plan.damaged,
            self._found.skipped,
            self._found.examples,
            self._file.tally,
            0.0 if self._progress is None else self._progress.seconds,
            self._pending,
        )
