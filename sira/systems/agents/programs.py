"""The programs that a shell agent may run, and which of their options: what is not listed is refused.

Arguments are read as the programs of GNU and ripgrep read them, and written anew in one plain form (short options with
their values as words of their own, then `--`, then the rest), so that a program sees nothing that was not understood
here. Left out on purpose: options that run programs, that write, that read lists of files or patterns from files, that
follow links, that go through packed files, and engines of patterns that can take for ever.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_TEXT = re.compile(r"(?s).{0,500}")
_COUNT = re.compile(r"[0-9]{1,7}")
_SIGNED = re.compile(r"[+-]?[0-9]{1,9}")
_LIST = re.compile(r"[0-9,-]{1,60}")
_KEY = re.compile(r"[0-9.,bdfghinrMV]{1,30}")
_LETTER = re.compile(r"(?s).|\\t")
_SED = re.compile(r"(?:[0-9]{1,9}|\$)(?:,(?:\+?[0-9]{1,9}|\$))?[pdq]|[pd]")
_NAMES_OF_FILES = re.compile(r"[\w.*?/\[\]!-]{1,100}")
MOST_WORDS = 64


class Refused(Exception):
    """A command that is not run; the message is for the model."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one program: options in the plain form, `patterns` (or scripts), and the paths as written.
    `recursive`: grep goes through folders."""

    options: tuple[str, ...]
    patterns: tuple[str, ...]
    paths: tuple[str, ...]
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """What one program takes. `flags` are its short options without a value, `values` those with one and what it may
    be, `long` other spellings of them, `ignored` what is taken and left out, `forced` what it is always given.

    `patterns`: the first argument that is no option is a pattern unless -e gave one. `number`: the option that `-20`
    stands for. `most_paths` bounds the files.
    """

    flags: str
    values: Mapping[str, re.Pattern[str]] = field(default_factory=dict[str, re.Pattern[str]])
    long: Mapping[str, str] = field(default_factory=dict[str, str])
    ignored: frozenset[str] = frozenset()
    forced: tuple[str, ...] = ()
    patterns: bool = False
    number: str | None = None
    most_paths: int | None = None


_MATCHING = {
    "--ignore-case": "-i", "--word-regexp": "-w", "--line-regexp": "-x", "--invert-match": "-v",
    "--fixed-strings": "-F", "--count": "-c", "--files-with-matches": "-l", "--only-matching": "-o",
    "--line-number": "-n", "--regexp": "-e", "--max-count": "-m", "--after-context": "-A", "--before-context": "-B",
    "--context": "-C", "--with-filename": "-H",
}  # fmt: skip
_CONTEXT = {"-e": _TEXT, "-m": _COUNT, "-A": _COUNT, "-B": _COUNT, "-C": _COUNT}
_NO_COLOUR = frozenset({"--color=never", "--color=auto", "--colour=never"})
_ENDS = Program("qv", {"-n": _SIGNED, "-c": _SIGNED}, {"--lines": "-n", "--bytes": "-c", "--quiet": "-q"}, number="-n")

ALLOWED: Mapping[str, Program] = {
    "rg": Program(
        "inNwxvFSsclo" + "HI",
        {**_CONTEXT, "-g": _NAMES_OF_FILES},
        {**_MATCHING, "--smart-case": "-S", "--case-sensitive": "-s", "--no-filename": "-I", "--no-line-number": "-N",
         "--glob": "-g"},
        _NO_COLOUR | {"--no-heading", "-a", "--text", "-u", "-uu", "--no-ignore", "--no-messages", "--sort=path", "-E"},
        # In the order of the files, by one thread: the same command prints the same.
        ("--no-config", "--no-ignore", "--no-heading", "--color=never", "--text", "--no-mmap", "--sort=path"),
        patterns=True,
    ),
    "grep": Program(
        "inwxvFEscloqLhH",
        _CONTEXT,
        {**_MATCHING, "--extended-regexp": "-E", "--no-filename": "-h", "--files-without-match": "-L", "--quiet": "-q",
         "--no-messages": "-s"},
        _NO_COLOUR | {"-a", "--text", "-G"},
        ("--color=never", "--text"),
        patterns=True,
        number="-C",
    ),
    "sed": Program("nEs", {"-e": _TEXT}, {"--quiet": "-n", "--silent": "-n", "--expression": "-e"}, frozenset({"-r"}),
                   ("--sandbox",), patterns=True),
    "head": _ENDS,
    "tail": _ENDS,
    "cut": Program("s", {"-f": _LIST, "-c": _LIST, "-b": _LIST, "-d": _LETTER},
                   {"--fields": "-f", "--characters": "-c", "--bytes": "-b", "--delimiter": "-d"}),
    "sort": Program(
        "nrufbghVsMd",
        {"-k": _KEY, "-t": _LETTER},
        {"--numeric-sort": "-n", "--reverse": "-r", "--unique": "-u", "--ignore-case": "-f", "--key": "-k",
         "--field-separator": "-t"},
        # What does not fit the memory would go to a file: there is no place for one.
        forced=("--buffer-size=64M", "--parallel=1", "--temporary-directory=/dev/null"),
    ),
    "uniq": Program("cdui", {"-f": _COUNT, "-s": _COUNT, "-w": _COUNT},
                    {"--count": "-c", "--repeated": "-d", "--unique": "-u", "--ignore-case": "-i"}, most_paths=1),
    "wc": Program("lwcmL", {}, {"--lines": "-l", "--words": "-w", "--bytes": "-c", "--chars": "-m"}),
    "cat": Program("nbs", {}, {"--number": "-n"}),
    "ls": Program("1R", {}, {"--recursive": "-R"}, frozenset({"-l", "-a", "-A", "-h", "--all"}), ("-1",)),
}  # fmt: skip
"""By name. ls tells names alone: times and owners are not the same twice."""


def read_arguments(name: str, words: Sequence[str]) -> Arguments:
    """The arguments of an allowed program. Raises Refused for what is not in its row."""
    program = ALLOWED[name]
    options: list[str] = []
    patterns: list[str] = []
    rest: list[str] = []
    recursive = False
    left = list(words)
    if len(left) > MOST_WORDS:
        raise Refused(f"{name}: more than {MOST_WORDS} arguments")
    while left:
        word = left.pop(0)
        if word == "--":
            rest += left
            break
        if word == "-" or not word.startswith("-"):
            rest.append(word)
            continue
        if name == "grep" and word in ("--recursive", "--dereference-recursive"):
            recursive = True
            continue
        if word in program.ignored:
            continue
        for option, value in _options(name, program, word, left):
            if name == "grep" and option in ("-r", "-R"):
                recursive = True
            elif option == "-e":
                patterns.append(value or "")
            else:
                options += [option] if value is None else [option, value]
    if program.patterns and not patterns:
        if not rest:
            raise Refused(f"{name}: {'a script' if name == 'sed' else 'a pattern'} is missing")
        patterns.append(rest.pop(0))
        if not _TEXT.fullmatch(patterns[0]):
            raise Refused(f"{name}: the pattern is too long")
    if name == "sed":
        _check_scripts(patterns)
    if program.most_paths is not None and len(rest) > program.most_paths:
        raise Refused(f"{name}: {program.most_paths} file at most")
    return Arguments(tuple(options), tuple(patterns), tuple(rest), recursive)


def _options(name: str, program: Program, word: str, left: list[str]) -> list[tuple[str, str | None]]:
    """The options of one word; a value that it lacks is taken from the words that are left."""
    if word.startswith("--"):
        spelled, equals, given = word.partition("=")
        option = program.long.get(spelled)
        if option is None:
            raise Refused(f"{name}: {spelled} is not allowed here{_hint(name, spelled)}")
        if option[1] in program.flags and not equals:
            return [(option, None)]
        if option not in program.values:
            raise Refused(f"{name}: {spelled} takes no value")
        return [(option, _value(name, program, option, given if equals else None, left))]
    if program.number is not None and re.fullmatch(r"-[0-9]{1,7}", word):
        return [(program.number, word[1:])]
    found: list[tuple[str, str | None]] = []
    for at, letter in enumerate(word[1:], start=1):
        option = f"-{letter}"
        if option in program.values:
            found.append((option, _value(name, program, option, word[at + 1 :] or None, left)))
            break
        if letter in program.flags or (name == "grep" and letter in "rR"):
            found.append((option, None))
        elif option not in program.ignored:
            raise Refused(f"{name}: {option} is not allowed here{_hint(name, option)}")
    return found


def _value(name: str, program: Program, option: str, given: str | None, left: list[str]) -> str:
    if given is None:
        if not left:
            raise Refused(f"{name}: {option} lacks its value")
        given = left.pop(0)
    if not program.values[option].fullmatch(given):
        raise Refused(f"{name}: {option} cannot be {given[:40]!r} here")
    return "\t" if program.values[option] is _LETTER and given == "\\t" else given


def _hint(name: str, option: str) -> str:
    if name == "rg" and option in ("-r", "-R", "--recursive", "--replace"):
        return ": it goes through folders by itself"
    return ""


def _check_scripts(scripts: Sequence[str]) -> None:
    for script in scripts:
        for part in re.split(r"[;\n]", script):
            if part.strip() and not _SED.fullmatch(part.strip()):
                raise Refused("sed: only lines by number, such as sed -n '10,20p' FILE")
