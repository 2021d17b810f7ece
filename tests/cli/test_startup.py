"""The command line as a whole: what it imports, what it prints where, and its exit statuses."""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from sira import __version__
from sira.cli import main as cli
from sira.errors import IndexFault, InputError, TrecFormatError
from sira.records import Document

MakeIndex = Callable[..., Path]

HEAVY = {
    *("jnius", "jnius_config", "pyserini", "numpy", "pydantic", "scipy", "pandas", "numba"),
    *("ranx", "ir_datasets", "datasets", "matplotlib", "torch", "vllm"),
    *("fastapi", "starlette", "uvicorn", "mcp", "httpx2"),
}


def modules_after(code: str) -> set[str]:
    """The modules that a fresh Python holds after running `code`."""
    code += "\nimport sys; print('\\n' + ' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_imports_nothing_heavy_and_no_command() -> None:
    loaded = modules_after("import sira.cli.main as cli; assert cli.main(['--help']) == 0")
    assert "argparse" in loaded
    assert not loaded & HEAVY
    assert not loaded & {command.module for command in cli.COMMANDS.values()}


def test_import_sira_is_light() -> None:
    assert not modules_after("import sira") & HEAVY


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_a_command_module_is_light_and_keeps_the_table_true(name: str) -> None:
    module = cli.COMMANDS[name].module
    assert not modules_after(f"import {module}") & HEAVY
    assert cli.COMMANDS[name].help == importlib.import_module(module).HELP


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: sira {name}")


@pytest.mark.java
def test_a_search_that_asks_no_model_waits_for_no_library_of_models(make_index: MakeIndex) -> None:
    path = make_index([Document("d1", "raku kiln")])
    for more in ([], ["--phrase", "raku"]):
        command = ["search", "kiln", "--index", str(path), *more]
        loaded = modules_after(f"import sira.cli.main as cli; assert cli.main({command!r}) == 0")
        assert not loaded & {"pydantic", "numpy", "openai", "ranx"}


def test_help_goes_to_stdout_and_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    out, err = capsys.readouterr()
    assert all(f"\n    {name} " in out for name in cli.COMMANDS)
    assert err == ""


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"sira {__version__}\n"


@pytest.mark.parametrize("argv", [[], ["serch"], ["--colour"], ["doctor", "--jsn"]])
def test_wrong_usage_is_status_2_on_stderr(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: sira")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], int]], None]:
    """Put a command `try` into the table whose `run` calls the given function."""

    def install(body: Callable[[], int]) -> None:
        def add_arguments(parser: argparse.ArgumentParser) -> None:
            parser.add_argument("--k", type=int, default=10)

        module = ModuleType("sira.cli.try_command")
        vars(module).update(HELP="tries", add_arguments=add_arguments, run=lambda arguments: body())
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(cli.COMMANDS, "try", cli.Command(module.__name__, "tries"))

    return install


def raising(error: BaseException) -> Callable[[], int]:
    def body() -> int:
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (InputError("k = 0: give 1 or more"), 2, "sira: error: k = 0: give 1 or more"),
        (TrecFormatError("a.run", 3, "five columns"), 2, "sira: error: a.run, line 3: five columns"),
        (IndexFault("ix is no index"), 1, "sira: error: ix is no index"),
        (IndexFault("two\nlines"), 1, "sira: error: two lines"),
        (
            FileNotFoundError(2, "No such file or directory", "docs.jsonl"),
            1,
            "sira: error: docs.jsonl: No such file or directory",
        ),
        (
            ModuleNotFoundError("No module named 'ranx'", name="ranx"),
            1,
            "sira: error: the package 'ranx' is not installed: `sira doctor` names the command that installs it",
        ),
        (
            ZeroDivisionError("by zero"),
            1,
            "sira: error: ZeroDivisionError: by zero (a fault of sira's; --debug shows where)",
        ),
        (KeyboardInterrupt(), 130, "sira: interrupted"),
    ],
)
def test_errors_are_one_line_and_a_status(
    error: BaseException,
    status: int,
    line: str,
    command: Callable[[Callable[[], int]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    command(raising(error))
    assert cli.main(["try"]) == status
    out, err = capsys.readouterr()
    assert (out, err) == ("", line + "\n")


@pytest.mark.parametrize("argv", [["--debug", "try"], ["try", "--debug"], ["--debug", "try", "--k", "3"]])
def test_debug_shows_the_traceback_before_the_line(
    argv: list[str], command: Callable[[Callable[[], int]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    command(raising(IndexFault("ix is no index")))
    assert cli.main(argv) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback")
    assert lines[-1] == "sira: error: ix is no index"


def test_the_status_of_the_command_is_that_of_sira(command: Callable[[Callable[[], int]], None]) -> None:
    command(lambda: 7)
    assert cli.main(["try"]) == 7


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
@pytest.mark.parametrize("argument", ["doctor", "--help"])
def test_a_reader_that_went_away_is_no_error(argument: str) -> None:
    # Buffered, as in a shell: unbuffered, argparse itself drops what nobody reads.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-m", "sira", argument], stdout=write_end, stderr=subprocess.PIPE, env=variables, check=False
    )
    os.close(write_end)
    assert done.stderr == b""
    assert done.returncode == 141
