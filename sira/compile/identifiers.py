"""Identifiers in proposed phrases: `CWE-79`, `IL-6`, `HLA-B27`, part numbers. Pure functions of the text.

An English analyzer parts `CWE-79` into `cwe` and `79`, words that may be common although the identifier is rare. So an
identifier is judged as one, too: it stands in no more documents than its rarest token. Each of its words that passes
the gate by itself is a word like any other (`miR` of `miR-7`); where one does not, or weighs less by it, the identifier
is searched for too: as a phrase of `contents` and an atom of `expansion`, which share its weight.

It is a run of letters and digits, joined by hyphens, slashes, dots or underscores, in which one part mixes letters and
digits (`p53`, `HT2A`), or letters are joined to digits behind them (`CWE-79`, `caspase-3`), or digits to capitals
behind them (`5-FU`). Plain words around that are none of it (`IL-6` of `IL-6-induced`, `CD20` of `anti-CD20`). None are
hyphenated words (`state-of-the-art`, `TCP/IP`), measures, ordinals and times (`20-year-old`, `5mg/kg`, `19th-century`,
`mid-1990s`, `2019/20`). A blank joins nothing: `ISO 9001` and `WWII 1945` look alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

MAX_TERMS = 12
"""A longer run (an address, a key) is no identifier that anybody would search for as one."""

_JOINERS = "-‐‑‒–−/._"
_RUN = re.compile(rf"(?<![^\W_])[^\W_]++(?:[{_JOINERS}][^\W_]++)+")
_DIGIT = re.compile(r"\d")
_PART = re.compile(r"[^\W_]+")
_MIXED = re.compile(r"[^\W\d_]\d|\d(?=[^\W\d_])[^a-z]")
_TIMES = frozenset({"early", "late", "mid", "pre", "post", "circa", "since", "until", "before", "after"})


def identifiers(text: str) -> Iterator[str]:
    """The identifiers of several parts, from left to right. One of a single part is a word like any other."""
    if not _DIGIT.search(text):
        return
    for match in _RUN.finditer(text):
        run = match.group()
        for piece in _pieces(run):
            parts = [(part.group(), part.start(), part.end()) for part in _PART.finditer(piece)]
            core = _core([name for name, _, _ in parts])
            if len(core) > 1:
                yield piece[parts[core[0]][1] : parts[core[-1]][2]]


def _pieces(run: str) -> list[str]:
    """Two identifiers joined by a slash are two (`IL-6/IL-8`); what is none belongs to its neighbour (`CDK4/6`)."""
    pieces = run.split("/")
    return pieces if all(_core(_PART.findall(piece)) for piece in pieces) else [run]


def _core(parts: Sequence[str]) -> range:
    """The places of the parts from the first to the last that makes an identifier; empty where none does."""
    making: set[int] = set()
    for place, part in enumerate(parts):
        if _MIXED.search(part):
            making.add(place)
        if place and _joined(parts[place - 1], part):
            making |= {place - 1, place}
    if not making:
        return range(0)
    first, last = min(making), max(making)
    while first and not _plain(parts[first - 1]):
        first -= 1
    while last + 1 < len(parts) and not _plain(parts[last + 1]):
        last += 1
    return range(first, last + 1)


def _joined(left: str, right: str) -> bool:
    """Whether two neighbours make an identifier: letters and then digits, or digits and then capitals."""
    if left.isalpha() and right[0].isdigit():
        return left.lower() not in _TIMES
    return left.isdigit() and right.isalpha() and right.isupper()


def _plain(part: str) -> bool:
    """An ordinary word, as in `-mediated` and `anti-`; single letters and capitals are none."""
    return len(part) > 1 and part.isalpha() and part[1:].islower()
