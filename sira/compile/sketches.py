"""Sketches as JSON: JSON Lines, a topic a row: `qid`, `phrases` (strings, or text, role, weight and sample), `facets`.

`samples` counts the replies that the row is of, and `searches` holds further sketches (phrases and facets) of the same
topic. A row whose `provenance` names a model is that model's work. Keyword lists of other tools are read as they are:
`query_id` for qid, and a `text` of keywords parted by commas, semicolons or line ends for phrases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from sira.corpora.rows import json_rows
from sira.errors import InputError
from sira.records import Sketch, SketchPhrase

MAX_PHRASES = 10_000
MAX_SAMPLES = 10_000
MAX_SEARCHES = 100

_KNOWN = {
    "qid", "query_id", "phrases", "facets", "text", "samples", "searches", "status", "detail", "dropped", "failed",
    "errors", "usage", "provenance",
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
    return {"phrases": [_phrase_to_json(phrase) for phrase in sketch.phrases], "facets": list(sketch.facets)}


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
    if not isinstance(qid, str | int) or isinstance(qid, bool) or qid == "":
        raise InputError(f"{place}: `qid` is missing or no string")
    phrases = data.get("phrases")
    if phrases is None and isinstance(data.get("text"), str):
        phrases = [part.strip() for part in _PARTS.split(data["text"]) if part.strip()]
    unknown = sorted(set(data) - _KNOWN) if "phrases" in data else []
    if unknown:
        raise InputError(f"{place}: topic {qid!r}: {unknown[0]!r} is no field of a sketch: roles stand at each phrase")
    if phrases is None and not data.get("facets"):
        given = ", ".join(sorted(data)) or "nothing"
        raise InputError(f"{place}: topic {qid!r}: a sketch has `phrases` (or `facets`, or a `text`); this has {given}")
    provenance = data.get("provenance")
    by_model = isinstance(provenance, dict) and bool(cast(dict[str, Any], provenance).get("model"))
    try:
        return Sketch(
            str(qid),
            _phrases(phrases),
            _facets(data.get("facets")),
            _count(data.get("samples", 1), "samples", 1),
            _searches(str(qid), data.get("searches"), by_model),
            by_model,
        )
    except InputError as error:
        raise InputError(f"{place}: topic {qid!r}: {error}") from None


def _phrases(phrases: Any) -> tuple[SketchPhrase, ...]:
    phrases = phrases or []
    if not isinstance(phrases, list) or len(cast(list[Any], phrases)) > MAX_PHRASES:
        raise InputError(f"`phrases` must be a list of at most {MAX_PHRASES} items")
    return tuple(_phrase(item) for item in cast(list[Any], phrases))


def _facets(facets: Any) -> tuple[str, ...]:
    facets = [] if facets is None else facets
    if not isinstance(facets, list) or not all(isinstance(item, str) for item in cast(list[Any], facets)):
        raise InputError("`facets` must be a list of strings")
    return tuple(cast(list[str], facets))


def _searches(qid: str, searches: Any, by_model: bool) -> tuple[Sketch, ...]:
    searches = [] if searches is None else searches
    if not isinstance(searches, list) or len(cast(list[Any], searches)) > MAX_SEARCHES:
        raise InputError(f"`searches` must be a list of at most {MAX_SEARCHES} items")
    found: list[Sketch] = []
    for item in cast(list[Any], searches):
        if not isinstance(item, dict) or set(cast(dict[str, Any], item)) - {"phrases", "facets"}:
            raise InputError("`searches`: each is an object with `phrases`, and `facets` where it has some")
        members = cast(Mapping[str, Any], item)
        found.append(Sketch(qid, _phrases(members.get("phrases")), _facets(members.get("facets")), by_model=by_model))
    return tuple(found)


def _count(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_SAMPLES:
        raise InputError(f"`{name}` must be a whole number from {least} to {MAX_SAMPLES}; it is {str(value)[:40]}")
    return value


def _phrase(item: Any) -> SketchPhrase:
    if isinstance(item, str):
        return SketchPhrase(item)
    if not isinstance(item, dict):
        raise InputError(f"phrase {item!r}: write a string, or an object with text, role and weight")
    fields = cast(dict[str, Any], item)
    unknown = set(fields) - {"text", "role", "weight", "sample"}
    if unknown or not isinstance(fields.get("text"), str):
        raise InputError(
            f"phrase {json.dumps(item)[:80]}: it needs `text`, and may have `role`, `weight` and `sample` only"
        )
    weight = fields.get("weight")
    if weight is not None:
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise InputError(f"phrase {fields['text']!r} has the weight {weight!r}: weights are finite numbers >= 0")
        try:
            weight = float(weight)
        except OverflowError:
            weight = float("inf")
    return SketchPhrase(
        fields["text"], fields.get("role", "should"), weight, _count(fields.get("sample", 0), "sample", 0)
    )


def read_sketches(path: str | Path) -> dict[str, Sketch]:
    """All sketches of a .jsonl or .jsonl.gz file by qid. Raises InputError naming file, line and field."""
    sketches: dict[str, Sketch] = {}
    for place, row in json_rows(Path(path)):
        sketch = sketch_from_json(row, str(place))
        if sketch.qid in sketches:
            raise InputError(f"{place}: topic {sketch.qid!r} has a sketch already: keep one a topic")
        sketches[sketch.qid] = sketch
    return sketches
