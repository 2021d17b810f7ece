"""Which documents a final text cites, and whether they were looked at."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sira.agent.ledger import Ledger

_BRACKETS = re.compile(r"\[([^\[\]]{1,2000})\]|【([^【】]{1,2000})】")
_DIGITS = re.compile(r"\d+")
_PARTS = re.compile(r"[,;，；、]")
_PREFIX = re.compile(r"^(?:docids?|documents?|docs?|sources?)\s*[:=#]?\s+|^docids?\s*[:=#]\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Citations:
    """The docids that a text cites, each once, in its order; every one is in exactly one of the other lists.

    `opened` were read, `previewed` only seen on a page, `surfaced` only among the hits of a search, and `unknown` are
    digits in brackets that are no docid of this episode (a year, or an invented source).
    """

    cited: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    previewed: tuple[str, ...] = ()
    surfaced: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def to_json(self) -> Mapping[str, Any]:
        return {name: list(docids) for name, docids in asdict(self).items()}


def cited_docids(text: str, registered: Collection[str] | None = None) -> tuple[str, ...]:
    """What stands in `[...]` and `【...】`, each once, in order.

    Without `registered` it is Pi-Serini's rule: every run of digits. With the docids that an episode registered, those
    of them that stand there, whatever they look like: alone, in a list, behind `docid=`, or before `†`.
    """
    if registered is None:
        found = (digits for inside, _ in _brackets(text) for digits in _DIGITS.findall(inside))
        return tuple(dict.fromkeys(found))
    known = frozenset(registered)
    return tuple(dict.fromkeys(docid for docid, is_known in _candidates(text, known) if is_known))


def check_citations(text: str, ledger: Ledger) -> Citations:
    """The citations of a final text against what the episode was shown."""
    known = frozenset((*ledger.surfaced, *ledger.seen, *ledger.opened))
    sorted_by: dict[str, list[str]] = {"opened": [], "previewed": [], "surfaced": [], "unknown": []}
    cited = dict(_candidates(text, known))
    for docid, is_known in cited.items():
        kind = "previewed" if docid in ledger.seen else "surfaced"
        kind = "opened" if docid in ledger.opened else kind if is_known else "unknown"
        sorted_by[kind].append(docid)
    return Citations(tuple(cited), **{kind: tuple(docids) for kind, docids in sorted_by.items()})


def _brackets(text: str) -> Iterator[tuple[str, int]]:
    """What stands in brackets, with its place."""
    for match in _BRACKETS.finditer(text):
        yield match[1] if match[1] is not None else match[2], match.start()


def _candidates(text: str, known: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Docids in the order of the text, with whether they are known; of unknown ones those of digits alone."""
    found: list[tuple[int, str, bool]] = []
    for docid in known:  # a docid may hold brackets itself
        if any(sign in docid for sign in "[]【】"):
            place = min((at for sign in (f"[{docid}]", f"【{docid}】") if (at := text.find(sign)) >= 0), default=-1)
            if place >= 0:
                found.append((place, docid, True))
    for inside, place in _brackets(text):
        for number, (docid, is_known) in enumerate(_inside(inside, known)):
            found.append((place + number, docid, is_known))
    yield from ((docid, is_known) for _, docid, is_known in sorted(found, key=lambda item: item[0]))


def _inside(inside: str, known: frozenset[str]) -> Iterator[tuple[str, bool]]:
    whole = _named(inside)
    if whole in known:
        yield whole, True
        return
    for part in _PARTS.split(inside):
        name = _named(part)
        if name in known:
            yield name, True
            continue
        for word in name.split():
            word = _named(word)
            if word in known or (word.isascii() and word.isdigit()):
                yield word, word in known


def _named(part: str) -> str:
    """A docid without what models write around it."""
    name = _PREFIX.sub("", part.partition("†")[0].strip()).strip()
    return name.strip("\"'`")
