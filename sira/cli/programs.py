"""Programs that are written rather than compiled: from files, from stdin, from the command line.

A file holds JSON, JSON Lines (one program a line), or programs in their text form (docs/program-text.md).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sira.cli.options import AD_HOC, SETTINGS, SKETCH, refuse, settings
from sira.errors import InputError, NotFoundError, ProgramError

if TYPE_CHECKING:
    from sira.lucene.reader import Index
    from sira.program import Program
    from sira.records import Topic

STDIN = Path("-")
PROGRAM_HELP = "programs in place of topics: JSON, JSON Lines or text (docs/program-text.md); - reads stdin"
_SCORING = ("profile", "k1", "b", "combine", "contents_weight", "expansion_weight")
_PRINTED = re.compile(r"^[ \t]*@program\b", re.MULTILINE)
_TEXT_NAMES = ("", ".txt", ".sira")
"""The suffixes of files that may hold a text without `@program`: any file of words would read as one."""

Bind = Callable[[str, str], "Program"]
"""Makes a program of a text as someone writes it, and of its qid."""


def add_syntax(parser: argparse.ArgumentParser) -> None:
    """How the query or the topics are written."""
    parser.add_argument(
        "--syntax",
        choices=("words", "program"),
        default="words",
        help='the query is plain words, or a program: +category:tools "heart attack"^2 -veterinary (words)',
    )


def refuse_settings(arguments: argparse.Namespace) -> None:
    """--program says all of a search."""
    refuse(arguments, {**SKETCH, **SETTINGS}, "--program says all of a search: leave this out")
    refuse(arguments, {"syntax": "words"}, "it says how a query is written: give none with --program")


def refuse_sketch(arguments: argparse.Namespace) -> None:
    """With --syntax program a query is taken as written: of the settings only those of the scoring have a meaning."""
    if arguments.syntax == "program":
        unused = {name: value for name, value in {**SKETCH, **SETTINGS}.items() if name not in (*_SCORING, "topics")}
        refuse(arguments, unused, "it belongs to a sketch: --syntax program takes the query as written")


def written_programs(topics: Iterable[Topic], index: Index, arguments: argparse.Namespace) -> Iterator[Program]:
    """The programs that topics spell in the text form, with the scoring of the command line where they say none.

    Raises ProgramError with the topic (where there are several), the position, and what was expected.
    """
    from sira.programtext import bind, parse_query

    scoring = settings(arguments).scoring
    for topic in topics:
        try:
            yield bind(parse_query(topic.text), index, scoring, qid=topic.qid)
        except ProgramError as error:
            raise error if arguments.topics is None else ProgramError(f"topic {topic.qid!r}: {error}") from None


def binding(index: Index) -> Bind:
    """To this index."""
    from sira.programtext import bind, parse_query

    return lambda text, qid: bind(parse_query(text), index, qid=qid)


def read_programs(path: Path, index: Index | Bind, qid: str = AD_HOC) -> list[Program]:
    """The programs of a file in their order, one or more; `-` is stdin. `qid` is that of a text that says none; texts
    are bound to the index, or by what is given in its place.

    Raises InputError with the file and the line, and for a text the column and what was expected.
    """
    name, text = _text(path)
    bound = index if callable(index) else binding(index)
    programs = _json_programs(name, text) if text.lstrip()[:1] in ("{", "[") else _texts(path, name, text, bound, qid)
    seen: set[str] = set()
    for program in programs:
        if program.qid in seen:
            raise InputError(f"{name}: two programs have the qid {program.qid!r}: give each topic one")
        seen.add(program.qid)
    return programs


def one_program(programs: Sequence[Program], qid: str, name: Path) -> Program:
    """The program of one topic. Raises NotFoundError."""
    for program in programs:
        if program.qid == qid:
            return program
    found = repr(programs[0].qid) if len(programs) == 1 else f"{len(programs)} other topics"
    raise NotFoundError(f"qid {qid!r}: {_name(name)} has the program of {found}")


def _name(path: Path) -> str:
    return "stdin" if path == STDIN else str(path)


def _text(path: Path) -> tuple[str, str]:
    """The name for messages, and the text. Raises InputError for what cannot be read or holds nothing."""
    name = _name(path)
    try:
        if path == STDIN:
            stream = getattr(sys.stdin, "buffer", None)  # the bytes, whatever the locale says
            text = sys.stdin.read() if stream is None else stream.read().decode("utf-8-sig")
        else:
            text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 ({error.reason} at byte {error.start})") from None
    if not text.strip():
        raise InputError(f"{name}: holds no program: `sira compile --json` or `--text` writes one")
    return name, text


def _json_programs(name: str, text: str) -> list[Program]:
    from sira.program import program_from_json

    programs: list[Program] = []
    for place, row in _rows(name, text):
        if isinstance(row, list):
            raise InputError(f"{place}: a JSON list: write one program a line, without brackets and commas")
        try:
            programs.append(program_from_json(row))
        except ProgramError as error:
            raise ProgramError(f"{place}: {error}") from None
    return programs


def _rows(name: str, text: str) -> list[tuple[str, object]]:
    """The place and the decoded JSON of each program: one a line, or one over several lines."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    try:
        json.loads(lines[0][1])
    except (ValueError, RecursionError):
        return [(name, _decoded(name, text))]
    places = [f"{name}, line {number}" if len(lines) > 1 else name for number, _ in lines]
    return [(place, _decoded(place, line)) for place, (_, line) in zip(places, lines, strict=True)]


def _decoded(place: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON ({error})") from None


def _texts(path: Path, name: str, text: str, bound: Bind, qid: str) -> list[Program]:
    """One text as someone writes it, or printed ones, each of which begins with `@program`."""
    from sira.programtext import Position, ProgramTextError

    starts = [match.start() for match in _PRINTED.finditer(text)]
    if not starts and path.suffix.lower() not in _TEXT_NAMES:
        raise InputError(
            f"{name}: holds no program, neither JSON nor text that begins with @program; "
            "a text as you write it stands in a .txt or .sira file"
        )
    starts = [0, *starts[1:]]
    programs: list[Program] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part, lines = text[start:end], text.count("\n", 0, start)
        try:
            programs.append(_program(part, bound, qid))
        except ProgramTextError as error:
            place = Position(error.position.line + lines, error.position.column)
            several = "\n" in text.rstrip("\n")
            moved = ProgramTextError(place, error.found, error.expected, several_lines=several)
            raise ProgramError(f"{name}: {moved}") from None
        except ProgramError as error:
            raise ProgramError(f"{name}: {error}") from None
    return programs


def _program(text: str, bound: Bind, qid: str) -> Program:
    """A printed text is its program to the last bit; any other is bound to the index."""
    from sira.programtext import ProgramTextError, program_from_text
    from sira.programtext.query import MAX_CHARACTERS

    if _PRINTED.search(text):
        try:
            return program_from_text(text)
        except ProgramTextError:
            if len(text) > MAX_CHARACTERS:
                raise
    return bound(text, qid)
