"""The access log: one JSON object a line, to stderr or a file that may be moved away under it (logrotate)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import logging.handlers
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sira.errors import InputError


class _Stream(logging.StreamHandler[Any]):
    def handleError(self, record: logging.LogRecord) -> None:
        """Nothing: a line that cannot be written is lost."""


class _File(logging.handlers.WatchedFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        """Nothing: a line that cannot be written is lost."""


class AccessLog:
    """Raises InputError for a file that cannot be written. The lines of one step of the event loop are written by one
    call, after the answers."""

    def __init__(self, path: Path | None, worker: str = "") -> None:
        self._worker, self._closed = worker, False
        self._lines: list[str] = []
        try:
            self._handler: _Stream | _File = (
                _Stream(sys.stderr) if path is None else _File(path, encoding="utf-8", errors="backslashreplace")
            )
        except OSError as error:
            raise InputError(f"{path}: the access log cannot be written ({error.strerror}): give another") from None
        self._handler.setFormatter(logging.Formatter("%(message)s"))

    def write(self, line: Mapping[str, Any]) -> None:
        """A full disk loses lines, and nothing else. Behind `close` nothing is written."""
        if self._closed:
            return
        told = {**line, "worker": self._worker, "pid": os.getpid()} if self._worker else line
        if not self._lines:
            asyncio.get_running_loop().call_soon(self._flush)
        self._lines.append(json.dumps(told))

    def _flush(self) -> None:
        if self._lines:
            text = "\n".join(self._lines)
            self._lines.clear()
            self._handler.handle(logging.LogRecord("sira.access", logging.INFO, "", 0, "%s", (text,), None))

    def close(self) -> None:
        self._closed = True
        self._flush()
        if isinstance(self._handler, logging.FileHandler):
            with contextlib.suppress(OSError):  # a full disk: the last lines are lost, too
                self._handler.close()
