"""Where an index stands: what may be replaced by one."""

from __future__ import annotations

from pathlib import Path

from sira.errors import IndexFault
from sira.folders import FolderKind


def _is_index(folder: Path) -> bool:
    return (folder / "manifest.json").is_file() and any(folder.glob("segments_*"))


INDEX = FolderKind("an index", _is_index, IndexFault)
