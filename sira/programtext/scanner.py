"""Reading a program text from left to right: blanks, words, strings, numbers, and errors that say where."""

from __future__ import annotations

import re
from typing import NoReturn

from sira.program import MAX_WEIGHT
from sira.programtext.lexicon import MAX_NUMBER_LENGTH, WORD, number
from sira.programtext.query import Position, ProgramTextError

# Marks of direction, joiners and the like: they show nothing, so they must not hide a sign before which they stand.
_INVISIBLE = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0001-\U000e007f"
_BLANKS = re.compile(rf"(?:[\s{_INVISIBLE}]+|//[^\n]*)+")
_INVISIBLES = re.compile(f"[{_INVISIBLE}]*")
_AFTER_ITEM = re.compile(rf"[\s{_INVISIBLE})|]|\Z")
_UNFIT = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
_BODY = re.compile(r'(?:[^"\\\n\r]++|\\[^\n\r])*+')
_ESCAPE = re.compile(r'\\(?:u(?i:(d[89ab][0-9a-f]{2}))\\u(?i:(d[c-f][0-9a-f]{2}))|u([0-9a-fA-F]{4})|(["\\/nrtbf])|)')
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_VALUE = re.compile(r'[^\s"()\[\]{}|]+')
_SHOWN = 24


class Scanner:
    """A place in a text. Only blanks may hold a line break, so every token lies on one line."""

    def __init__(self, text: str, max_characters: int) -> None:
        self.text, self.at = text, 0
        self._line, self._line_start = 1, 0
        if len(text) > max_characters:
            self.fail(f"expected at most {max_characters:,}", found=f"{len(text):,} characters")
        if unfit := _UNFIT.search(text):
            code = ord(unfit[0])
            what, remedy = (
                ("a lone surrogate", "expected Unicode: leave it out")
                if code >= 0xD800
                else ("a control character", f"leave it out, or write it in quotes as \\u{code:04x}")
            )
            self.fail(remedy, unfit.start(), found=f"{what} U+{code:04X}")

    @property
    def next(self) -> str:
        """The character that is next; empty at the end."""
        return self.text[self.at : self.at + 1]

    def position(self) -> Position:
        """The current place."""
        return Position(self._line, self.at - self._line_start + 1)

    def place(self) -> str:
        """The place of the character just passed, in words."""
        position = self.position()
        return f"line {position.line}, column {position.column - 1}"

    def fail(self, expected: str, at: int | None = None, *, found: str | None = None) -> NoReturn:
        """Raise the error of the current place, or of another one."""
        at = self.at if at is None else at
        position = Position(self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at))
        raise ProgramTextError(position, found or self._found(at), expected, several_lines="\n" in self.text) from None

    def _found(self, at: int) -> str:
        if at >= len(self.text):
            return "the end of the text"
        if self.text[at].isspace():
            return "the end of the line" if self.text[at] in "\n\r" else "a blank"
        shown = self.text[at : at + _SHOWN + 1].split(maxsplit=1)[0]
        return repr(shown[: _SHOWN - 1] + "…" if len(shown) > _SHOWN else shown)

    def skip_blanks(self) -> None:
        """On to the next item: past blanks, characters that do not show, and comments."""
        if match := _BLANKS.match(self.text, self.at):
            breaks = match[0].count("\n")
            if breaks:
                self._line += breaks
                self._line_start = self.text.rfind("\n", 0, match.end()) + 1
            self.at = match.end()

    def skip_invisible(self) -> None:
        """Past characters that do not show, but no blank."""
        match = _INVISIBLES.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def ends_item(self) -> bool:
        return _AFTER_ITEM.match(self.text, self.at) is not None

    def take(self, mark: str) -> bool:
        """Whether this mark is next; if so it is passed."""
        if found := self.text.startswith(mark, self.at):
            self.at += len(mark)
        return found

    def expect(self, mark: str, expected: str) -> None:
        if not self.take(mark):
            self.fail(expected)

    def word(self) -> str:
        """A run of characters without blanks and marks; empty where none is next."""
        return self._run(WORD)

    def _run(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def value(self) -> str:
        """A number, date or `*`, not yet read."""
        return self._run(_VALUE)

    def number(self, expected: str) -> int | float:
        start = self.at
        value = number(self.value())
        if value is None:
            too_long = self.at - start > MAX_NUMBER_LENGTH
            self.fail(f"expected at most {MAX_NUMBER_LENGTH} characters of a number" if too_long else expected, start)
        return value

    def real(self, expected: str) -> float:
        start = self.at
        try:
            return float(self.number(expected))
        except OverflowError:
            self.fail("expected a smaller number", start)

    def weight(self) -> float:
        """What stands behind `^`."""
        start = self.at
        value = self.number(f"expected a number from 0 to {MAX_WEIGHT:g} directly after '^'")
        if value < 0:
            self.fail("expected a weight >= 0; to exclude documents write '-' before the item", start)
        if value > MAX_WEIGHT:
            self.fail(f"expected a weight of at most {MAX_WEIGHT:g}", start)
        return float(value)

    def string(self, expected: str = 'expected a string in quotes: "..."') -> str:
        """A string in quotes, with escapes as in JSON."""
        column = self.position().column
        self.expect('"', expected)
        start, body = self.at, self._run(_BODY)
        if not self.take('"'):
            self.fail(f"expected '\"' to close the quote of column {column} on the same line")
        return _ESCAPE.sub(lambda match: self._unescaped(match, start), body) if "\\" in body else body

    def _unescaped(self, match: re.Match[str], start: int) -> str:
        high, low, code, plain = match.groups()
        if plain:
            return _ESCAPED[plain]
        if high:
            return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
        if code is None:
            self.fail(
                'expected an escape: \\" \\\\ \\n \\r \\t or \\u and four hexadecimal digits', start + match.start()
            )
        if 0xD800 <= int(code, 16) < 0xE000:
            self.fail("expected a character, not half of one (a lone surrogate)", start + match.start())
        return chr(int(code, 16))
