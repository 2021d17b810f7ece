"""Documents as numbered lines, and pages of them that join to the text again, byte for byte."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

_END = re.compile("\r\n|[\r\n\v\f\x85\u2028\u2029]")
"""Where lines end: Java's \\R, by which Pi-Serini parts them too."""
_BLANKS = " \t\u3000"
_LOOK_BACK = 64
"""Characters: a cluster of more (as in stacked accents) is cut inside."""


class Page(NamedTuple):
    """Lines `first` to `last` (from 1; both 0 where there are none) of `total`; `text` has the lines' ends."""

    text: str
    first: int
    last: int
    total: int

    @property
    def next_offset(self) -> int | None:
        return self.last + 1 if 0 < self.last < self.total else None


class Lines:
    """A text in lines. What follows the last line's end is a line, too, if only an empty one; so an empty text has one.

    `width`: a line of more characters is several, cut at a blank near the width, else between two letters as one sees
    them. The numbers depend on the text and the width alone.
    """

    def __init__(self, text: str, width: int | None = None) -> None:
        self.text = text
        ends = _ends(text)
        starts = [0, *ends]
        if width is not None and any(
            end - start > width for start, end in zip(starts, [*ends, len(text)], strict=True)
        ):
            borders = zip(starts, [*ends, len(text)], strict=True)
            starts = [piece for start, end in borders for piece in _pieces(text, start, end, width)]
        self._starts = starts

    def __len__(self) -> int:
        return len(self._starts)

    def number_at(self, place: int) -> int:
        """The number of the line that holds a character, given by its place from 0."""
        return bisect_right(self._starts, place)

    def start(self, number: int) -> int:
        """The place of a line's first character; of the number after the last line, the length of the text."""
        return self._starts[number - 1] if number <= len(self._starts) else len(self.text)

    def page(self, offset: int, limit: int, max_bytes: int | None = None) -> Page:
        """Up to `limit` lines from `offset` that have at most `max_bytes` of UTF-8 together, but at least one."""
        total = len(self._starts)
        if offset > total:
            return Page("", 0, 0, total)
        last = min(total, offset + limit - 1)
        if max_bytes is not None:
            last = self._last_within(offset, last, max_bytes)
        return Page(self.text[self.start(offset) : self.start(last + 1)], offset, last, total)

    def _last_within(self, first: int, last: int, max_bytes: int) -> int:
        begin = self.start(first)
        if 4 * (self.start(last + 1) - begin) <= max_bytes:
            return last
        size, place = 0, begin
        for number in range(first, last + 1):
            end = self.start(number + 1)
            size += len(self.text[place:end].encode("utf-8", "surrogatepass"))
            if size > max_bytes:
                return max(first, number - 1)
            place = end
        return last

    def bare(self, offset: int, limit: int) -> Iterator[str]:
        """The lines without their ends."""
        for number in range(offset, min(len(self._starts), offset + limit - 1) + 1):
            yield _END.sub("", self.text[self.start(number) : self.start(number + 1)])


def _ends(text: str) -> list[int]:
    """Where lines end. Python parts a text in the same places, and faster, but for three separators of old."""
    if any(separator in text for separator in "\x1c\x1d\x1e"):
        return [match.end() for match in _END.finditer(text)]
    parts = text.splitlines(keepends=True)
    ends = list(accumulate(map(len, parts)))
    if parts and _END.match(parts[-1][-1]) is None:  # the last line has no end
        ends.pop()
    return ends


def _pieces(text: str, start: int, end: int, width: int) -> Iterator[int]:
    """Where the pieces of one line begin. A line's end stays with its last piece."""
    yield start
    content = end - (
        2 if text.startswith("\r\n", end - 2) and end - start > 1 else _END.match(text, end - 1) is not None
    )
    while content - start > width:
        start = cut_before(text, start, start + width)
        if start >= content:
            return
        yield start


def cut_before(text: str, start: int, place: int) -> int:
    """Where to cut a text so that the part from `start` ends at `place` or a little before: behind a blank in the last
    quarter, else where no letter is parted from its marks."""
    if place >= len(text):
        return len(text)
    for at in range(place, place - max(1, (place - start) // 4), -1):
        if text[at - 1] in _BLANKS and text[at] not in _BLANKS and not _clings(text[at]):
            return at
    for at in range(place, max(start, place - _LOOK_BACK), -1):
        if is_border(text, at):
            return at
    return place


def is_border(text: str, at: int) -> bool:
    """Whether a cut before `text[at]` leaves whole what a reader takes for one letter (the clusters of Unicode Standard
    Annex 29, but for rare ones: prepended marks, Indic conjuncts)."""
    after, before = text[at], text[at - 1]
    if before.isascii() and after.isascii():
        return not (before == "\r" and after == "\n")
    if _clings(after) or before == "\u200d" or (_is_jamo(before) and _is_jamo(after)):
        return False
    if _is_flag(before) and _is_flag(after):
        first = at
        while first and _is_flag(text[first - 1]):
            first -= 1
        return (at - first) % 2 == 0
    return True


def _clings(letter: str) -> bool:
    return (
        (not letter.isascii() and (unicodedata.category(letter)[0] == "M" or letter in "\u200c\u200d\uff9e\uff9f"))
        or "\U0001f3fb" <= letter <= "\U0001f3ff"
        or "\U000e0020" <= letter <= "\U000e007f"
    )


def _is_jamo(letter: str) -> bool:
    return "\u1100" <= letter <= "\u11ff" or ("\uac00" <= letter <= "\ud7ff" and "\u1160" <= letter <= "\u11ff")


def _is_flag(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"
