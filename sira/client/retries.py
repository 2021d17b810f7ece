"""Whether and when a call is made again. Off unless asked for; bounded in number and in time."""

from __future__ import annotations

import random
from dataclasses import dataclass

from sira.client.errors import BusyError, Problem, UnavailableError, UnreachableError
from sira.errors import InputError

NO_ADVICE_S = 1.0
"""The first wait where the server does not say when to come again; it doubles."""
SPREAD = 0.25
"""Waits are longer by up to this share, so that clients that were refused together do not come back together."""


@dataclass(frozen=True, slots=True)
class Retries:
    """`times` a call is made again where the server has begun nothing: after 429, after 503 with Retry-After or from
    what stands before the server, and where no connection came about; and, for calls that do no harm twice, after a
    connection that broke. A wait beyond `longest_s` is not waited for."""

    times: int = 0
    longest_s: float = 10.0

    def __post_init__(self) -> None:
        if not 0 <= self.times <= 100 or not 0 < self.longest_s <= 3600:
            raise InputError(f"retries {self.times}, {self.longest_s} s: give 0 to 100, and seconds from 0 to 3600")

    def wait_s(self, error: Problem, tried: int, *, repeatable: bool) -> float | None:
        """Seconds until the call is made again after `tried` tries (from 1); None: raise the error."""
        if tried > self.times or not _passes(error, repeatable=repeatable):
            return None
        told = error.retry_after_s
        wait = told if told is not None else NO_ADVICE_S * 2 ** (tried - 1)
        return None if wait > self.longest_s else wait * (1 + SPREAD * random.random())


def _passes(error: Problem, *, repeatable: bool) -> bool:
    """Whether waiting may mend it, and asking again does no harm."""
    if isinstance(error, UnreachableError):
        return repeatable or not error.sent
    if isinstance(error, UnavailableError):  # an index or a model that is not there stays away
        return error.retry_after_s is not None or error.kind is None
    return isinstance(error, BusyError)
