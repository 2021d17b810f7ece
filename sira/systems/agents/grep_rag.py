"""GrepRAG: the model writes patterns, and documents that hold one are ranked by their words (SIRA, arXiv 2605.06647).

One call. At most ten patterns, looked for letter by letter whatever the case; the documents that hold any of them are
ranked by the Jaccard similarity of their words with the query's:

    J(q, d) = |Q and D| / |Q or D|

where Q and D are the sets of different analysed terms (the index's analyzer: stop words gone, stems) of the query and
of the whole document, title and text. Patterns count no further. Equals by docid; the best 200. Costs one pass over the
files, and the terms of every document that holds a pattern, which lie beside the text.
"""

from __future__ import annotations

import heapq
import itertools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from sira.errors import EnvironmentFault
from sira.llm import Finish
from sira.llm.parsing import ReplyLimits, parse_phrases
from sira.llm.thinking import answer as without_thinking
from sira.paths import cache_folder
from sira.records import Ranking, Status
from sira.systems.agents.base import AgentMethod, Episode
from sira.systems.agents.files import Export, export, folded

GREP_RAG = AgentMethod(
    "grep-rag",
    "Yang et al. 2026, arXiv 2605.06647 (its baseline GrepRAG)",
    "agent-grep-rag",
    rounds=1,
    documents=200,
    characters=100,
    max_tokens=400,
    searches=1,
)
"""`documents` are those of the ranking, `characters` those of a pattern, the search is one pass over the files."""
PATTERNS = 10
_READ = 4 * PATTERNS
"""Patterns that are looked at: repeats and useless ones take no place."""
_LETTERS = 2
_BULLET = re.compile(r"\s*+(?:(?:[-*•–]|[0-9]{1,2}[.):])\s++)?")
_QUOTES = "\"'`“”‘’«»"
_FOUND = re.compile(r"(?:\./)?([0-9]{3}/[0-9]{3}\.txt):([0-9]+):")


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of a reply in its order, as matching sees them; `dropped` counts the others by reason: `empty`,
    `one_letter`, `endless` (over-long, or cut off), `duplicate`, `over_quota`, `not_text`."""

    kept: tuple[str, ...]
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    salvaged: bool = False


@dataclass(frozen=True, slots=True)
class GrepRag:
    """A Conversation. `folder` has the exports of the indexes, by default in sira's cache. Where there is no rg, or
    with `python`, Python looks for itself, and finds the same. `progress`: a bar while an export is written."""

    folder: Path | None = None
    python: bool = False
    progress: bool = True

    def __call__(self, episode: Episode) -> str | None:
        """One topic; the patterns, one a line, None where the reply held none."""
        files = export(episode.index, self.folder or cache_folder() / "exports", "folded", progress=self.progress)
        program = None if self.python else shutil.which("rg")
        reply = episode.ask(episode.settings.prompt.render_query(episode.topic.text))
        patterns = read_patterns(reply.text, reply.finish, episode.settings.characters)
        episode.told |= {
            "patterns": list(patterns.kept),
            "dropped": patterns.dropped,
            "salvaged": patterns.salvaged,
            "program": "python" if program is None else "rg",
        }
        episode.found = Ranking()
        if not patterns.kept:
            return None
        episode.queries += patterns.kept
        with episode.scanning():
            (terms,) = episode.index.analyze([episode.topic.text])
            found = matching(files, patterns.kept, program)
            pool = (one for one in found if episode.settings.own or one[0] != episode.topic.qid)
            episode.told["pooled"], episode.found = by_jaccard(terms, pool, episode.settings.documents)
        return "\n".join(patterns.kept)


def read_patterns(text: str, finish: Finish, characters: int) -> Patterns:
    """The patterns in a reply: a JSON list, else what is whole of one, else a pattern a line.

    Half a pattern matches what nobody asked for, so a last line at the limit of tokens is dropped.
    """
    parsed = parse_phrases(text, finish, ReplyLimits(_READ, characters))
    dropped = dict(parsed.dropped)
    items: Sequence[str] = parsed.phrases
    salvaged = parsed.salvaged
    if not items and not dropped and parsed.status is not Status.REFUSED:
        items, salvaged = _lines(without_thinking(text) or "", finish), True
    counts = {"empty": dropped.pop("empty", 0), "one_letter": 0, "endless": dropped.pop("over_long", 0)}
    counts |= {"duplicate": 0, "over_quota": dropped.pop("over_quota", 0), "not_text": dropped.pop("not_text", 0)}
    kept: list[str] = []
    for item in items:
        pattern = folded(item)
        letters = sum(sign.isalnum() for sign in pattern)
        if not letters:
            counts["empty"] += 1
        elif letters < _LETTERS:
            counts["one_letter"] += 1
        elif len(pattern) > characters:
            counts["endless"] += 1
        elif pattern in kept:
            counts["duplicate"] += 1
        elif len(kept) == PATTERNS:
            counts["over_quota"] += 1
        else:
            kept.append(pattern)
    return Patterns(tuple(kept), {name: count for name, count in counts.items() if count}, salvaged and bool(kept))


def _lines(text: str, finish: Finish) -> list[str]:
    """The lines of a reply that is no list; one that ends with a colon only leads to the others."""
    if text.lstrip().startswith(("[", "{", "```")):
        return []
    lines = text.splitlines()
    if finish is Finish.LENGTH:
        lines = lines[:-1]
    found = [_without_bullet(line).strip().strip(_QUOTES).strip() for line in lines]
    return [line for line in found if line and not line.endswith(":")][:_READ]


def _without_bullet(line: str) -> str:
    bullet = _BULLET.match(line)
    return line if bullet is None else line[bullet.end() :]


def matching(files: Export, patterns: Sequence[str], program: str | None) -> Iterator[tuple[str, list[str]]]:
    """The documents that hold any of the patterns (as `folded` writes them) with their different terms, in the order of
    the files."""
    places = _by_python(files, patterns) if program is None else _by_rg(files, patterns, program)
    open_, lines = "", list[str]()
    for path, number in places:
        if path != open_:
            open_ = path
            lines = (files.folder / path).with_suffix(".words").read_text(encoding="utf-8").split("\n")
        name, *terms = lines[number - 1].split("\t")
        yield files.docid(name), terms


def _by_python(files: Export, patterns: Sequence[str]) -> Iterator[tuple[str, int]]:
    """(file, line from 1) of each line that holds a pattern."""
    wanted = [pattern.encode() for pattern in patterns]
    for path in files.files:
        with (files.folder / path).open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if any(pattern in line for pattern in wanted):
                    yield path, number


def _by_rg(files: Export, patterns: Sequence[str], program: str) -> Iterator[tuple[str, int]]:
    """The same by ripgrep: bytes against bytes, one line told for each that holds a pattern and none of its text."""
    command = [
        program, "--no-config", "--fixed-strings", "--case-sensitive", "--no-ignore", "--hidden", "--text", "--no-mmap",
        "--encoding=none", "--sort=path", "--glob=*.txt", "--color=never", "--no-heading", "--with-filename",
        "--line-number", "--max-columns=1", *(f"--regexp={pattern}" for pattern in patterns), ".",
    ]  # fmt: skip
    with tempfile.TemporaryFile() as errors:
        yield from _told_by(command, files.folder, errors)


def _told_by(command: Sequence[str], folder: Path, errors: BinaryIO) -> Iterator[tuple[str, int]]:
    running = subprocess.Popen(
        command, cwd=folder, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
    )
    assert running.stdout is not None
    try:
        for line in running.stdout:
            found = _FOUND.match(line.decode(errors="replace"))
            if found is None:
                raise EnvironmentFault(f"{command[0]}: wrote {line[:60]!r}: install ripgrep 13 or later")
            yield found[1], int(found[2])
        if running.wait() not in (0, 1):
            errors.seek(0)
            why = errors.read(200).decode(errors="replace").strip() or "was killed"
            raise EnvironmentFault(f"{command[0]}: {why}: install ripgrep 13 or later")
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


def by_jaccard(query: Sequence[str], documents: Iterable[tuple[str, Sequence[str]]], k: int) -> tuple[int, Ranking]:
    """How many documents (docid, terms) there are, and the k of them whose terms are most alike the query's; equals by
    docid."""
    wanted = frozenset(query)
    count = itertools.count()
    scored = ((-jaccard(wanted, frozenset(terms)), docid) for (docid, terms), _ in zip(documents, count, strict=False))
    best = heapq.nsmallest(k, scored)
    return next(count), Ranking(tuple(docid for _, docid in best), tuple(-score for score, _ in best))


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """|A and B| / |A or B|; 0 of two empty sets."""
    common = len(first & second)
    return common / (len(first) + len(second) - common) if common else 0.0
