"""What a service raises beside the errors of `sira.errors`: it is busy, too slow, or about to leave."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sira.errors import NotFoundError, SiraError


class Busy(SiraError):
    """All places are taken; a client may ask again in `retry_after_s` whole seconds."""

    def __init__(self, text: str, retry_after_s: int = 1) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class TimedOut(SiraError):
    """The bound of time of one request was reached; what ran for it is left to itself."""


class Gone(SiraError):
    """The client gave the request up."""


class Closing(SiraError):
    """The server is shutting down and begins nothing new."""


class SessionGone(NotFoundError):
    """A session that is not here: it expired, was closed, or never was."""


class NoSuchTool(SessionGone):
    """A tool that the session does not have."""


_PATH = re.compile(r"(?<![\w/.:])/(?:[^\s/:'\"]+/)+[^\s:'\"]*")


@contextmanager
def without_paths(folder: Path, name: str) -> Generator[None]:
    """In what goes through, the folder of an index is called by the index's name: no path of the server is told."""
    try:
        yield
    except SiraError as error:
        error.args = (hidden(str(error), folder, name),)
        raise


def hidden(text: str, folder: Path, name: str) -> str:
    """`folder` is absolute: a relative one, such as `a`, would stand in any word."""
    for path in dict.fromkeys((str(folder), str(folder.resolve()))):
        whole = rf"(?<![\w.-]){re.escape(path)}(?![\w-])"
        text = re.sub(rf"--index {whole}", "--index DIR", text)
        text = re.sub(whole, f"index {name}", text)
    return text


def without_any_path(text: str, known: Sequence[str] = ()) -> str:
    """For faults of the machine, in which no word is the client's: whatever looks like an absolute path goes."""
    for path in known:
        text = text.replace(path, "…")
    return _PATH.sub("…", text)
