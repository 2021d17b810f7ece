"""How far each shard of a store is: one small file a shard, written by the process that works on it."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from sira.corpora.files import replacing
from sira.expand.shard import ShardFile, Tally
from sira.llm.base import Usage

EVERY_SECONDS = 2.0
HEARTBEAT_SECONDS = 20.0
"""A reply may take minutes: until the next row the file's time of change says that the process lives."""


def now() -> str:
    """UTC, in ISO 8601, to the second."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


def progress_path(final: Path) -> Path:
    """The progress file of a shard's file."""
    return final.with_name(final.name.removesuffix(".jsonl") + ".progress.json")


def read_progress(path: Path) -> dict[str, Any] | None:
    """A shard's progress; None where there is none, or where it cannot be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cast(dict[str, Any], data) if isinstance(data, dict) else None


def finished(file: ShardFile) -> bool:
    """Whether the progress file says so; a kill right after the last row may have kept it from saying it."""
    found = read_progress(progress_path(file.final))
    return found is not None and found.get("finished") is True


class Progress:
    """The progress file of one shard, and this process's session in it."""

    def __init__(self, file: ShardFile, facts: Mapping[str, Any]) -> None:
        self._path = progress_path(file.final)
        self._started = time.monotonic()
        self._written = 0.0
        self._session: dict[str, Any] = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started": now(),
            "updated": now(),
            "seconds": 0.0,
            "done": 0,
            "usage": asdict(Usage()),
            **facts,
            "stopped": None,
        }
        earlier = read_progress(self._path) or {}
        self._data: dict[str, Any] = {"shard": file.shard, "shards": file.shards}
        self._sessions: list[dict[str, Any]] = [*earlier.get("sessions", []), self._session]
        self._ended = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def learn(self, facts: Mapping[str, Any]) -> None:
        """What is known once the model is open: GPUs and versions."""
        facts = dict(facts)
        self._session |= {"gpus": facts.pop("gpus", 0), "facts": facts}

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            with contextlib.suppress(OSError):
                os.utime(self._path)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def tell(
        self,
        documents: int,
        tally: Tally,
        *,
        done_now: int,
        usage_now: Usage,
        skipped: int = 0,
        removed: int = 0,
        stopped: str | None = None,
    ) -> bool:
        """Write the file anew, at most every few seconds unless the session ends here; returns whether it did."""
        if stopped is None and time.monotonic() - self._written < EVERY_SECONDS:
            return False
        self._session |= {
            "updated": now(),
            "seconds": round(self.seconds, 3),
            "done": done_now,
            "usage": asdict(usage_now),
            "stopped": stopped,
        }
        self._data |= {
            "documents": documents,
            "done": tally.rows,
            "skipped": skipped,
            "removed": removed,
            "statuses": dict(sorted(tally.statuses.items())),
            "dropped": dict(sorted(tally.dropped.items())),
            "phrases": tally.phrases,
            "cut": tally.cut,
            "retried": tally.retried,
            "failures": tally.failures,
            "usage": asdict(tally.usage),
            "finished": stopped == "finished",
            "sessions": self._sessions,
        }
        with replacing(self._path) as stream:
            json.dump(self._data, stream, indent=1)
            stream.write("\n")
        self._written = time.monotonic()
        if stopped is not None:
            self._ended.set()
        return True
