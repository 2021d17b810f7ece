"""What pydantic finds wrong with a request, in words that say how to mend it; without what stood there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from pydantic import BaseModel

SEE = "see /openapi.json for what this route takes"
_WANTED: Mapping[str, str] = {
    "string": "give a string",
    "int": "give a whole number",
    "float": "give a number",
    "bool": "give true or false",
    "list": "give a list",
    "tuple": "give a list",
    "dict": "give an object",
    "model": "give an object",
}
"""By the first word of pydantic's type of error."""
_BOUNDS: Mapping[str, tuple[str, str, str]] = {
    "greater_than_equal": ("it is too small", "ge", "give {} or more"),
    "greater_than": ("it is too small", "gt", "give more than {}"),
    "less_than_equal": ("it is too large", "le", "give at most {}"),
    "too_short": ("it has too few entries", "min_length", "give {} or more"),
    "too_long": ("it has too many entries", "max_length", "give at most {}"),
    "string_too_short": ("it is too short", "min_length", "give {} characters or more"),
    "string_too_long": ("it is too long", "max_length", "give at most {} characters"),
}
_KINDS: Sequence[tuple[type, str]] = (
    (bool, "true or false"),
    (int, "a number"),
    (float, "a number with a point"),
    (str, "a string"),
    (list, "a list"),
    (dict, "an object"),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """`item`: the place in the request, such as `searches.1.k`."""

    item: str
    what: str
    remedy: str


def faults(errors: Sequence[Any], body: Any = None, model: type[BaseModel] | None = None) -> list[Fault]:
    """`errors` as pydantic lists them; `model` is that of the body.

    pydantic names the branches of a union as if they were parts of the place, and lists the faults of each: what is
    told is of the branch that fits best, or what all of them want.
    """
    found: dict[Any, list[tuple[list[Any], Any]]] = {}
    for number, error in enumerate(errors):
        place, union = _place(error, body)
        found.setdefault(number if union is None else tuple(union), []).append((place, error))
    told: list[Fault] = []
    for group in found.values():
        deepest = max(len(place) for place, _ in group)
        parts = [_fault(place, error, model) for place, error in group if len(place) == deepest]
        wanted = dict.fromkeys(part.remedy for part in parts)
        if len({part.item for part in parts}) == 1 and all(text.startswith("give ") for text in wanted):
            remedy = "give " + " or ".join(text.removeprefix("give ") for text in wanted)
            told.append(Fault(parts[0].item, parts[0].what, remedy))
        else:
            told += parts
    return told


def _place(error: Any, body: Any) -> tuple[list[Any], list[Any] | None]:
    """The place without the names of branches, and the place of the first union on the way."""
    kind, *parts = error["loc"]
    if kind != "body":  # the query or the path
        return parts, None
    place: list[Any] = []
    union: list[Any] | None = None
    for number, part in enumerate(parts, 1):
        inside: Any = None
        if isinstance(body, dict) and part in body:
            inside = cast("dict[Any, Any]", body)[part]
        elif isinstance(body, list) and isinstance(part, int):
            inside = cast("list[Any]", body)[part]
        elif not (number == len(parts) and error["type"] == "missing"):
            union = list(place) if union is None else union
            continue
        place.append(part)
        body = inside
    return place, union


def _fault(place: Sequence[Any], error: Any, model: type[BaseModel] | None) -> Fault:
    item = ".".join(map(str, place))[:200].encode("utf-8", "backslashreplace").decode() or "body"
    kind: str = error["type"]
    context: dict[str, Any] = error.get("ctx") or {}
    if kind == "missing":
        return Fault(item, "it is missing", "give it" if place else "send a JSON object")
    if kind == "extra_forbidden":
        return Fault(item, "there is no such field", _other_name(place, model))
    if kind == "literal_error":
        return Fault(item, "it is none of the values that are known", f"give {context['expected']}")
    if kind in _BOUNDS:
        what, name, remedy = _BOUNDS[kind]
        return Fault(item, what, remedy.format(f"{context[name]:,}"))
    if kind == "value_error":  # ours
        what, _, remedy = str(error["msg"]).removeprefix("Value error, ").rpartition(": ")
        return Fault(item, what, remedy) if what else Fault(item, "it does not fit together", remedy)
    wanted = _WANTED.get(kind.partition("_")[0])
    if wanted is None:
        return Fault(item, str(error["msg"]), SEE)
    return Fault(item, f"it is {_kind(error, wanted)}", wanted)


def _kind(error: Any, wanted: str) -> str:
    given = error.get("input")
    if given is None:
        return "null"
    if str(error["type"]).endswith(("parsing", "parsing_size")):  # of a query parameter
        return f"not {wanted.removeprefix('give ')}"
    return next((name for kind, name in _KINDS if isinstance(given, kind)), "of another type")


def _other_name(place: Sequence[Any], model: type[BaseModel] | None) -> str:
    """What to write in place of a field that is none."""
    models = [] if model is None else [model]
    for part in place[:-1]:
        if not isinstance(part, int):
            inner = (item.model_fields[part].annotation for item in models if part in item.model_fields)
            models = [found for annotation in inner for found in _models(annotation)]
    names = list(dict.fromkeys(name for item in models for name in item.model_fields))
    if not names:
        return "leave it out"
    close = difflib.get_close_matches(str(place[-1]).lower(), names, 1)
    return f"write {close[0]}, or leave it out" if close else f"leave it out; the fields are {', '.join(names)}"


def _models(annotation: Any) -> Iterable[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
