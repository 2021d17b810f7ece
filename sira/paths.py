"""Where sira keeps what it can make again: compiled measures, the demonstration's indexes."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """$SIRA_CACHE, else `sira` in $XDG_CACHE_HOME, else ~/.cache/sira. It may not exist yet."""
    if chosen := os.environ.get("SIRA_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sira"
