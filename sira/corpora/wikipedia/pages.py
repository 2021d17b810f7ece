"""A prepared folder, opened: its documents, and the pages that titles, addresses and redirects lead to."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from sira.corpora.files import text_lines
from sira.corpora.jsonl import read_documents
from sira.corpora.rows import json_rows
from sira.corpora.wikipedia.prepare import KIND, MANIFEST
from sira.corpora.wikipedia.shard import CORPUS, FORMAT, REDIRECTS, TITLES, output, shard_name
from sira.errors import InputError
from sira.records import Record

MAX_HOPS = 10
"""Redirects followed one after the other; MediaWiki itself follows one, and its users mend longer chains."""
_NEAR = 0.6
_WORD = re.compile(r"\w{5,}")


class Landing(NamedTuple):
    """The last page of a chain of redirects, and whether the corpus has it. Of redirects that go in a circle, and of
    chains longer than is followed, the name at the begin."""

    name: str
    there: bool


@dataclass(frozen=True, slots=True)
class Pages:
    """A folder made by `prepare`. `site` is its wiki's host as `page_of_url` gives it, "" where the dump told none."""

    path: Path
    site: str
    manifest: Mapping[str, Any]

    @classmethod
    def open(cls, path: str | Path) -> Pages:
        """Raises InputError where the folder is none, or its preparation was not finished."""
        path = Path(path)
        try:
            data: object = json.loads((path / MANIFEST).read_bytes())
        except (OSError, ValueError):
            data = None
        manifest = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        if manifest.get("kind") != KIND or manifest.get("format") != FORMAT:
            state = "was begun and not finished" if (path / CORPUS).is_dir() else "holds no prepared Wikipedia"
            raise InputError(f"{path}: {state}; run `sira wikipedia prepare DUMP... --out {path}`")
        host = urlsplit(str(manifest["base"])).hostname or ""
        return cls(path, host.removeprefix("www."), manifest)

    def files(self, kind: str) -> tuple[Path, ...]:
        """The files of one kind of output, one a dump file, in the order of the manifest."""
        return tuple(output(self.path, kind, shard_name(Path(dump["name"]))) for dump in self.manifest["dumps"])

    def documents(self, value_fields: Sequence[str] = ()) -> Iterator[Record]:
        """The records of the corpus; see `sira.corpora.jsonl.read_documents`."""
        for file in self.files(CORPUS):
            yield from read_documents(file, value_fields)

    def titles(self) -> Iterator[str]:
        """The docids of the corpus, which are the names of its pages."""
        for file in self.files(TITLES):
            for _, name in text_lines(file):
                yield name

    def find(self, names: Iterable[str]) -> dict[str, Landing]:
        """For each name of a page where it leads to, over redirects.

        Reads the titles and redirects of the folder, as often as redirects are chained; memory grows with the names.
        """
        wanted = dict.fromkeys(names)
        links: dict[str, str] = {}
        frontier = set(wanted)
        for _ in range(MAX_HOPS):
            found = {row["from"]: row["to"] for row in self._redirects() if row["from"] in frontier}
            links |= found
            frontier = set(found.values()) - links.keys()
            if not frontier:
                break
        known = wanted.keys() | links.keys() | set(links.values())
        there = {title for title in self.titles() if title in known}
        return {name: follow(name, links, there) for name in wanted}

    def nearest(self, names: Iterable[str], count: int = 3) -> dict[str, tuple[str, ...]]:
        """For each name the titles that are spelt most like it, the best first.

        Looked at are titles that begin alike (three letters) or share a word of five letters or more, without case,
        accents and signs; what is less than 0.6 alike (difflib's ratio) is no suggestion.
        """
        folded = {name: fold(name) for name in names}
        heads = {text[:3] for text in folded.values()}
        words = {word for text in folded.values() for word in _WORD.findall(text)}
        best: dict[str, list[tuple[float, str]]] = {name: [] for name in folded}
        for title in self.titles() if folded else ():
            text = fold(title)
            if text[:3] not in heads and words.isdisjoint(_WORD.findall(text)):
                continue
            for name, wanted in folded.items():
                matcher = SequenceMatcher(None, wanted, text, autojunk=False)
                if matcher.real_quick_ratio() < _NEAR or matcher.quick_ratio() < _NEAR:
                    continue
                if (alike := matcher.ratio()) >= _NEAR:
                    best[name] = sorted([*best[name], (-alike, title)])[:count]
        return {name: tuple(title for _, title in found) for name, found in best.items()}

    def _redirects(self) -> Iterator[dict[str, Any]]:
        for file in self.files(REDIRECTS):
            for _, row in json_rows(file):
                yield row


def follow(name: str, links: Mapping[str, str], there: AbstractSet[str]) -> Landing:
    """Where a name leads to. A page that is there and redirects too is followed."""
    at, seen = name, {name}
    while at in links:
        at = links[at]
        if at in seen or len(seen) > MAX_HOPS:
            return Landing(name, there=False)
        seen.add(at)
    return Landing(at, at in there)


def fold(name: str) -> str:
    """A name without case, accents and signs, its words apart by one blank."""
    if not name.isascii():
        name = "".join(letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter))
    return " ".join(re.findall(r"[^\W_]+", name.casefold()))
