"""Folders that appear whole or not at all: built beside the target under a hidden name, then renamed.

A builder that was killed leaves its hidden folder; the next builder of the same target removes it, which it can tell
by the lock that died with the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from sira.errors import InputError, SiraError

_log = logging.getLogger(__name__)

_LOCK = ".lock"
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@dataclass(frozen=True, slots=True)
class FolderKind:
    """What a folder may replace: its `name` in messages (with the article), whether a folder is one (what is replaced
    is deleted, so a name that anybody may use is not enough), and the error for one that is not."""

    name: str
    is_one: Callable[[Path], bool]
    fault: type[SiraError]


@contextlib.contextmanager
def owned(folder: Path) -> Generator[None]:
    """Hold a folder, which is made where it is absent, by a lock that dies with the process.

    Raises InputError where another process holds it, or where it cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file: give the name of a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}): choose another folder") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{folder}: another process works in this folder: wait for it, or choose another"
            ) from None
        except OSError as error:  # some network file systems have no locks
            _log.warning("%s: no locks here (%s): see to it that one process alone works in it", folder, error.strerror)
        yield
    finally:
        os.close(lock)


def _hidden(target: Path, what: str) -> str:
    return f".{target.name}.{what}-"


def _remove_stale(target: Path) -> None:
    prefix = _hidden(target, "building")
    for folder in [entry for entry in target.parent.iterdir() if entry.name.startswith(prefix)]:
        with contextlib.suppress(OSError):
            descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


@contextlib.contextmanager
def staging(target: Path, kind: FolderKind, *, overwrite: bool = False) -> Generator[Path]:
    """A new folder beside `target`, which takes its name when the block ends well and vanishes when it does not.

    With `overwrite` an existing target is exchanged in one step, so that a reader finds the old or the new, whole.
    Raises the kind's fault where the target exists and may not be replaced, or cannot be written.
    """
    target = Path(os.path.realpath(target))  # behind a symbolic link it is the folder that is replaced, not the link
    with _write_errors(target, kind):
        _check_target(target, kind, overwrite=overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(target)
        folder, lock = _claim(target)
    try:
        yield folder
        with _write_errors(target, kind):
            _check_target(target, kind, overwrite=overwrite)
            _publish(folder, target)
            (target / _LOCK).unlink()  # held until the folder has its name, lest another builder take it for stale
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _write_errors(target: Path, kind: FolderKind) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise kind.fault(f"{target}: cannot be written ({error.strerror}): choose another folder") from None


def _claim(target: Path) -> tuple[Path, int]:
    """A new hidden folder and its lock; once more where another builder took it for stale before it was locked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_hidden(target, "building"), dir=target.parent))
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (folder / _LOCK).exists():
                folder.chmod(0o777 & ~_umask())
                return folder, lock
            os.close(lock)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _check_target(target: Path, kind: FolderKind, *, overwrite: bool) -> None:
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not target.is_dir():
        raise kind.fault(f"{target}: is a file; {kind.name} is a folder: give another name")
    if not kind.is_one(target):
        raise kind.fault(
            f"{target}: holds other files than {kind.name} of sira's, and is left alone: give another folder"
        )
    if not overwrite:
        raise kind.fault(
            f"{target}: {kind.name} is there already: add --overwrite to replace it, or give another folder"
        )


def _publish(folder: Path, target: Path) -> None:
    if not target.exists() or not any(target.iterdir()):
        folder.rename(target)  # an empty folder is replaced
    elif not _exchange(folder, target):
        aside = Path(tempfile.mkdtemp(prefix=_hidden(target, "old"), dir=target.parent))
        target.rename(aside)
        folder.rename(target)
        shutil.rmtree(aside, ignore_errors=True)
    # after an exchange the old folder lies under the hidden name, which the caller removes


def _exchange(first: Path, second: Path) -> bool:
    """Swap two folders in one step (Linux); False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    return rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0
