"""Sketches as JSON: JSON Lines, a topic a row: `qid`, `phrases` (strings, or text, role, weight and sample), `facets`,
`ranges` (field, gte, lte, and the role `filter` or `should`).

`samples` counts the replies that the row is of, and `searches` holds further sketches (phrases, facets and ranges) of
the same topic. A row whose `provenance` names a model is that model's work. Keyword lists of other tools are read as
they are: `query_id` for qid, and a `text` of keywords parted by commas, semicolons or line ends for phrases.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from sira.corpora.rows import json_rows
from sira.errors import InputError
from sira.records import RangeRole, Role, Sketch, SketchPhrase, SketchRange

MAX_PHRASES = 10_000
MAX_RANGES = 100
MAX_SAMPLES = 10_000
MAX_SEARCHES = 100

_KNOWN = {
    "qid", "query_id", "phrases", "facets", "ranges", "text", "samples", "searches", "status", "detail", "dropped",
    "failed", "errors", "usage", "provenance",
}  # fmt: skip
_PARTS = re.compile(r"[,;\n]")


def sketch_to_json(sketch: Sketch) -> dict[str, Any]:
    """The row without status and provenance; what is as usual is left out. `sketch_from_json` reads it back."""
    row: dict[str, Any] = {"qid": sketch.qid, **_members(sketch)}
    if sketch.samples != 1:
        row["samples"] = sketch.samples
    if sketch.searches:
        row["searches"] = [_members(search) for search in sketch.searches]
    return row


def _members(sketch: Sketch) -> dict[str, Any]:
    members: dict[str, Any] = {
        "phrases": [_phrase_to_json(phrase) for phrase in sketch.phrases],
        "facets": list(sketch.facets),
    }
    if sketch.ranges:
        members["ranges"] = [_range_to_json(item) for item in sketch.ranges]
    return members


def _range_to_json(item: SketchRange) -> dict[str, Any]:
    fields = {"field": item.field, "gte": item.gte, "lte": item.lte, "role": item.role}
    return {name: value for name, value in fields.items() if value is not None and (name, value) != ("role", "filter")}


def _phrase_to_json(phrase: SketchPhrase) -> str | dict[str, Any]:
    fields: dict[str, Any] = {}
    if phrase.role != "should":
        fields["role"] = phrase.role
    if phrase.weight is not None:
        fields["weight"] = phrase.weight
    if phrase.sample:
        fields["sample"] = phrase.sample
    return {"text": phrase.text, **fields} if fields else phrase.text


def sketch_from_json(row: object, place: str) -> Sketch:
    """One decoded row. Raises InputError naming the place, the field and the fault."""
    if not isinstance(row, dict):
        raise InputError(f"{place}: a sketch must be a JSON object with qid and phrases")
    data = cast(dict[str, Any], row)
    qid = data.get("qid", data.get("query_id"))
    if isinstance(qid, int) and not isinstance(qid, bool) and abs(qid) < 2**63:
        qid = str(qid)
    if not isinstance(qid, str) or not qid:
        raise InputError(f"{place}: `qid` is missing or no string")
    phrases = data.get("phrases")
    if phrases is None and isinstance(data.get("text"), str):
        phrases = [part.strip() for part in _PARTS.split(data["text"]) if part.strip()]
    if phrases is None and not data.get("facets") and not data.get("ranges"):
        given = ", ".join(sorted(data)) or "nothing"
        raise InputError(
            f"{place}: topic {qid!r}: a sketch has `phrases` (or `facets`, `ranges`, or a `text`); this has {given}"
        )
    foreign = "text" in data and "phrases" not in data  # another tool's row has what it has
    unknown = [] if foreign else sorted(set(data) - _KNOWN)
    if unknown:
        raise InputError(f"{place}: topic {qid!r}: {unknown[0]!r} is no field of a sketch: roles stand at each phrase")
    provenance = data.get("provenance")
    by_model = isinstance(provenance, dict) and bool(cast(dict[str, Any], provenance).get("model"))
    try:
        return Sketch(
            qid,
            _phrases(phrases),
            _facets(data.get("facets")),
            _count(data.get("samples", 1), "samples", 1),
            _searches(qid, data.get("searches"), by_model),
            by_model,
            _ranges(data.get("ranges")),
        )
    except InputError as error:
        raise InputError(f"{place}: topic {qid!r}: {error}") from None


def _phrases(phrases: Any) -> tuple[SketchPhrase, ...]:
    phrases = [] if phrases is None else phrases
    if not isinstance(phrases, list) or len(cast(list[Any], phrases)) > MAX_PHRASES:
        raise InputError(f"`phrases` must be a list of at most {MAX_PHRASES} items")
    return tuple(_phrase(item) for item in cast(list[Any], phrases))


def _facets(facets: Any) -> tuple[str, ...]:
    facets = [] if facets is None else facets
    if not isinstance(facets, list) or not all(isinstance(item, str) for item in cast(list[Any], facets)):
        raise InputError("`facets` must be a list of strings")
    return tuple(cast(list[str], facets))


def _ranges(ranges: Any) -> tuple[SketchRange, ...]:
    ranges = [] if ranges is None else ranges
    if not isinstance(ranges, list) or len(cast(list[Any], ranges)) > MAX_RANGES:
        raise InputError(f"`ranges` must be a list of at most {MAX_RANGES} items")
    return tuple(_range(item) for item in cast(list[Any], ranges))


def _range(item: object) -> SketchRange:
    fields = cast(dict[str, Any], item) if isinstance(item, dict) else dict[str, Any]()
    if not isinstance(fields.get("field"), str) or set(fields) - {"field", "gte", "lte", "role"}:
        raise InputError(
            f"range {_shown(cast(object, item))}: it needs `field`, and may have `gte`, `lte` and `role` only"
        )
    low, high = fields.get("gte"), fields.get("lte")
    if not all(bound is None or isinstance(bound, int | float | str) for bound in (low, high)):
        raise InputError(f"range {_shown(cast(object, item))}: a bound is a number, or a date as a string")
    return SketchRange(fields["field"], low, high, cast("RangeRole", _role(fields, "filter")))


def _searches(qid: str, searches: Any, by_model: bool) -> tuple[Sketch, ...]:
    searches = [] if searches is None else searches
    if not isinstance(searches, list) or len(cast(list[Any], searches)) > MAX_SEARCHES:
        raise InputError(f"`searches` must be a list of at most {MAX_SEARCHES} items")
    found: list[Sketch] = []
    for item in cast(list[Any], searches):
        if not isinstance(item, dict) or set(cast(dict[str, Any], item)) - {"phrases", "facets", "ranges"}:
            raise InputError(
                "`searches`: each is an object with `phrases`, and `facets` and `ranges` where it has some"
            )
        members = cast(Mapping[str, Any], item)
        phrases, facets = _phrases(members.get("phrases")), _facets(members.get("facets"))
        found.append(Sketch(qid, phrases, facets, by_model=by_model, ranges=_ranges(members.get("ranges"))))
    return tuple(found)


def _count(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_SAMPLES:
        raise InputError(f"`{name}` must be a whole number from {least} to {MAX_SAMPLES}; it is {_shown(value)}")
    return value


def _phrase(item: Any) -> SketchPhrase:
    if isinstance(item, str):
        return SketchPhrase(item)
    if not isinstance(item, dict):
        raise InputError(
            f"phrase {_shown(cast(object, item))}: write a string, or an object with text, role and weight"
        )
    fields = cast(dict[str, Any], item)
    unknown = set(fields) - {"text", "role", "weight", "sample"}
    if unknown or not isinstance(fields.get("text"), str):
        raise InputError(
            f"phrase {_shown(cast(object, item))}: it needs `text`, and may have `role`, `weight` and `sample` only"
        )
    weight = fields.get("weight")
    if weight is not None:
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise InputError(
                f"phrase {fields['text']!r} has the weight {_shown(weight)}: weights are finite numbers >= 0"
            )
        try:
            weight = float(weight)
        except OverflowError:
            weight = float("inf")
    sample = _count(fields.get("sample", 0), "sample", 0)
    return SketchPhrase(fields["text"], cast("Role", _role(fields, "should")), weight, sample)


def _role(fields: Mapping[str, Any], usual: str) -> str:
    role = fields.get("role", usual)
    if not isinstance(role, str):
        raise InputError(f"the role {_shown(role)} is no string")
    return role


def _shown(value: object) -> str:
    """What stands there, shortened for a message."""
    try:
        return reprlib.repr(value)
    except (ValueError, RecursionError):
        return "a value that cannot be shown"


def read_sketches(path: str | Path) -> dict[str, Sketch]:
    """All sketches of a .jsonl or .jsonl.gz file by qid. Raises InputError naming file, line and field."""
    sketches: dict[str, Sketch] = {}
    for place, row in json_rows(Path(path)):
        sketch = sketch_from_json(row, str(place))
        if sketch.qid in sketches:
            raise InputError(f"{place}: topic {sketch.qid!r} has a sketch already: keep one a topic")
        sketches[sketch.qid] = sketch
    return sketches
