"""What `pip install .` gives to ordinary users: the files in the wheel and what it asks for."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("sira-*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode("utf-8"))


def test_every_file_of_the_package_is_in_the_wheel_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "sira").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    prompts = {
        f"sira/_prompts/{path.relative_to(ROOT / 'prompts').as_posix()}"
        for path in (ROOT / "prompts").rglob("*")
        if path.is_file()
    }
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert prompts
    assert {name for name in package if name.endswith(".jar")}
    assert shipped == package | prompts


def test_the_core_is_light(metadata: Message) -> None:
    asked = metadata.get_all("Requires-Dist") or []
    core = [line for line in asked if "extra ==" not in line]
    assert sorted(line.split(">")[0].split("<")[0] for line in core) == ["numpy", "pydantic", "tqdm"]
    assert metadata["Requires-Python"] == ">=3.11"


def test_the_engine_needs_python_3_12(metadata: Message) -> None:
    engine = [line for line in metadata.get_all("Requires-Dist") or [] if "extra == 'lucene'" in line]
    assert len(engine) == 3
    assert all("python_version >= '3.12'" in line for line in engine)


def test_the_command(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt"))
    assert "sira = sira.cli.main:main" in wheel.read(name).decode("utf-8")
