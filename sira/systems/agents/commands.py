"""From the command line that a model wrote to a pipeline that may be run; everything else is refused.

There is no shell: no variables, no substitution, no redirection, no lists of commands, no background. A line is words
with quotes (as shlex reads them), parted by `|`; patterns of file names are filled in here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from sira.systems.agents.programs import ALLOWED, Refused, read_arguments

MOST_CHARACTERS, MOST_PROGRAMS, MOST_FILES = 2_000, 8, 20_000
_DROPPED = re.compile(r"(?<!\S)2>\s?/dev/null(?=\s|\||$)")
_NEEDS_A_FILE = frozenset(ALLOWED) - {"rg", "ls"}
_SIGNS = {
    ";": "commands one after the other", "&": "background or `&&`", "<": "redirection", ">": "redirection",
    "(": "subshells", ")": "subshells", "`": "substitution", "\n": "more than one line", "\r": "more than one line",
}  # fmt: skip


def read_command(line: str, folder: Path, programs: Collection[str]) -> list[list[str]]:
    """The pipeline of one line: the words of each program, its name first.

    `programs` are those that are there; paths are looked up in `folder`. Raises Refused with one line for the model.
    """
    line = line.strip()
    if not line:
        raise Refused("there is no command")
    if len(line) > MOST_CHARACTERS:
        raise Refused(f"a command has {MOST_CHARACTERS} characters at most")
    if "\0" in line or any("\ud800" <= sign <= "\udfff" for sign in line):
        raise Refused("a command is text without NUL")
    parts = _parts(line)
    if len(parts) > MOST_PROGRAMS:
        raise Refused(f"{MOST_PROGRAMS} programs in one pipe at most")
    return [_program(part, folder, programs, first=place == 0) for place, part in enumerate(parts)]


def _parts(line: str) -> list[list[str]]:
    """The words between the pipes. Signs of a shell outside of quotes are refused, as are substitutions inside of
    double ones; quotes open and close as they do for shlex."""
    cuts: list[int] = []
    quote, at = "", 0
    dropped = {found.start() + 1: found for found in _DROPPED.finditer(line)}
    kept = list(line)
    while at < len(line):
        sign = line[at]
        if quote == "'":
            quote = "" if sign == "'" else quote
        elif sign == "\\":
            at += 1
        elif quote == '"' and sign == '"':
            quote = ""
        elif sign == "`" or (sign == "$" and re.match(r"\$[\w({@*#?!$-]", line[at:])):
            raise Refused("no variables and no substitution here: put a pattern with $ between single quotes")
        elif quote:
            pass
        elif sign in "\"'":
            quote = sign
        elif sign == "|":
            cuts.append(at)
        elif sign == ">" and at in dropped:
            found = dropped[at]
            kept[found.start() : found.end()] = " " * (found.end() - found.start())
            at = found.end() - 1
        elif sign in _SIGNS:
            raise Refused(f"no {_SIGNS[sign]} here: one command, or a pipe of them; quote signs that are meant")
        at += 1
    line = "".join(kept)
    edges = [-1, *cuts, len(line)]
    try:
        return [shlex.split(line[start + 1 : end]) for start, end in pairwise(edges)]
    except ValueError as error:
        raise Refused(f"the quotes do not match ({error})") from None


def _program(words: Sequence[str], folder: Path, programs: Collection[str], *, first: bool) -> list[str]:
    if not words:
        raise Refused("a command is missing beside `|`")
    name = words[0]
    if name not in ALLOWED or name not in programs:
        known = ", ".join(known for known in ALLOWED if known in programs)
        raise Refused(f"{name[:40]!r} is not here: there are {known}")
    row = ALLOWED[name]
    given = read_arguments(name, words[1:])
    paths = [path for word in given.paths for path in _paths(word, folder)]
    options = list(given.options)
    if name == "grep" and given.recursive:
        paths = [file for path in paths or ["."] for file in _files_below(path, folder)]
        if not {"-h", "-H"} & set(options):
            options.append("-H")
    elif first and not paths and name in _NEEDS_A_FILE:
        raise Refused(f"{name}: name a file" + (", or add -r" if name == "grep" else ""))
    if len(paths) > MOST_FILES:
        raise Refused(f"{name}: more than {MOST_FILES} files: name fewer")
    if name == "rg" and first and not paths:
        paths = ["."]
    scripts = [word for pattern in given.patterns for word in ("-e", pattern)]
    return [name, *row.forced, *options, *scripts, "--", *paths]


def _paths(word: str, folder: Path) -> list[str]:
    """The paths that a word names, below the folder; `-` is what comes through the pipe."""
    if word == "-":
        return [word]
    outside = Refused(f"{word[:60]!r} lies outside of the folder: name files below it, such as 000/000.txt")
    if word.startswith(("/", "~")) or ".." in Path(word).parts or not word:
        raise outside
    try:
        found = [word]
        if any(sign in word for sign in "*?[") and not (folder / word).exists():
            found = sorted(str(path.relative_to(folder)) for path in _of_form(word, folder))
        inside = all(_is_inside(folder, path) for path in found)
    except (OSError, ValueError, NotImplementedError, IndexError, re.error):
        found, inside = [], False
    if not found:
        raise Refused(f"{word[:60]!r}: no file is of this form")
    if not inside:
        raise outside
    return found


def _of_form(word: str, folder: Path) -> Iterator[Path]:
    if "**" in word:  # several of them go through the folders once for each way to part them
        raise Refused(f"{word[:60]!r}: no ** here: there is one level of folders")
    return folder.glob(word)


def _is_inside(folder: Path, path: str) -> bool:
    """Whether a path below the folder goes through no link; what is not there is inside."""
    place = folder
    for part in Path(path).parts:
        place /= part
        if place.is_symlink():
            return False
    return True


def _files_below(path: str, folder: Path) -> list[str]:
    """The texts below a path in order, as one would get them by -r: what links lead to is not looked at."""
    place = folder / path
    if not place.is_dir():
        return [path]
    return sorted(str(file.relative_to(folder)) for file in place.rglob("*.txt") if not file.is_symlink())
