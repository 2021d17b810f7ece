"""Workers on a Ray cluster, fed and read by Ray Data: our own generators in a pool of actors.

The reader takes no CPU and stands on the driver's machine, so no pool can starve it and only that machine needs the
corpus. A row of the data set is a whole block of documents on the way out, and all of its rows on the way back.
"""

from __future__ import annotations

import json
import logging
import pickle
import queue
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sira.errors import EnvironmentFault
from sira.expand.arrays import Hashes
from sira.expand.config import ExpandConfig
from sira.expand.distributed import Round, expand_entries
from sira.expand.ray_reading import fault_of, read_blocks
from sira.expand.survey import Entry
from sira.expand.task import Task
from sira.expand.work import Row
from sira.llm import Generator, ModelSettings, open_generator

OpenModel = Callable[[ModelSettings], Generator]

TRIES_AGAIN = 1
"""A block whose worker dies is tried once more, then dropped. Ray's own default is without end."""


@dataclass(frozen=True, slots=True)
class Pool:
    """From 1 to `workers` actors, each with so many CPUs and GPUs; Ray starts more as there is work and room."""

    workers: int = 1
    cpus: float = 1.0
    gpus: float = 0.0


def ray_module() -> Any:
    """Raises EnvironmentFault where Ray Data is not installed."""
    try:
        import_module("ray.data")
    except ImportError as error:
        raise EnvironmentFault(f"Ray Data cannot be imported ({error}): pip install 'ray[data]'") from error
    return import_module("ray")


class RayCluster:
    """A `Cluster` for any backend, over a Ray that is initialised."""

    def __init__(
        self, config: ExpandConfig, pool: Pool, open_model: OpenModel = open_generator, *, stall_seconds: float = 3600.0
    ) -> None:
        self._ray = ray_module()
        self._config, self._pool, self._open_model = config, pool, open_model
        self._stall_seconds = stall_seconds
        self._probe: Any = None
        self._told: dict[str, Any] = {}

    def identity(self) -> Mapping[str, Any]:
        return self.tell("identity")

    def facts(self) -> Mapping[str, Any]:
        return dict(self.tell("facts")) | {
            "ray": str(self._ray.__version__),
            "workers": self._pool.workers,
            "gpus": self._pool.gpus * self._pool.workers,
        }

    def tell(self, name: str) -> Any:
        """An attribute of the generator, such as `context_tokens`."""
        if name not in self._told:
            self._told[name] = self._ask("tell", name)
        return self._told[name]

    def first(self, task: Task, entries: Sequence[Entry], canary: int) -> list[Row]:
        return self._ask("first", task, list(entries), self._config.limits, canary)

    def rows(self, task: Task, todo: Hashes, how: Round) -> Iterator[list[Row]]:
        self.release()
        self.set_context(1)  # every row, a whole block of documents, is a block of Ray's and a task of its own
        documents = self.documents(todo, how.size, read_blocks)
        with (
            warnings.catch_warnings()
        ):  # Ray 2.60 warns of every option of an actor and has no other way to bound retries
            warnings.simplefilter("ignore")
            data = documents.map_batches(
                Worker,
                fn_constructor_args=(self._open_model, self._config, task),
                batch_size=1,
                compute=self.actors(how),
                num_cpus=self._pool.cpus,
                num_gpus=self._pool.gpus,
                max_restarts=-1,
                max_task_retries=TRIES_AGAIN,
            )
        for batch in self.batches(data):
            for answer in batch["answer"]:
                yield rows_of(answer)

    def batches(self, data: Any) -> Iterator[Any]:
        """What comes of a data set, as it comes. Raises EnvironmentFault where nothing does for too long."""
        yield from patient(
            data.iter_batches(batch_size=None, batch_format="numpy", prefetch_batches=1),
            self._stall_seconds,
            f"no worker answered for {self._stall_seconds:g} s; the cluster has {self._resources()} and a worker wants "
            f"{self._pool.cpus:g} CPU and {self._pool.gpus:g} GPU: what is done is kept, run the job again",
        )

    def _warn(self) -> None:
        found = self._ray.cluster_resources()
        if found.get("GPU", 0) < self._pool.gpus or found.get("CPU", 0) < self._pool.cpus:
            logging.getLogger(__name__).warning(
                "the cluster has %s now and a worker wants %g CPU and %g GPU (--worker-cpus, --worker-gpus): "
                "waiting for them to come", self._resources(), self._pool.cpus, self._pool.gpus,
            )  # fmt: skip

    def _resources(self) -> str:
        found = self._ray.cluster_resources()
        return f"{found.get('CPU', 0):g} CPU and {found.get('GPU', 0):g} GPU"

    def release(self) -> None:
        """Let the worker go that answered first: the pool may need its place."""
        if self._probe is not None:
            self._ray.get(self._probe.close.remote())
            self._ray.kill(self._probe)
            self._probe = None

    def actors(self, how: Round) -> Any:
        """The pool. `min_size` 1: a pool that must be whole before it starts waits for ever on a smaller cluster."""
        return self._ray.data.ActorPoolStrategy(
            min_size=1, max_size=self._pool.workers, max_tasks_in_flight_per_actor=1 if how.alone else 2
        )

    def _ask(self, method: str, *arguments: Any) -> Any:
        if self._probe is None:
            self._warn()
            remote = self._ray.remote(num_cpus=self._pool.cpus, num_gpus=self._pool.gpus)
            self._probe = remote(Probe).remote(self._open_model, self._config)
        try:
            answer = self._ray.get(getattr(self._probe, method).remote(*arguments), timeout=self._stall_seconds)
        except self._ray.exceptions.GetTimeoutError:
            raise EnvironmentFault(
                f"the first worker gave no answer in {self._stall_seconds:g} s; the cluster has {self._resources()}, "
                f"and a worker wants {self._pool.cpus:g} CPU and {self._pool.gpus:g} GPU"
            ) from None
        except self._ray.exceptions.RayError as error:
            raise EnvironmentFault(
                f"the first worker died ({' '.join(str(error).split())[:300]}): Ray's log says of what; "
                "run the job again"
            ) from error
        return rows_of(answer) if isinstance(answer, bytes) else answer

    def documents(self, todo: Hashes, size: int, read: Callable[..., Iterator[dict[str, list[bytes]]]]) -> Any:
        """The documents that wait, read from the corpus on this machine as there is room for them."""
        here = self._ray.get_runtime_context().get_node_id()
        return self._ray.data.from_items([{"corpus": self._config.corpus.source}]).map_batches(
            read,
            fn_args=(self._ray.put(todo), size),
            batch_size=1,
            num_cpus=0,
            label_selector={"ray.io/node-id": here},
        )

    def set_context(self, block_bytes: int) -> None:
        context = self._ray.data.DataContext.get_current()
        context.max_errored_blocks = -1  # dropped blocks come again in the next round
        context.target_max_block_size = block_bytes
        context.enable_progress_bars = False


