"""The indexes of a server by name: opened when first asked for, and exchanged when a new build stands in the folder."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sira.agent.arguments import shown
from sira.errors import IndexFault, InputError, NotFoundError, SiraError
from sira.lucene.builds import build_of
from sira.lucene.reader import Index
from sira.program import Program
from sira.records import Topic
from sira.serve.faults import without_paths
from sira.serve.warming import LAST_SEARCHES, warm_up

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Opened:
    """One open index. `users` are the requests and sessions that hold it; a retired one is closed with the last."""

    name: str
    index: Index
    generation: int
    asked: deque[Program]
    users: int = 0
    retired: bool = False

    def remember(self, program: Program) -> None:
        """A search that was answered, to warm the next build up by it."""
        self.asked.append(program)


@dataclass(slots=True)
class _Slot:
    name: str
    path: Path
    opening: threading.Lock = field(default_factory=threading.Lock)
    current: Opened | None = None
    generation: int = 0
    fault: str | None = None
    """Why the newest build is not in use."""
    asked: deque[Program] = field(default_factory=lambda: deque[Program](maxlen=LAST_SEARCHES))


@dataclass(frozen=True, slots=True)
class SlotState:
    """What may be told of one index without opening it. `generation` counts the builds opened so far."""

    name: str
    loaded: bool
    generation: int
    fault: str | None


class IndexPool:
    """Fulfils every request from the newest build that opened; one that began on an older build ends on it.

    Raises InputError for a name that is none; the folders are looked at when they are first asked for, or by `open`.
    """

    def __init__(self, folders: Mapping[str, Path], topics: Sequence[Topic] = ()) -> None:
        """`topics` are answered by every build before it is used."""
        if not folders:
            raise InputError("there is no index to serve: name at least one folder")
        for name in folders:
            if not NAME.fullmatch(name):
                raise InputError(
                    f"{name!r} cannot be the name of an index: up to 64 letters, digits, and . _ - behind the first; "
                    "give one as NAME=FOLDER"
                )
        self._slots = {name: _Slot(name, path.absolute()) for name, path in folders.items()}
        self._topics = topics
        self._lock = threading.Lock()
        self._closed = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._slots)

    def states(self) -> tuple[SlotState, ...]:
        return tuple(
            SlotState(slot.name, slot.current is not None, slot.generation, slot.fault) for slot in self._slots.values()
        )

    def open(self, name: str) -> None:
        """Open an index now. Raises as `lease`."""
        with self.lease(name):
            pass

    @contextlib.contextmanager
    def lease(self, name: str) -> Generator[Opened]:
        """The newest build for as long as the block runs. Raises NotFoundError for a name that is not served, and
        IndexFault where it cannot be opened."""
        opened = self.acquire(name)
        try:
            with without_paths(self._slots[name].path, name):
                yield opened
        finally:
            self.release(opened)

    def hiding(self, name: str) -> contextlib.AbstractContextManager[None]:
        """What is raised inside calls the index by its name and not by its folder."""
        return without_paths(self._slots[name].path, name)

    def acquire(self, name: str) -> Opened:
        """As `lease`, until `release`."""
        slot = self._slot(name)
        with self._lock:
            if (current := slot.current) is not None:
                current.users += 1
                return current
        with slot.opening:
            if slot.current is None:
                with without_paths(slot.path, name):
                    self._exchange(slot, self._opened(slot))
        return self.acquire(name)

    def release(self, opened: Opened) -> None:
        with self._lock:
            opened.users -= 1
            close = opened.retired and not opened.users
        if close:
            opened.index.close()

    def refresh(self, name: str) -> bool:
        """Look at the folder of an open index; whether a new build took its place. Never raises for the folder's
        faults: the old build stays, and `states` says why."""
        slot = self._slot(name)
        with slot.opening:
            current = slot.current
            if current is None:
                return False
            try:
                with without_paths(slot.path, name):
                    if build_of(slot.path) == current.index.build:
                        slot.fault = None
                        return False
                    opened = self._opened(slot)
            except SiraError as error:
                if slot.fault != str(error):
                    _log.warning("the new build is not used: %s", error)
                slot.fault = str(error)
                return False
            self._exchange(slot, opened)
            _log.info("index %s: build %d is in use", name, opened.generation)
            return True

    def close(self) -> None:
        """Close every index that nobody uses, and the others with their last user."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            idle: list[Opened] = []
            for slot in self._slots.values():
                if slot.current is not None:
                    slot.current.retired = True
                    if not slot.current.users:
                        idle.append(slot.current)
                    slot.current = None
        for opened in idle:
            opened.index.close()

    def _slot(self, name: str) -> _Slot:
        slot = self._slots.get(name)
        if slot is None:
            raise NotFoundError(f"index {shown(name)} is not served here: choose {', '.join(self._slots)}")
        if self._closed:
            raise IndexFault(f"index {name}: the server is closed")
        return slot

    def _opened(self, slot: _Slot) -> Opened:
        """The build that stands in the folder, warmed up. One that fails at that is damaged: it is not used."""
        opened = Opened(slot.name, Index(slot.path), slot.generation + 1, slot.asked)
        try:
            warm_up(opened.index, self._topics, slot.asked)
        except BaseException:
            opened.index.close()
            raise
        return opened

    def _exchange(self, slot: _Slot, opened: Opened) -> None:
        with self._lock:
            if self._closed:  # in between
                old = opened
            else:
                old, slot.current, slot.fault = slot.current, opened, None
                slot.generation = opened.generation
            if old is not None:
                old.retired = True
            close = old is not None and not old.users
        if old is not None and close:
            old.index.close()
