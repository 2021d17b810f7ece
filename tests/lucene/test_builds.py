"""Which build of an index a reader finds while another takes its place."""

from __future__ import annotations

import itertools
import shutil
import threading
import time
from pathlib import Path

import pytest

from sira.errors import IndexFault
from sira.folders import FolderKind, staging
from sira.lucene.builds import build_of
from sira.lucene.reader import Index
from sira.records import Document
from tests.conftest import MakeIndex

pytestmark = pytest.mark.java
KIND = FolderKind("an index", lambda _: True, IndexFault)


def test_an_index_that_is_exchanged_opens_as_one_build(make_index: MakeIndex, tmp_path: Path) -> None:
    """Files of two builds together are no index, and a manifest of the one says nothing of the other."""
    builds = [make_index([Document(f"{number}", "glaze") for number in range(size)]) for size in (1, 3)]
    folder, stop = tmp_path / "index", threading.Event()
    shutil.copytree(builds[0], folder)

    def exchange() -> None:
        for build in itertools.cycle(builds):
            with staging(folder, KIND, overwrite=True) as staged:
                shutil.copytree(build, staged, dirs_exist_ok=True)
                (staged / "manifest.json").touch()
            if stop.wait(0.01):
                return

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        found: set[int] = set()
        end = time.monotonic() + 20
        for number in itertools.count():
            with Index(folder) as index:
                assert index.document_count == index.manifest.documents
                found.add(index.document_count)
            if (number >= 500 and len(found) == 2) or time.monotonic() > end:
                break
    finally:
        stop.set()
        thread.join()
    assert found == {1, 3}


def test_a_fault_of_an_index_that_nobody_exchanges_is_told_at_once(make_index: MakeIndex) -> None:
    folder = make_index([Document("a", "glaze")])
    build = build_of(folder)
    segments = next(folder.glob("segments_*"))
    segments.write_bytes(segments.read_bytes()[:-1] + b"?")
    assert build_of(folder) == build
    with pytest.raises(IndexFault, match="Lucene cannot open it"):
        Index(folder)
