"""scripts/set_up.py: what is taken for complete, what is made again, and what is left alone."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the set-up is for POSIX systems")


@pytest.fixture
def set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, its `.venv` in an empty folder."""
    spec = importlib.util.spec_from_file_location("set_up", ROOT / "scripts" / "set_up.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    venv = tmp_path / ".venv"
    for name, path in {"VENV": venv, "OURS": venv / "made-by-make", "STAMP": venv / "set-up.json"}.items():
        monkeypatch.setattr(module, name, path)
    return module


def test_a_half_made_venv_of_ours_is_made_again(set_up: ModuleType) -> None:
    (set_up.VENV / "lib").mkdir(parents=True)
    set_up.OURS.touch()
    (set_up.VENV / "lib" / "torn.so").write_bytes(b"half a file")
    set_up.make_venv()
    assert not (set_up.VENV / "lib" / "torn.so").exists()
    said = subprocess.run([set_up.VENV / "bin" / "python", "-m", "pip", "--version"], capture_output=True, check=True)
    assert str(set_up.VENV).encode() in said.stdout
    assert set_up.stamp() == {}  # an empty environment is not a complete one


def test_a_venv_of_the_users_own_is_neither_deleted_nor_filled_when_it_does_not_fit(set_up: ModuleType) -> None:
    (set_up.VENV / "bin").mkdir(parents=True)
    python = set_up.VENV / "bin" / "python"
    python.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    python.chmod(0o755)
    with pytest.raises(set_up.SetUpError, match="move it away"):
        set_up.make_venv()
    assert python.exists()


@pytest.mark.skipif(not (3, 12) <= sys.version_info[:2] <= (3, 14), reason="needs a Python that fits")
def test_a_venv_of_the_users_own_that_fits_is_used(set_up: ModuleType) -> None:
    (set_up.VENV / "bin").mkdir(parents=True)
    python = set_up.VENV / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    set_up.make_venv()
    assert python.exists()
    assert not set_up.OURS.exists()


def test_a_torn_stamp_counts_as_none(set_up: ModuleType) -> None:
    set_up.VENV.mkdir()
    for torn in ("", '{"python": "3.1', "[1]"):
        set_up.STAMP.write_text(torn, encoding="utf-8")
        assert set_up.stamp() == {}


def test_the_stamp_tells_python_folder_requirements_and_project_apart(
    set_up: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = set_up.environment_wanted("/usr", "3.13.0")
    assert set_up.environment_wanted("/usr", "3.13.0") == first
    assert set_up.environment_wanted("/opt", "3.13.0") != first
    assert set_up.environment_wanted("/usr", "3.12.1") != first
    changed = tmp_path / "requirements.txt"
    changed.write_text("numpy==2.0.0\n", encoding="utf-8")
    monkeypatch.setattr(set_up, "PACKAGES", changed)
    second = set_up.environment_wanted("/usr", "3.13.0")
    assert {name for name in first if first[name] != second[name]} == {"requirements"}
    monkeypatch.setattr(set_up, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    third = set_up.environment_wanted("/usr", "3.13.0")
    assert {name for name in second if second[name] != third[name]} == {"folder", "project"}


def test_the_number_of_entries_is_that_of_the_file(set_up: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "r.txt"
    file.write_text("a==1 \\\n    --hash=sha256:00\nb-c==2 ; x == 'y' \\\n    --hash=sha256:00\n", encoding="utf-8")
    assert set_up.entries(file) == 2
