"""The names most like a wrong one: candidates by shared trigrams, then edit distance.

Names are compared in a folded form (no case, no accents, blanks for signs), trigrams are of its UTF-8 bytes. The
postings of the rarest trigrams are read up to a bound, so that a look-up takes milliseconds on millions of names.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sira.categories.arrays import Array, Strings, load, save

LEAST_SIMILARITY = 0.5
"""Names less alike are no suggestion."""

_POSTINGS_READ = 50_000
_CANDIDATES = 40
_LONGEST = 255
_NAMES_AT_ONCE = 1 << 14
_DIGITS = re.compile(r"\d+")
_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}


def fold(name: str) -> str:
    """The form in which names are compared: case, accents and signs do not count."""
    if not name.isascii():
        name = unicodedata.normalize("NFKD", name).casefold()
        name = "".join(letter if letter.isalnum() else " " for letter in name if not unicodedata.combining(letter))
    return " ".join(name.translate(_ASCII).split())


def trigrams(folded: str) -> set[int]:
    """The trigrams of a folded text with a blank on both sides, as numbers of 24 bits."""
    text = f" {folded} ".encode()
    return {text[at] << 16 | text[at + 1] << 8 | text[at + 2] for at in range(len(text) - 2)}


def distance(left: str, right: str) -> int:
    """Levenshtein's edit distance, by Myers' bit vectors in Hyyro's form."""
    if not left or not right:
        return len(left) + len(right)
    places: dict[str, int] = {}
    for at, letter in enumerate(left):
        places[letter] = places.get(letter, 0) | 1 << at
    whole, last, score = (1 << len(left)) - 1, 1 << len(left) - 1, len(left)
    positive, negative = whole, 0
    for letter in right:
        equal = places.get(letter, 0)
        vertical = equal | negative
        horizontal = (((equal & positive) + positive) ^ positive) | equal
        up = negative | ~(horizontal | positive) & whole
        down = positive & horizontal
        score += bool(up & last) - bool(down & last)
        up = up << 1 | 1
        positive = (down << 1 | ~(vertical | up)) & whole
        negative = up & vertical & whole
    return score


def write_trigrams(names: Strings, folder: Path) -> dict[str, int]:
    """Write the postings of all names into the folder: `codes.i4` ascending, `starts.i8`, `postings.i4`."""
    codes, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for code, _ in _pairs(names):
        distinct, sizes = np.unique(code, return_counts=True)
        codes.append(distinct)
        counts.append(sizes)
    distinct, place = np.unique(np.concatenate(codes), return_inverse=True)
    sizes = np.bincount(place, weights=np.concatenate(counts), minlength=len(distinct)).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    save(folder / "codes.i4", distinct)
    save(folder / "starts.i8", starts)
    total = int(starts[-1])
    if total == 0:
        save(folder / "postings.i4", [])
        return {"trigrams": 0, "postings": 0}
    postings = np.memmap(folder / "postings.i4", "<i4", mode="w+", shape=(total,))
    free = starts[:-1].copy()
    for code, owner in _pairs(names):
        first, runs = np.unique(code, return_index=True, return_counts=True)[1:]
        at = np.searchsorted(distinct, code[first])
        postings[np.repeat(free[at] - first, runs) + np.arange(len(code))] = owner
        free[at] += runs
    postings.flush()
    return {"trigrams": len(distinct), "postings": total}


def _pairs(names: Strings) -> Iterator[tuple[Array, Array]]:
    """(trigram, name) of some ten thousand names at a time, each pair once, ascending."""
    for begin in range(0, len(names), _NAMES_AT_ONCE):
        texts = [
            f" {fold(name.decode())} ".encode()
            for name in names.take(range(begin, min(begin + _NAMES_AT_ONCE, len(names))))
        ]
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        letters = np.frombuffer(b"".join(texts), np.uint8).astype(np.int64)
        code = letters[:-2] << 16 | letters[1:-1] << 8 | letters[2:]
        owner = np.repeat(np.arange(len(texts)), sizes)
        inside = owner[:-2] == owner[2:]
        key = np.unique(code[inside] << 32 | owner[:-2][inside])
        yield key >> 32, (key & 0xFFFFFFFF) + begin


class NearestNames:
    """The postings written by `write_trigrams`, with the names that they count."""

    __slots__ = ("_codes", "_names", "_postings", "_starts")

    def __init__(self, folder: Path, names: Strings) -> None:
        self._names = names
        self._codes, self._starts = load(folder / "codes.i4"), load(folder / "starts.i8")
        self._postings = load(folder / "postings.i4")

    def find(self, name: str) -> list[tuple[float, int]]:
        """(similarity, number of the name) of all candidates alike enough, the best first, then by number.

        A name with other numbers is no candidate. Similarity is 1 for the same folded form; else the larger of
        1 - distance / length and Dice's coefficient of the trigrams, which does not mind the order of the words.
        """
        folded = fold(name)[:_LONGEST]
        years, wanted = sorted(_DIGITS.findall(folded)), trigrams(folded)
        found: list[tuple[float, int]] = []
        for number in self._candidates(wanted, len(folded.encode())):
            other = fold(self._names[number].decode())
            if years and (found_years := sorted(_DIGITS.findall(other))) and found_years != years:
                continue  # 1912 births are not nearly 1932 births
            shared = trigrams(other)
            dice = 2 * len(wanted & shared) / max(1, len(wanted) + len(shared))
            alike = (
                1.0
                if folded == other
                else min(0.99, max(dice, 1 - distance(folded, other) / max(len(folded), len(other))))
            )
            if alike >= LEAST_SIMILARITY:
                found.append((alike, number))
        return sorted(found, key=lambda item: (-item[0], item[1]))

    def _candidates(self, wanted: set[int], size: int) -> list[int]:
        """Names that share most of the rarest trigrams, at most _CANDIDATES."""
        codes = np.array(sorted(wanted), np.int64)
        if not len(codes) or not len(self._codes):
            return []
        at = np.searchsorted(self._codes, codes)
        at = at[(at < len(self._codes)) & (self._codes[np.minimum(at, len(self._codes) - 1)] == codes)]
        sizes = np.asarray(self._starts[at + 1]) - np.asarray(self._starts[at])
        order = np.argsort(sizes, kind="stable")
        taken = max(1, int(np.searchsorted(np.cumsum(sizes[order]), _POSTINGS_READ, side="right")))
        lists = [
            self._postings[begin : begin + _POSTINGS_READ * 4 if taken == 1 else end]
            for begin, end in ((int(self._starts[i]), int(self._starts[i + 1])) for i in at[order[:taken]])
        ]
        if not lists:
            return []
        numbers, shared = np.unique(np.concatenate(lists), return_counts=True)
        best = np.lexsort((numbers, -shared))[: _CANDIDATES * 10]
        lengths = np.array([abs(len(self._names[int(number)]) - size) for number in numbers[best]])
        return numbers[best[np.lexsort((numbers[best], lengths, -shared[best]))[:_CANDIDATES]]].tolist()
