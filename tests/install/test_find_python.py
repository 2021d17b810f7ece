"""scripts/find-python and scripts/set-up on machines with none, failing or several Pythons."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIND = ROOT / "scripts" / "find-python"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX shell scripts")


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


class Machine:
    """A PATH with the shell's own tools and no Python, and an empty pyenv."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.pyenv = folder / "bin", folder / "pyenv"
        self.bin.mkdir()
        self.pyenv.mkdir()
        for tool in ("sh", "ls", "sed", "sort", "dirname"):
            found = shutil.which(tool)
            assert found is not None
            (self.bin / tool).symlink_to(found)

    def run(self, command: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        variables = {"PATH": str(self.bin), "PYENV_ROOT": str(self.pyenv), "HOME": str(self.pyenv), **variables}
        return subprocess.run([command], env=variables, capture_output=True, text=True, check=False, timeout=60)

    def pyenv_python(self, version: str, body: str) -> Path:
        return script(self.pyenv / "versions" / version / "bin" / "python", body)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


ANSWERS = 'echo "$0"'
"""A stand-in for a Python that passes the check: it names itself, as the check does."""

BROKEN_SHIM = 'echo "pyenv: $0: command not found" >&2; exit 127'


def test_without_any_python_one_line_says_what_to_install(machine: Machine) -> None:
    done = machine.run(FIND)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "3.12" in line
    assert "install" in line


def test_set_up_without_any_python_says_that_line_and_makes_nothing(machine: Machine, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / "scripts", checkout / "scripts")
    done = machine.run(checkout / "scripts" / "set-up")
    assert done.returncode == 1
    assert done.stderr == machine.run(FIND).stderr
    assert not (checkout / ".venv").exists()


@pytest.mark.skipif(not (3, 12) <= sys.version_info[:2] <= (3, 14), reason="needs to run under a Python that fits")
def test_a_failing_shim_is_passed_over_for_a_real_python(machine: Machine) -> None:
    script(machine.bin / "python3.14", BROKEN_SHIM)
    script(machine.bin / "python3.12", f'exec "{sys.executable}" "$@"')
    done = machine.run(FIND)
    assert (done.returncode, done.stderr) == (0, "")
    # The interpreter behind the virtual environment that the tests run in: that one may be about to be replaced.
    assert Path(done.stdout.strip()).resolve() == Path(sys._base_executable).resolve()  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("version", "status"), [((3, 11, 7), 1), ((3, 12, 0), 0), ((3, 13, 5), 0), ((3, 14, 2), 0), ((3, 15, 0), 1)]
)
def test_only_the_versions_with_pinned_wheels_fit(version: tuple[int, int, int], status: int, machine: Machine) -> None:
    # The check itself decides: it runs under this Python, but sees that version.
    pretence = f"import sys; sys.version_info = {version}"
    script(machine.bin / "python3", f'shift; exec "{sys.executable}" -c "{pretence}\n$1"')
    assert machine.run(FIND).returncode == status


def test_path_comes_before_pyenv_and_newer_before_older(machine: Machine) -> None:
    newest = machine.pyenv_python("3.14.0", ANSWERS)
    assert machine.run(FIND).stdout.strip() == str(newest)
    on_path = script(machine.bin / "python3.12", ANSWERS)
    assert machine.run(FIND).stdout.strip() == str(on_path)


def test_pyenv_versions_are_ordered_by_number_and_each_is_run(machine: Machine) -> None:
    machine.pyenv_python("3.14.0", BROKEN_SHIM)
    machine.pyenv_python("3.13.0t", ANSWERS)  # the free-threaded build: Java's bridge has no wheel for it
    machine.pyenv_python("3.12.9", ANSWERS)
    machine.pyenv_python("3.11.7", ANSWERS)
    right = machine.pyenv_python("3.12.10", ANSWERS)
    assert machine.run(FIND).stdout.strip() == str(right)


def test_the_python_that_is_asked_for_is_taken_or_refused_by_name(machine: Machine) -> None:
    machine.pyenv_python("3.13.1", ANSWERS)
    wanted = script(machine.bin / "mine", ANSWERS)
    assert machine.run(FIND, SIRA_PYTHON="mine").stdout.strip() in ("mine", str(wanted))
    done = machine.run(FIND, SIRA_PYTHON="/no/such/python")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "/no/such/python" in line