def patient(batches: Iterable[Any], seconds: float, fault: str) -> Iterator[Any]:
    """The items of an iterable that another thread draws; raises EnvironmentFault after so many seconds without one."""
    items: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=2)
    gone = threading.Event()

    def put(kind: str, item: Any) -> bool:
        while not gone.is_set():
            try:
                items.put((kind, item), timeout=0.5)
                return True
            except queue.Full:
                continue
        return False

    def draw() -> None:
        try:
            for batch in batches:
                if not put("item", batch):
                    return
            put("end", None)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            put("error", error)

    threading.Thread(target=draw, daemon=True, name="ray-results").start()
    try:
        while True:
            try:
                kind, item = items.get(timeout=seconds)
            except queue.Empty:
                raise EnvironmentFault(fault) from None
            if kind == "end":
                return
            if kind == "error":
                raise item
            yield item
    finally:
        gone.set()


class Worker:
    """An actor with the model, which is opened with the first block so that what it raises reaches the driver."""

    def __init__(self, open_model: OpenModel, config: ExpandConfig, task: Task) -> None:
        self._open_model, self._config, self._task = open_model, config, task
        self._generator: Generator | None = None

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[bytes]]:
        return {"answer": [self._answer(pickle.loads(block)) for block in batch["block"]]}

    def _answer(self, block: Any) -> bytes:
        try:
            if isinstance(block, Exception):
                raise block
            if self._generator is None:
                self._generator = self._open_model(self._config.model)
            return encoded(expand_entries(self._task, self._generator, block, self._config.limits))
        except Exception as error:  # noqa: BLE001 - Ray would drop it as it drops a block
            return pickle.dumps(fault_of(error))


class Probe:
    """The worker that says what the model is and answers for the first documents, before the pool starts."""

    def __init__(self, open_model: OpenModel, config: ExpandConfig) -> None:
        self._open_model, self._config = open_model, config
        self._opened: Generator | None = None

    @property
    def _generator(self) -> Generator:
        if self._opened is None:
            self._opened = self._open_model(self._config.model)
        return self._opened

    def tell(self, name: str) -> Any:
        return self._try(lambda: getattr(self._generator, name))

    def first(self, task: Task, entries: list[Entry], limits: Any, canary: int) -> Any:
        return self._try(lambda: encoded(expand_entries(task, self._generator, entries, limits, canary)))

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def _try(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - the driver raises it
            return pickle.dumps(fault_of(error))


def encoded(rows: list[Row]) -> bytes:
    """Rows for the way back; ASCII, as a docid may hold what UTF-8 cannot."""
    return json.dumps(rows, ensure_ascii=True).encode()


def rows_of(answer: bytes) -> list[Row]:
    """The rows of an answer. Raises what the worker raised."""
    if answer.startswith(b"["):
        return json.loads(answer)
    raise pickle.loads(answer)
