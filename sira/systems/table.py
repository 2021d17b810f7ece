"""The table of systems: a kind in the TOML, and what makes a system of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sira.compile import CompileSettings
from sira.errors import InputError
from sira.records import Sketch
from sira.systems.base import System
from sira.systems.bm25 import Bm25
from sira.systems.sira import Sira, shuffled


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """What an experiment says of one system; `sketches` are those of the collection under the name it asks for."""

    settings: CompileSettings
    sketches: Mapping[str, Sketch] | None = None
    shuffle_sketches: bool = False


def _bm25(options: SystemOptions) -> System:
    if options.sketches is not None:
        raise InputError('kind = "bm25" takes no sketches: use kind = "sira"')
    return Bm25(options.settings.scoring)


def _sira(options: SystemOptions) -> System:
    if options.sketches is None:
        raise InputError('kind = "sira" needs sketches: name one of the collection\'s [collections.sketches]')
    return Sira(options.settings, shuffled(options.sketches) if options.shuffle_sketches else options.sketches)


KINDS: Mapping[str, Callable[[SystemOptions], System]] = {"bm25": _bm25, "sira": _sira}


def make_system(kind: str, options: SystemOptions) -> System:
    """Raises InputError for an unknown kind (listing the known ones) or for options that do not fit it."""
    if kind not in KINDS:
        raise InputError(f"system kind {kind!r} is not known: choose one of {', '.join(KINDS)}")
    return KINDS[kind](options)


__all__ = ["KINDS", "System", "SystemOptions", "make_system"]
