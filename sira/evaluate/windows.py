"""What the query-side gate kept and dropped, counted from the verdicts of stored programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sira.records import Outcome


@dataclass(frozen=True, slots=True)
class Windows:
    """Verdicts of one system over all topics. `kept` and `dropped`: df -> windows; `outcomes`: verdict -> windows.

    `unlooked` windows fell before their df was looked up, so that they are in `outcomes` alone.
    """

    kept: Mapping[int, int]
    dropped: Mapping[int, int]
    outcomes: Mapping[str, int]
    unlooked: int


def stored_windows(path: Path) -> Windows:
    """Count the verdicts of a cell's programs, one program a line."""
    kept, dropped, outcomes = Counter[int](), Counter[int](), Counter[str]()
    unlooked = 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            for verdict in json.loads(line)["verdicts"]:
                outcomes[verdict["outcome"]] += 1
                if verdict["df"] is None:
                    unlooked += 1
                else:
                    (kept if verdict["outcome"] == Outcome.KEPT else dropped)[verdict["df"]] += 1
    return Windows(kept, dropped, dict(outcomes.most_common()), unlooked)
