"""ranx's measures, called on arrays.

ranx compiles its measures by numba when they are first called. Given dictionaries it also compiles its own hash
tables and sorting (four times the time), hashes docids to floats, and sorts by its own rule; so it gets arrays of
small integers here, already in order. The compiled code is kept in the user's cache folder.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

import numpy as np

from sira.search.ranx_library import LOCK, numba_cache_folder, quiet, ranx_and_numba

if TYPE_CHECKING:
    from numpy.typing import NDArray

ANNOUNCE_AFTER_S = 1.5

_ready: set[str] = set()


def prepare(kernels: Iterable[str]) -> None:
    """Load measures, compiling them where the cache has none; says so on stderr if that takes long.

    Raises EnvironmentFault if ranx cannot be imported.
    """
    with LOCK:
        wanted = set(kernels) - _ready
        if wanted:
            metrics = ranx_and_numba()[0].metrics
            judged = np.ones((1, 1, 2))
            with _announced(), quiet():
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
    with LOCK:
        return getattr(ranx_and_numba()[0].metrics, kernel)(qrels, run, k, level)


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
