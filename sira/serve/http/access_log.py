"""The access log: one JSON object a line, to stderr or a file that may be moved away under it (logrotate)."""

from __future__ import annotations

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
    """Raises InputError for a file that cannot be written."""

    def __init__(self, path: Path | None, worker: str = "") -> None:
        self._worker, self._closed = worker, False
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
        record = logging.LogRecord("sira.access", logging.INFO, "", 0, "%s", (json.dumps(told),), None)
        self._handler.handle(record)

    def close(self) -> None:
        self._closed = True
        if isinstance(self._handler, logging.FileHandler):
            self._handler.close()
