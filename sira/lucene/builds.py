"""Which build of an index stands in a folder."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from sira.errors import IndexFault
from sira.lucene.manifest import FILE

Build = tuple[object, ...]


def build_of(folder: Path) -> Build:
    """What changes with every build and every update of an index. Raises IndexFault where there is no folder."""
    try:
        stat = folder.stat()
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.startswith("segments_"))
    except OSError as error:
        remedy = "put the index back" if error.errno == errno.ENOENT else "let this user read it"
        raise IndexFault(f"{folder}: cannot be read ({error.strerror}): {remedy}") from None
    manifest: tuple[int, ...] = ()
    with contextlib.suppress(OSError):
        found = (folder / FILE).stat()
        manifest = (found.st_ino, found.st_mtime_ns, found.st_size)
    return (stat.st_dev, stat.st_ino, *names, manifest)
