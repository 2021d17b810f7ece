"""How long to wait before a call is tried again."""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Mapping

MAX_WAIT_S = 120.0
"""A longer Retry-After is cut to this."""

_FIRST_WAIT_S, _LONGEST_BACKOFF_S = 0.5, 8.0


def wait_s(attempt: int, headers: Mapping[str, str]) -> float:
    """Seconds to wait after a failed attempt (the first is 0): what Retry-After asks for, a number or a date, or else
    twice as long each time, with jitter."""
    asked = headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(asked).timestamp() - time.time()
        except (ValueError, OverflowError):
            return min(_LONGEST_BACKOFF_S, _FIRST_WAIT_S * 2 ** min(attempt, 10)) * random.uniform(0.75, 1.0)
    return min(max(0.0, seconds), MAX_WAIT_S)
