"""The arguments of a tool call: JSON text as a model wrote it, checked once."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from sira.agent.base import Failure

MAX_CHARACTERS = 1_000_000
"""Of the arguments of one call; a longer text is a fault of the model's, and is not parsed."""
LARGEST = 2**53
"""Numbers above count as this: no ranking and no document is as long."""
ENTRY_CHARACTERS = 200
"""Of one entry of a list."""
SHOWN = 80


class CallFault(Exception):
    """A call that cannot be carried out: `str(fault)` tells the model what is wrong and what to do."""

    def __init__(self, text: str, *, field: str | None = None, failure: Failure = Failure.INVALID_ARGUMENTS) -> None:
        super().__init__(text)
        self.field, self.failure = field, failure
        self.code: str = failure.value


def shown(value: object) -> str:
    """A value as JSON, cut to what helps to recognise it, and safe to encode."""
    text = value if isinstance(value, str) else str(value)[: 2 * SHOWN]
    text = json.dumps(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…", ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()


class Arguments:
    """The fields of one call. Every method raises CallFault, naming the tool, the field and the remedy."""

    def __init__(self, tool: str, text: str, known: Sequence[str], *, strict: bool) -> None:
        self._tool = tool
        if len(text) > MAX_CHARACTERS:
            raise CallFault(
                f"Invalid {tool} arguments: {len(text):,} characters; at most {MAX_CHARACTERS:,} can be read. "
                f"Call {tool} again with short values."
            )
        try:
            data: Any = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            reason = str(error) if isinstance(error, json.JSONDecodeError) else "it nests too deep or has a huge number"
            raise CallFault(
                f"Invalid {tool} arguments: not JSON ({reason}). Call {tool} again with one JSON object with the "
                f"fields {', '.join(known)}."
            ) from None
        if not isinstance(data, dict):
            raise CallFault(
                f"Invalid {tool} arguments: expected a JSON object with the fields {', '.join(known)}, "
                f"not {_kind(data)}."
            )
        self._fields: Mapping[str, Any] = {
            key: value for key, value in cast("dict[str, Any]", data).items() if value is not None
        }
        if strict and (extra := [key for key in self._fields if key not in known]):
            raise CallFault(
                f"Invalid {tool} arguments: there is no field {shown(extra[0])}. The fields are {', '.join(known)}.",
                field=extra[0][:SHOWN],
            )

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def fault(self, name: str, text: str) -> CallFault:
        return CallFault(f"Invalid {self._tool} arguments: {text}", field=name)

    def text(self, name: str, *, blank: bool = False, number: bool = False) -> str:
        """A required string; `number`: a whole number counts as its digits, since models write docids so."""
        value = self._fields.get(name)
        if value is None:
            raise self.fault(name, f"{name} is missing: give a string.")
        if number and isinstance(value, int) and not isinstance(value, bool):
            try:
                value = str(value)
            except ValueError:  # Python's bound on digits
                raise self.fault(name, f"{name} is no id: give a string.") from None
        if not isinstance(value, str):
            raise self.fault(name, f"{name} must be a string, not {_kind(value)}.")
        return self._checked(name, value, blank=blank)

    def _checked(self, name: str, value: str, *, blank: bool) -> str:
        if not blank and not value.strip():
            raise self.fault(name, f"{name} must be a non-empty string.")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.fault(name, f"{name} holds half a character (a lone surrogate): write plain Unicode.") from None
        return value

    def number(self, name: str, default: int) -> int:
        """A number from 1, as Pi-Serini reads it: what is no finite number is the default, else rounded down."""
        value = self._fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fault(name, f"{name} must be a number, not {_kind(value)}: such as {default}.")
        if isinstance(value, float) and not math.isfinite(value):
            return default
        return max(1, min(math.floor(value), LARGEST))

    def flag(self, name: str) -> bool:
        value = self._fields.get(name, False)
        if not isinstance(value, bool):
            raise self.fault(name, f"{name} must be true or false, not {_kind(value)}.")
        return value

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of `choices`; the first where the call does not say."""
        value = self._fields.get(name, choices[0])
        if value not in choices:
            raise self.fault(name, f"{name} is {shown(value)}: choose {' or '.join(map(json.dumps, choices))}.")
        return str(value)

    def texts(self, name: str, most: int) -> list[str]:
        """A list of short strings; a single string is a list of one."""
        value: object = self._fields.get(name)
        if value is None:
            raise self.fault(name, f"{name} is missing: give a list of strings.")
        listed = cast("list[Any]", [value] if isinstance(value, str) else value)
        if not isinstance(value, str | list) or not all(isinstance(item, str) for item in listed):
            raise self.fault(name, f"{name} must be a list of strings, not {_kind(cast(object, value))}.")
        if not 1 <= len(listed) <= most:
            raise self.fault(name, f"{name} has {len(listed)} entries: give 1 to {most}.")
        if long := next((item for item in listed if len(item) > ENTRY_CHARACTERS), None):
            raise self.fault(name, f"{shown(long)} is too long: at most {ENTRY_CHARACTERS} characters an entry.")
        return [self._checked(name, item, blank=False) for item in listed]

    def raw(self, name: str) -> Any:
        return self._fields.get(name)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
