"""Texts into words, as Lucene's StandardTokenizer parts them (word boundaries of Unicode Standard Annex 29)."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from operator import itemgetter

MAX_TOKEN_LENGTH = 255
"""Lucene's limit on the characters of one token: a longer one is cut, and the rest goes on as the next."""

# Only a mark that stands directly between two letters, or between two digits, joins them.
_ASCII_WORD = re.compile(
    r"\w+ (?: (?: (?<=[A-Za-z]) [:.'] (?=[A-Za-z]) | (?<=[0-9]) [,;.'] (?=[0-9]) ) \w+ )*+", re.ASCII | re.VERBOSE
)

# Beyond ASCII each character is first replaced by one that stands for its class, so that the grammar can be a pattern
# over a handful of characters: a letter, 0 digit, _ connector, : . , marks inside words or numbers, ' and " quotes,
# א Hebrew, カ Katakana, ก a script written without blanks (Thai, Lao, Khmer, Myanmar), 一 Han, Hiragana and pictograms
# that stand alone, ☺ pictograms that a joiner may link, 🇦 half a flag, x a mark or control that clings to what is
# before it, j the joiner, which clings too.
_CLASSES = {
    ":": "B7 387 5F4 2027 FE13 FE55 FF1A",
    ".": "2018 2019 2024 FE52 FF07 FF0E",
    ",": "3B 37E 589 60C 60D 66C 7F8 2044 FE10 FE14 FE50 FE54 FF0C FF1B",
    "_": "202F 203F-2040 2054 FE33-FE34 FE4D-FE4F FF3F",
    "a": "2C2-2C5 2D2-2D7 2DE-2DF 2ED 2EF-2FF 55B-55C 55E 5F3 24B6-24E9 A720-A721 A789-A78A AB5B 1F130-1F149 "
    "1F150-1F169 1F170-1F189",
    "0": "66B",
    "j": "200D",
    "x": "FF9E-FF9F 1F3FB-1F3FF",
    " ": "200B",
    "カ": "3031-3035 309B-309C 30A0-30FA 30FC-30FF 31F0-31FF 32D0-32FE 3300-3357 FF66-FF9D 1B000",
    "一": "2E80-2E99 2E9B-2EF3 2F00-2FD5 3007 3021-3029 3038-303A 3041-3096 309D-309F 3400-4DB5 4E00-9FFF F900-FA6D "
    "FA70-FAD9 1B001-1B11E 1F200 20000-2A6DF 2A700-2EBE0 2F800-2FA1D",
    "🇦": "1F1E6-1F1FF",
    "☺": "A9 AE 203C 2049 2122 2194-2199 21A9-21AA 231A-231B 2328 2388 23CF 23E9-23F3 23F8-23FA 25AA-25AB 25B6 25C0 "
    "25FB-25FE 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C "
    "274E 2753-2755 2757 2763-2767 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 "
    "3299 1F000-1F0FF 1F10D-1F10F 1F12F 1F16C-1F16F 1F18E 1F191-1F19A 1F1AD 1F201-1F202 1F21A 1F22F 1F232-1F23A "
    "1F250-1F251 1F260-1F265 1F300-1F3FA 1F400-1F53D 1F546-1F64F 1F680-1F6FF 1F774-1F77F 1F7D5-1F7FF 1F90C-1F93A "
    "1F93C-1F945 1F947-1FAFF",
}
_WITHOUT_BLANKS = "E01-EFF 1000-109F 1780-17DC 1950-19DF 1A20-1AAD A9E0-A9FE AA60-AADF 11700-1173F"
_HEBREW = "5D0-5F2 FB1D-FB4F"

_CLINGING = re.compile("([a0_אカก])[xj]+")
_WORD = re.compile(
    """
    (?<!_) _* (?: カ+ | LETTERS ) (?: _+ (?: カ+ | LETTERS ) )* _*
    | ก+ | 一[xj]* | ☺ (?: [xj]* (?<=j) ☺ )* [xj]* | 🇦[xj]*🇦[xj]*
    """.replace(
        "LETTERS",
        """(?: [a0]++ | א (?: "[xj]*א | '[xj]* )? | (?<=[aא]) [:.'][xj]* (?=[aא]) | (?<=0) [,.'][xj]* (?=0) )+""",
    ),
    re.VERBOSE,
)


