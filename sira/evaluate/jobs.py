"""Collections in processes of their own, several at a time: each has its own Java.

A child ends when its parent does, however that ends: it watches a pipe that only the parent holds. Cells are whole or
absent, so a child may be killed at any instant. Ctrl-C is the parent's affair; it ends the children.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from tqdm import tqdm

from sira import errors
from sira.corpora.audit import Audit
from sira.errors import EnvironmentFault, SiraError
from sira.evaluate.work import Task, Tell, work_on

_log = logging.getLogger("sira.evaluate")


def run_tasks(tasks: Sequence[Task], jobs: int, tell: Tell) -> dict[str, Audit | None]:
    """Run the tasks, `jobs` at a time, each in a new process; their audits by collection. `tell` gets a line for each
    cell that is finished.

    The first error ends all of them. It is raised as of its kind, and names the collection; what was finished stays.
    """
    waiting, found = list(tasks), dict[str, Audit | None]()
    running: dict[Connection, tuple[Task, BaseProcess]] = {}
    with _ended(running):
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.pop(0)
                receiver, process = _started(task)
                running[receiver] = task, process
            for ready in multiprocessing.connection.wait(list(running)):
                assert isinstance(ready, Connection)
                task, process = running[ready]
                try:
                    kind, *told = ready.recv()
                except EOFError:
                    process.join()
                    raise EnvironmentFault(_vanished(task, process.exitcode)) from None
                if kind == "line":
                    tell(told[0])
                elif kind == "done":
                    found[task.collection] = told[0]
                    process.join()
                    del running[ready]
                    ready.close()
                else:
                    name, text, trace = told
                    _log.debug("%s", trace)
                    raise fault(name)(f"collection {task.collection!r}: {text}")
    return found


def _started(task: Task) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("spawn")  # a forked child could not use Java
    receiver, sender = context.Pipe(duplex=False)
    debug = logging.getLogger("sira").isEnabledFor(logging.DEBUG)
    process = context.Process(target=_child, args=(task, sender, debug), name=f"sira {task.collection}")
    process.start()
    sender.close()  # the child alone holds it, so that its end is seen
    return receiver, process


@contextmanager
def _ended(running: dict[Connection, tuple[Task, BaseProcess]]) -> Generator[None]:
    """Ends the children that are left, where the block ends before they do."""
    try:
        yield
    finally:
        for _, process in running.values():
            process.kill()
        for receiver, (_, process) in running.items():
            process.join()
            receiver.close()


def _child(task: Task, sender: Connection, debug: bool) -> None:
    """The whole life of a child."""
    threading.Thread(target=_watch, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # tqdm's own lock, one for all processes, would be left over where this one is killed.
    tqdm.set_lock(threading.RLock())  # pyright: ignore[reportUnknownMemberType]
    logging.basicConfig(stream=sys.stderr, format="sira: %(message)s", level=logging.WARNING)
    logging.getLogger("sira").setLevel(logging.DEBUG if debug else logging.WARNING)

    def send(*message: Any) -> None:
        with contextlib.suppress(BrokenPipeError):  # of a parent that is gone: the watch ends this process
            sender.send(message)

    try:
        send("done", work_on(task, lambda line: send("line", line)))
    except Exception as error:  # noqa: BLE001 - told to the parent, which raises it
        text = str(error) if isinstance(error, SiraError) else f"{type(error).__name__}: {error}"
        send("error", type(error).__name__, text, traceback.format_exc())
    sender.close()


def _watch() -> None:
    """Ends this process when the parent is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def fault(name: str) -> type[SiraError]:
    """The kind of error of that name, or the nearest above it that takes a message alone."""
    found = getattr(errors, name, SiraError)
    kinds = (kind for kind in found.__mro__ if issubclass(kind, SiraError))
    return next(kind for kind in kinds if kind.__init__ is SiraError.__init__)


def _vanished(task: Task, status: int | None) -> str:
    how = signal.Signals(-status).name if status is not None and status < 0 else f"status {status}"
    return (
        f"collection {task.collection!r}: its process ended with {how} and told nothing: memory may be short, so try "
        "fewer --jobs, or a smaller SIRA_JAVA_HEAP"
    )
