"""ranx and numba: imported when first used, their cache in the user's folder, and one lock for the whole process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from sira.errors import EnvironmentFault
from sira.paths import cache_folder

LOCK = Lock()
"""numba's workqueue threads, which ranx chooses, end the process when two threads call compiled code at once."""


def numba_cache_folder() -> Path:
    """Where compiled code is kept: NUMBA_CACHE_DIR, or numba in sira's cache folder."""
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(folder)
    return cache_folder() / "numba"


@cache
def ranx_and_numba() -> tuple[Any, Any]:
    """The two modules. Raises EnvironmentFault where they cannot be imported."""
    try:
        numba: Any = import_module("numba")
        if not numba.config.CACHE_DIR:
            numba.config.CACHE_DIR = str(numba_cache_folder())
        return import_module("ranx"), numba
    except ImportError as error:
        raise EnvironmentFault(
            f"ranx cannot be imported ({error}); `sira doctor` names the command that installs it"
        ) from None
    except OSError as error:  # ranx imports ir_datasets, which makes its folders at import
        raise EnvironmentFault(
            f"ranx cannot be imported: {error}; set IR_DATASETS_HOME to a folder that you may write to"
        ) from None


@contextmanager
def quiet() -> Generator[None]:
    """Without numba's remark on the index of its own parallel loops in ranx's code."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="unsafe cast from uint64 to int64")
        yield
