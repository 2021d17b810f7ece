"""The bounds of one server, all with a default; what lies beyond is refused with the bound in the answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from sira.errors import InputError


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one request: `body_bytes` and `json_depth` of its JSON; `k`, the depth of a search; `explain_k`, of an
    explained one; `query_characters` of a query or topic; `program_characters` of a program as text; `clauses` of a
    program, and `clause_words` of one of them;
    `phrases` of a sketch (facets and ranges count) and `phrase_characters`; `batch` searches; `docids` to
    explain; `terms` asked for; `lines` and `page_bytes` of a page of a document.

    Of time, in seconds: `search_s` from the request to its answer, the wait for a place included; `sketch_s`, for a
    model's sketch; `body_s`, for a client to send its request, `write_s`, to take the next 64 KB of the answer;
    `shutdown_s`, for running requests when the server leaves.

    Of the server: `threads` that search at a time; `queue`, requests that may wait for one of them, and beyond them the
    answer is 429 at once; `model_threads` and `model_queue`, the same for the model; `sessions` at a time, which
    expire `session_s` after their last call.
    """

    body_bytes: int = 1 << 20
    json_depth: int = 32
    k: int = 1000
    explain_k: int = 100
    query_characters: int = 10_000
    program_characters: int = 100_000
    clauses: int = 2_000
    clause_words: int = 500
    phrases: int = 1_000
    phrase_characters: int = 1_000
    batch: int = 100
    docids: int = 20
    terms: int = 50
    lines: int = 2_000
    page_bytes: int = 1 << 20
    search_s: float = 10.0
    sketch_s: float = 60.0
    body_s: float = 10.0
    write_s: float = 30.0
    shutdown_s: float = 15.0
    threads: int = 0
    """0: as many as the machine has cores."""
    queue: int = 64
    model_threads: int = 1
    model_queue: int = 8
    sessions: int = 256
    session_s: float = 1800.0

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            least = 0 if item.name in ("threads", "queue", "model_queue") else 1
            if item.type == "int" and not least <= value <= 2**31 - 1:
                raise InputError(f"limits: {item.name} = {value}: give a whole number from {least}")
            if item.type == "float" and not 0 < value <= 86_400 * 365:
                raise InputError(f"limits: {item.name} = {value}: give seconds, above 0")

    @property
    def searching_threads(self) -> int:
        return self.threads or os.cpu_count() or 1

    def to_json(self) -> Mapping[str, Any]:
        return {**asdict(self), "threads": self.searching_threads}
