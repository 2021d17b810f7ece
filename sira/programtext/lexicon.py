"""How strings, names, numbers and bounds are spelt: the one place for what the reader and the printer must agree on."""

from __future__ import annotations

import datetime as dt
import re
from math import isfinite

from sira.errors import ProgramError
from sira.program import Occur

Bound = int | float | str | None

WORD = re.compile(r'[^\s"()\[\]{}|^]+')
"""A run without blanks and marks: a word, a facet, an exact term without quotes."""
NAME = re.compile(r"[^\W\d][\w.-]*")
"""A field's name without quotes."""
SIGNS: dict[str, Occur] = {"+": "must", "-": "must_not", "#": "filter", "?": "should"}
MAX_NUMBER_LENGTH = 400
"""The largest float has 309 digits; beyond that no index can hold a number."""

_BARE = re.compile(r"\w[\w.'’-]*")
_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.,Z+-]+)?")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """A string in quotes, with every character that does not show escaped.

    Raises ProgramError for a lone surrogate, which neither a JSON program nor a document can hold.
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ProgramError(f"{text!r} is no Unicode (a lone surrogate): no document can hold it") from None
    return f'"{text.translate(_Escapes())}"'


class _Escapes(dict[int, str]):
    """For `str.translate`: what stands for a character in quotes, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character.isprintable() and character not in '"\\':
            shown = character
        else:
            data = character.encode("utf-16-be")
            hexadecimal = "".join(f"\\u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))
            shown = _ESCAPES.get(character, hexadecimal)
        self[code] = shown
        return shown


def bare_or_quoted(text: str) -> str:
    """A string without quotes where it can be read back so."""
    return text if _BARE.fullmatch(text) and text.isprintable() else quoted(text)


def number(text: str) -> int | float | None:
    """A number as written, an int where it has neither point nor exponent; None where it is none or not finite."""
    if len(text) > MAX_NUMBER_LENGTH or not _NUMBER.fullmatch(text):
        return None
    value = int(text) if _INTEGER.fullmatch(text) else float(text)
    return value if isinstance(value, int) or isfinite(value) else None


def number_text(value: float) -> str:
    """A number that reads back as the same int or the same float, bit by bit. Raises ProgramError where none can."""
    if isinstance(value, int):
        if abs(value) >= 10 ** (MAX_NUMBER_LENGTH - 1):
            raise ProgramError("a number of 400 or more digits: no index can hold it")
        return str(int(value))
    if not isfinite(value):
        raise ProgramError(f"the number {value}: only finite numbers can be written")
    return repr(float(value))


def weight_text(value: float) -> str:
    """A number that is read as a float, as JSON's weights are: without the `.0` of a whole one."""
    try:
        text = number_text(float(value))
    except OverflowError:
        raise ProgramError("a number beyond those of 64-bit floats: none is finite there") from None
    return text if text == "-0.0" else text.removesuffix(".0")


def moment(text: str) -> dt.datetime | None:
    """The time that a date without quotes means (UTC where it does not say); None where it is no date."""
    if not _DATE.fullmatch(text):
        return None
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=dt.UTC)


def bound_text(value: Bound) -> str:
    """One side of a range."""
    if value is None:
        return "*"
    if isinstance(value, str):
        return value if moment(value) else quoted(value)
    return number_text(value)


def range_fault(low: Bound, high: Bound) -> str | None:
    """What is wrong with a range that someone wrote; an exact one (`=field:[...]`) may be so."""
    if low is None or high is None:
        return None
    if isinstance(low, str) and isinstance(high, str):
        first, last = moment(low), moment(high)
        swapped = first is not None and last is not None and first > last
    elif isinstance(low, str) or isinstance(high, str):
        return "expected two numbers or two dates"
    else:
        swapped = low > high
    return f"expected the lower bound first: [{bound_text(high)} TO {bound_text(low)}]" if swapped else None
