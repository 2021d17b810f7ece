"""What the reader of a Ray job yields: documents that wait for a row, pickled, in blocks or one by one."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import islice
from typing import Any

from sira.cluster.driver import wanted
from sira.corpora.collection import open_collection
from sira.errors import EnvironmentFault, InputError, SiraError
from sira.expand.survey import Entry

Rows = dict[str, list[bytes]]


def read_blocks(batch: Mapping[str, Any], todo: Any, size: int) -> Iterator[Rows]:
    """The documents of `todo` (a reference to hashes), `size` a row."""
    for block in _blocks(batch, todo, size):
        yield {"block": [pickle.dumps(block)]}


def read_documents(batch: Mapping[str, Any], todo: Any, size: int) -> Iterator[Rows]:
    """The documents of `todo`, a row each."""
    for block in _blocks(batch, todo, size):
        yield {"entry": [pickle.dumps(block)] if isinstance(block, SiraError) else list(map(pickle.dumps, block))}


def _blocks(batch: Mapping[str, Any], todo: Any, size: int) -> Iterator[list[Entry] | SiraError]:
    """Lists of entries; a corpus that cannot be read comes as what the driver is to raise."""
    try:
        keys = import_module("ray").get(todo)
        entries = wanted(open_collection(str(batch["corpus"][0])).documents(), keys)
        while block := list(islice(entries, size)):
            yield block
    except Exception as error:  # noqa: BLE001 - Ray would drop it as it drops a block
        yield fault_of(error)


def fault_of(error: Exception) -> SiraError:
    """What the driver is to raise: ours as they are, others named."""
    if isinstance(error, InputError):
        return InputError(str(error))
    if isinstance(error, EnvironmentFault):
        return error
    return EnvironmentFault(f"a worker failed: {type(error).__name__}: {' '.join(str(error).split())[:500]}")
