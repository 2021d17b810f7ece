"""Limits of an endpoint's rate, shared by all episodes of a run: requests and tokens a minute."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sira.agent.clock import Cancelled, Clock, Overdue, SystemClock
from sira.errors import InputError
from sira.records import Turn

WINDOW_S = 60.0
_SLICE_S = 0.2
_CHARACTERS_A_TOKEN = 4


def estimated_tokens(turns: Iterable[Turn]) -> int:
    """Tokens of a prompt, about."""
    letters = sum(
        len(turn.content) + sum(len(call.arguments) for call in getattr(turn, "tool_calls", ())) for turn in turns
    )
    return letters // _CHARACTERS_A_TOKEN


@dataclass(slots=True)
class Admission:
    """A call that was let through: when, and what it takes of the minute (an estimate until it is settled)."""

    at: float
    tokens: int


class Rates:
    """Lets calls through so that no window of a minute holds more than so many of them, or of their tokens.

    A call that alone is above the bound of tokens is let through when the window is empty. Raises InputError for a
    bound below 1.
    """

    def __init__(self, requests: int | None = None, tokens: int | None = None, clock: Clock | None = None) -> None:
        for name, value in (("requests", requests), ("tokens", tokens)):
            if value is not None and value < 1:
                raise InputError(f"rates: {value} {name} a minute: give 1 or more, or leave it out")
        self._requests, self._tokens, self._clock = requests, tokens, clock or SystemClock()
        self._admitted: deque[Admission] = deque()
        self._lock = threading.Lock()

    def admit(self, tokens: int, deadline: float | None, cancelled: Callable[[], bool]) -> Admission:
        """Wait until a call of about so many tokens may go. Raises Overdue, Cancelled."""
        while True:
            with self._lock:
                now = self._clock.now()
                wait = self._wait(now, tokens)
                if wait <= 0:
                    admission = Admission(now, tokens)
                    self._admitted.append(admission)
                    return admission
            if cancelled():
                raise Cancelled
            if deadline is not None and now + wait >= deadline:
                wait = deadline - now  # it cannot go in time; what is left of the time passes
                if wait <= 0:
                    raise Overdue
            self._clock.sleep(min(wait, _SLICE_S))

    def settle(self, admission: Admission, tokens: int) -> None:
        """What the call took in truth."""
        with self._lock:
            admission.tokens = tokens

    def _wait(self, now: float, tokens: int) -> float:
        """Seconds until there is room, or until to look again; 0 or less where there is."""
        while self._admitted and self._admitted[0].at <= now - WINDOW_S:
            self._admitted.popleft()
        if not self._admitted:
            return 0.0
        used = sum(admission.tokens for admission in self._admitted)
        full = self._requests is not None and len(self._admitted) >= self._requests
        if full or (self._tokens is not None and used + tokens > self._tokens):
            return self._admitted[0].at + WINDOW_S - now
        return 0.0
