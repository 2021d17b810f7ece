"""ranx's measures, called on arrays: the only module that imports ranx and numba.

ranx compiles its measures by numba when they are first called. Given dictionaries it also compiles its own hash
tables and sorting (four times the time), hashes docids to floats, and sorts by its own rule; so it gets arrays of
small integers here, already in order. The compiled code is kept in the user's cache folder.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

import numpy as np

from sira.errors import EnvironmentFault
from sira.paths import cache_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

ANNOUNCE_AFTER_S = 1.5

# numba's workqueue threads, which ranx chooses, end the process when two threads call compiled code at once.
_lock = Lock()
_ready: set[str] = set()


def numba_cache_folder() -> Path:
    """Where the compiled measures are kept: NUMBA_CACHE_DIR, or numba in sira's cache folder."""
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(folder)
    return cache_folder() / "numba"


def prepare(kernels: Iterable[str]) -> None:
    """Load measures, compiling them where the cache has none; says so on stderr if that takes long.

    Raises EnvironmentFault if ranx cannot be imported.
    """
    with _lock:
        wanted = set(kernels) - _ready
        if wanted:
            metrics = _ranx_metrics()
            judged = np.ones((1, 1, 2))
            with _announced(), _quiet():
                for kernel in sorted(wanted):
                    getattr(metrics, kernel)(judged, judged, 1, 1)
            _ready.update(wanted)


def score(
    kernel: str, qrels: NDArray[np.float64], run: NDArray[np.float64], k: int, level: int = 1
) -> NDArray[np.float64]:
    """One value a topic of a measure of ranx; k = 0 means the whole ranking, `level` >= 1 the least relevant grade.

    `qrels` has the shape (topics, judged, 2) and holds (document number >= 1, grade), grade descending; `run` has
    (topics, ranks, 2) and holds (document number, score), best rank first. Rows of zeros fill up short lists:
    grade 0 is not relevant, and document 0 is never judged.
    """
    prepare([kernel])
    with _lock:
        return getattr(_ranx_metrics(), kernel)(qrels, run, k, level)


@cache
def _ranx_metrics() -> Any:
    try:
        numba = import_module("numba")
        if not numba.config.CACHE_DIR:
            numba.config.CACHE_DIR = str(numba_cache_folder())
        return import_module("ranx").metrics
    except ImportError as error:
        raise EnvironmentFault(
            f"ranx cannot be imported ({error}); `sira doctor` names the command that installs it"
        ) from None
    except OSError as error:  # ranx imports ir_datasets, which makes its folders at import
        raise EnvironmentFault(
            f"ranx cannot be imported: {error}; set IR_DATASETS_HOME to a folder that you may write to"
        ) from None


@contextmanager
def _announced() -> Generator[None]:
    """Say on stderr what takes so long, if it does: loading from the cache is done before the line is due."""
    text = f"compiling the measures of ranx, once for this machine (10 to 60 s; kept in {numba_cache_folder()})"
    timer = Timer(ANNOUNCE_AFTER_S, lambda: print(text, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _quiet() -> Generator[None]:
    with warnings.catch_warnings():
        # numba remarks on the index of its own parallel loops in ranx's code.
        warnings.filterwarnings("ignore", message="unsafe cast from uint64 to int64")
        yield
