"""The command `sira`: picks the subcommand, imports only its module, and turns errors into one line and an exit status.

A command is a module with `HELP: str` (one line), `add_arguments(parser) -> None` and `run(arguments) -> int`.
Results go to stdout; logs and progress to stderr.

Exit status: 0 done; 1 failed; 2 wrong usage or an input that cannot be used; 130 interrupted (Ctrl-C);
141 the reader of stdout went away.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NamedTuple, Protocol, cast

from sira import __version__
from sira.errors import InputError, SiraError

FAILED, MISUSED, INTERRUPTED, READER_GONE = 1, 2, 130, 141


class Command(NamedTuple):
    """A row of the table: `help` repeats the module's HELP, so that `sira --help` need not import the module."""

    module: str
    help: str


COMMANDS: dict[str, Command] = {
    "doctor": Command("sira.cli.doctor", "say what this machine has, what it lacks, and the command that mends it"),
    "demo": Command("sira.cli.demo", "search Python's own documentation by meaning, on recorded replies"),
    "expand": Command("sira.cli.expand", "let a language model propose search phrases for each document of a corpus"),
    "status": Command("sira.cli.status", "show how far an expansion job is, by shard, and how long it will take"),
    "inspect": Command("sira.cli.inspect", "show what an expansion store holds: statuses, phrases, samples"),
    "index": Command("sira.cli.index", "build an index from a corpus and its expansions"),
    "filter": Command("sira.cli.filter", "drop the proposed phrases that are known, common or forbidden"),
    "search": Command("sira.cli.search", "search an index: plain BM25, or with sketches"),
    "fuse": Command("sira.cli.fuse", "fuse TREC runs of any origin into one, by ranks or by scores"),
    "dense": Command("sira.cli.dense", "rank a collection by an embedding model, into a TREC run"),
    "sketch": Command("sira.cli.sketch", "let a language model sketch the evidence for each topic, into a file"),
    "compile": Command("sira.cli.compile", "turn a sketch into a program and show the verdict on each phrase"),
    "explain": Command("sira.cli.explain", "explain a search, or what each clause gave to the score of one document"),
    "categories": Command("sira.cli.categories", "build Wikipedia's category graph from dump files, or look a name up"),
    "wikipedia": Command("sira.cli.wikipedia", "make a corpus of Wikipedia's dumps, and check questions against it"),
    "run": Command("sira.cli.run", "run an experiment from a TOML file into a results folder"),
    "compare": Command("sira.cli.compare", "compare TREC runs of any origin: means, tests, topics that differ most"),
    "agent": Command("sira.cli.agent", "let a model answer questions with tools over an index, under a budget"),
    "benchmark": Command("sira.cli.benchmark", "run a benchmark of agent mode from a TOML file"),
    "judge": Command("sira.cli.judge", "let a model judge the answers of an agent run"),
    "report": Command("sira.cli.report", "report on agent runs: recall by layer, accuracy, costs, lost labels"),
    "tune": Command("sira.cli.tune", "choose k1, b, lambda, tau or w_e on a development split, by cross-validation"),
    "serve": Command(
        "sira.cli.serve", "serve indexes, the compiler and the paged tools over HTTP and MCP, with a page to look at"
    ),
    "mcp": Command("sira.cli.mcp", "serve the tools over an index to an MCP client, on stdin and stdout"),
    "prompts": Command("sira.cli.prompts", "list the prompts, show one, or show the messages that it makes of a text"),
}


class CommandModule(Protocol):
    """What a command's module offers."""

    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


def build_parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of `sira` and those of its commands, these still without arguments of their own."""
    parser = argparse.ArgumentParser(
        prog="sira",
        description="Search with a frozen language model, with the inverted index as judge of every word it proposes.",
        epilog="`sira COMMAND --help` tells more. Start with `sira demo`; when something is amiss, `sira doctor`.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"sira {__version__}")
    parser.add_argument("--debug", action="store_true", help="show tracebacks and more of the log")
    choices = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    parsers: dict[str, argparse.ArgumentParser] = {}
    for name, command in COMMANDS.items():
        parsers[name] = choices.add_parser(name, help=command.help, description=command.help, allow_abbrev=False)
        # Accepted after the command too; SUPPRESS, lest its default undo a --debug given before.
        parsers[name].add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return parser, parsers


def load(name: str) -> CommandModule:
    """Import the module of one command."""
    return cast(CommandModule, importlib.import_module(COMMANDS[name].module))


def chosen(argv: Sequence[str]) -> str | None:
    """The command that `argv` names: its first word that is no option (no global option takes a value)."""
    word = next((argument for argument in argv if not argument.startswith("-")), None)
    return word if word in COMMANDS else None


def execute(argv: Sequence[str]) -> int:
    """Parse and run. Raises whatever the command raises, and SystemExit from argparse."""
    parser, parsers = build_parser()
    name = chosen(argv)
    command = load(name) if name else None
    if name and command:
        command.add_arguments(parsers[name])
    arguments = parser.parse_args(argv)
    if command is None:
        parser.print_help(sys.stderr)
        return MISUSED
    set_up_streams(debug=arguments.debug)
    return command.run(arguments)


def set_up_streams(*, debug: bool) -> None:
    """Logs go to stderr, one line each; stdout writes any text, whatever the locale."""
    logging.basicConfig(stream=sys.stderr, format="sira: %(message)s", level=logging.WARNING)
    logging.getLogger("sira").setLevel(logging.DEBUG if debug else logging.INFO)
    reconfigure = getattr(sys.stdout, "reconfigure", None)  # absent where a test or an editor has put its own
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def report(error: BaseException, *, debug: bool) -> None:
    """One line on stderr, after the traceback where that is wanted."""
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, SiraError):
        text = str(error)
    elif isinstance(error, ModuleNotFoundError) and error.name and error.name.split(".")[0] != "sira":
        text = f"the package {error.name!r} is not installed: `sira doctor` names the command that installs it"
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        text = f"{type(error).__name__}: {error} (a fault of sira's; --debug shows where)"
    print("sira: error:", " ".join(text.split()), file=sys.stderr)


def leave_stdout() -> None:
    """Point stdout nowhere, so that Python's last flush does not complain about the reader that is gone."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv: Sequence[str] | None = None) -> int:
    """Run `sira` with these arguments (by default those of the process); returns the exit status, raises nothing."""
    argv = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in argv
    try:
        try:
            status = execute(argv)
        except SystemExit as leaving:  # argparse: --help, --version, wrong usage
            status = leaving.code if isinstance(leaving.code, int) else FAILED
        sys.stdout.flush()  # here, where a reader that is gone can be told from a failure
    except BrokenPipeError:
        leave_stdout()
        return READER_GONE
    except KeyboardInterrupt:
        print("sira: interrupted", file=sys.stderr)
        return INTERRUPTED
    except InputError as error:
        report(error, debug=debug)
        return MISUSED
    except Exception as error:  # noqa: BLE001 - the last line of defence
        report(error, debug=debug)
        return FAILED
    return status


if __name__ == "__main__":
    sys.exit(main())