def _ranges(listed: str) -> list[tuple[int, int]]:
    """`"B7 2C2-2C5"` as the first and last code points that it names in hexadecimal."""
    bounds = (entry.partition("-") for entry in listed.split())
    return [(int(first, 16), int(last or first, 16)) for first, _, last in bounds]


class _ClassTable(dict[int, str]):
    """For `str.translate`: the class of a code point, worked out when it is first met (there are 1.1 million)."""

    def __init__(self) -> None:
        super().__init__()
        self._listed = sorted((*ends, kind) for kind, listed in _CLASSES.items() for ends in _ranges(listed))
        self._hebrew, self._without_blanks = _ranges(_HEBREW), _ranges(_WITHOUT_BLANKS)

    def __missing__(self, code: int) -> str:
        self[code] = kind = self._kind(code)
        return kind

    def _kind(self, code: int) -> str:
        place = bisect(self._listed, code, key=itemgetter(0)) - 1
        if place >= 0 and code <= self._listed[place][1]:
            return self._listed[place][2]
        if chr(code) in "_:.,'\"":
            return chr(code)
        category = unicodedata.category(chr(code))
        if category == "Nd":
            return "0"
        if category[0] == "M" or category == "Cf":
            return "x"
        if category[0] == "L" or category == "Nl":
            if any(first <= code <= last for first, last in self._without_blanks):
                return "ก"
            return "א" if any(first <= code <= last for first, last in self._hebrew) else "a"
        return " "


@cache
def _classes() -> _ClassTable:
    return _ClassTable()


def words(text: str) -> list[str]:
    """The tokens of a text, in order and as they are written.

    ASCII text is parted exactly as Lucene does. Beyond ASCII the characters are classed by Python's Unicode tables and
    the exceptions above, where Lucene goes by the tables of Unicode 9. What differs is rare: characters encoded since
    (words here where they are letters, and none there); keycaps of # and *; a skin tone, or a vowel sign of Thai or its
    like, that stands alone; Hebrew quotes beside other marks; tokens of more than MAX_TOKEN_LENGTH characters, which
    Lucene counts in UTF-16 units.
    """
    if text.isascii():
        return _ascii_words(text)
    found: list[str] = []
    # a blank ends every token, and most of a text of Latin script is ASCII, which is parted faster
    for is_ascii, run in groupby(text.split(" "), str.isascii):
        found += (_ascii_words if is_ascii else _other_words)(" ".join(run))
    return found


def _ascii_words(text: str) -> list[str]:
    found = _ASCII_WORD.findall(text)
    if "_" in text:
        found = [word for word in found if word.strip("_")]
    return found if _all_fit(found) else [piece for word in found for piece in _cut(word, word, _ASCII_WORD)]


def _other_words(text: str) -> list[str]:
    kinds = _CLINGING.sub(lambda match: match[1] * len(match[0]), text.translate(_classes()))
    spans = [match.span() for match in _WORD.finditer(kinds)]
    found = [text[start:end] for start, end in spans]
    if _all_fit(found):
        return found
    return [piece for start, end in spans for piece in _cut(text[start:end], kinds[start:end], _WORD)]


def _all_fit(found: list[str]) -> bool:
    return max(map(len, found), default=0) <= MAX_TOKEN_LENGTH


def _cut(word: str, kinds: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """A word in pieces of at most MAX_TOKEN_LENGTH: the tokenizer reads no further than that before it decides."""
    start = 0
    while start < len(word):
        match = pattern.match(kinds[start : start + MAX_TOKEN_LENGTH])
        if match and match[0].strip("_"):
            yield word[start : start + match.end()]
            start += match.end()
        else:  # nothing but connectors as far as it reads: on to where it sees what follows them
            connectors_end = len(kinds) - len(kinds[start:].lstrip("_"))
            start = max(start + 1, connectors_end - MAX_TOKEN_LENGTH + 1)
