"""Folders that appear whole or not at all; without Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from sira.errors import IndexFault
from sira.folders import staging
from sira.lucene.folders import INDEX


def fill(folder: Path, content: str) -> None:
    (folder / "manifest.json").write_text("{}", encoding="utf-8")
    (folder / "segments_1").write_text(content, encoding="utf-8")


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_of_two_builders_the_first_to_end_wins(tmp_path: Path) -> None:
    target = tmp_path / "index"
    with pytest.raises(IndexFault, match="--overwrite"), staging(target, INDEX) as slow:  # noqa: PT012
        fill(slow, "slow")
        with staging(target, INDEX) as quick:
            assert slow.exists()
            fill(quick, "quick")
    assert names(tmp_path) == ["index"]
    assert names(target) == ["manifest.json", "segments_1"]
    assert (target / "segments_1").read_text(encoding="utf-8") == "quick"


def test_with_overwrite_the_last_to_end_wins(tmp_path: Path) -> None:
    target = tmp_path / "index"
    with staging(target, INDEX, overwrite=True) as slow:
        fill(slow, "slow")
        for content in ("first", "second"):
            with staging(target, INDEX, overwrite=True) as quick:
                fill(quick, content)
            assert (target / "segments_1").read_text(encoding="utf-8") == content
    assert names(tmp_path) == ["index"]
    assert names(target) == ["manifest.json", "segments_1"]
    assert (target / "segments_1").read_text(encoding="utf-8") == "slow"


def test_without_an_exchange_of_names_the_result_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sira.folders._exchange", lambda first, second: False)
    for content in ("old", "new"):
        with staging(tmp_path / "index", INDEX, overwrite=True) as folder:
            fill(folder, content)
    assert names(tmp_path) == ["index"]
    assert (tmp_path / "index" / "segments_1").read_text(encoding="utf-8") == "new"


def test_only_hidden_folders_without_an_owner_are_removed(tmp_path: Path) -> None:
    for name in (".index.building-x", ".other.building-x", ".indexx"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    with staging(tmp_path / "index", INDEX) as folder:
        fill(folder, "")
    assert names(tmp_path) == [".indexx", ".other.building-x", "index"]
