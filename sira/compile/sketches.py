"""Reading sketches: JSON Lines, a topic a row: `qid`, `phrases` (strings, or text, role and weight), `facets`.

Keyword lists of other tools are read as they are: `query_id` for qid, and a `text` of keywords parted by commas,
semicolons or line ends for phrases.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

from sira.corpora.rows import json_rows
from sira.errors import InputError
from sira.records import Sketch, SketchPhrase

MAX_PHRASES = 10_000

_KNOWN = {"qid", "query_id", "phrases", "facets", "text", "status", "usage", "provenance"}
_PARTS = re.compile(r"[,;\n]")


def sketch_from_json(row: object, place: str) -> Sketch:
    """One decoded row. Raises InputError naming the place, the field and the fault."""
    if not isinstance(row, dict):
        raise InputError(f"{place}: a sketch must be a JSON object with qid and phrases")
    data = cast(dict[str, Any], row)
    qid = data.get("qid", data.get("query_id"))
    if not isinstance(qid, str | int) or isinstance(qid, bool) or qid == "":
        raise InputError(f"{place}: `qid` is missing or no string")
    phrases, facets = data.get("phrases"), data.get("facets", [])
    if phrases is None and isinstance(data.get("text"), str):
        phrases = [part.strip() for part in _PARTS.split(data["text"]) if part.strip()]
    unknown = sorted(set(data) - _KNOWN) if "phrases" in data else []
    if unknown:
        raise InputError(f"{place}: topic {qid!r}: {unknown[0]!r} is no field of a sketch: roles stand at each phrase")
    if phrases is None and not facets:
        given = ", ".join(sorted(data)) or "nothing"
        raise InputError(f"{place}: topic {qid!r}: a sketch has `phrases` (or `facets`, or a `text`); this has {given}")
    phrases = phrases or []
    if not isinstance(phrases, list) or len(cast(list[Any], phrases)) > MAX_PHRASES:
        raise InputError(f"{place}: topic {qid!r}: `phrases` must be a list of at most {MAX_PHRASES} items")
    if not isinstance(facets, list) or not all(isinstance(item, str) for item in cast(list[Any], facets)):
        raise InputError(f"{place}: topic {qid!r}: `facets` must be a list of strings")
    try:
        parsed = tuple(_phrase(item) for item in cast(list[Any], phrases))
    except InputError as error:
        raise InputError(f"{place}: topic {qid!r}: {error}") from None
    return Sketch(str(qid), parsed, tuple(cast(list[str], facets)))


def _phrase(item: Any) -> SketchPhrase:
    if isinstance(item, str):
        return SketchPhrase(item)
    if not isinstance(item, dict):
        raise InputError(f"phrase {item!r}: write a string, or an object with text, role and weight")
    fields = cast(dict[str, Any], item)
    unknown = set(fields) - {"text", "role", "weight"}
    if unknown or not isinstance(fields.get("text"), str):
        raise InputError(f"phrase {json.dumps(item)[:80]}: it needs `text`, and may have `role` and `weight` only")
    weight = fields.get("weight")
    if weight is not None:
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise InputError(f"phrase {fields['text']!r} has the weight {weight!r}: weights are finite numbers >= 0")
        try:
            weight = float(weight)
        except OverflowError:
            weight = float("inf")
    return SketchPhrase(fields["text"], fields.get("role", "should"), weight)


def read_sketches(path: str | Path) -> dict[str, Sketch]:
    """All sketches of a .jsonl or .jsonl.gz file by qid. Raises InputError naming file, line and field."""
    sketches: dict[str, Sketch] = {}
    for place, row in json_rows(Path(path)):
        sketch = sketch_from_json(row, str(place))
        if sketch.qid in sketches:
            raise InputError(f"{place}: topic {sketch.qid!r} has a sketch already: keep one a topic")
        sketches[sketch.qid] = sketch
    return sketches
