"""Sketches from bytes, from decoded JSON and from a model's reply: whatever comes, a sketch or an error of sira's own.

Run as a script it tries more: python tests/compile/test_sketch_fuzz.py [COUNT [SEED]]
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sira.compile import CompileSettings, TableStatistics, compile_sketch
from sira.compile.settings import MAX_PHRASE_CHARACTERS
from sira.compile.sketches import read_sketches, sketch_from_json, sketch_to_json
from sira.errors import InputError
from sira.llm.base import Finish
from sira.llm.parsing import ReplyLimits
from sira.llm.sketch_reply import ParsedSketch, SketchLimits, parse_sketch
from sira.records import Sketch, Topic

STATISTICS = TableStatistics(100, {"kiln": 4, "raku": 60, "cwe": 50, "79": 2, "cwe 79": 2}, {"a:b": 3},
                             value_fields={"year": "integer", "day": "date"})  # fmt: skip
LIMITS = SketchLimits(ReplyLimits(5, 30, 6), max_facets=2, max_searches=2)
FINISHES = [finish for finish in Finish if finish is not Finish.PENDING]
SEEDS = [
    '{"qid": "1", "phrases": ["kiln", {"text": "CWE-79", "role": "must", "weight": 2, "sample": 1}], "samples": 2}',
    '{"qid": "2", "phrases": [], "facets": ["a:b"], "ranges": [{"field": "year", "gte": 1, "role": "should"}]}',
    '{"query_id": 3, "text": "kiln, raku; glaze"}',
    '{"qid": "4", "phrases": ["x"], "searches": [{"phrases": ["y"], "ranges": [{"field": "day", "gte": "2020"}]}],'
    ' "provenance": {"model": {"name": "m"}}}',
    '{"phrases":[{"text":"kiln","role":"should","weight":1},{"text":"raku","role":"must_not"}],"facets":["a:b"],'
    '"searches":[["slip","wash"]]}',
    '["kiln", "raku"]',
]
PIECES = [
    *'{}[]:,"\\', "\\u0000", "\\ud800", "\x00", "\ufeff", "é", "null", "true", "NaN", "Infinity", "-1", "1e999",
    "1" * 40, "9" * 5_000, "[" * 3_000, '{"a":' * 2_000, '"qid"', '"phrases"', '"text"', '"role"', '"must"', '"weight"',
    '"ranges"', '"field"', '"gte"', '"facets"', '"searches"', '"samples"', "```json", "<think>", "\n", " " * 300,
    "ab" * 300,
]  # fmt: skip


def texts(count: int, seed: int) -> Iterator[bytes]:
    """Rows and replies with pieces put in, taken out, doubled and cut off; one in ten is pieces alone."""
    draw = random.Random(seed)
    for number in range(count):
        if number % 10 == 0:
            yield "".join(draw.choices(PIECES, k=draw.randint(0, 12))).encode()
            continue
        text = bytearray(draw.choice(SEEDS).encode())
        for _ in range(draw.randint(0, 5)):
            start = draw.randrange(len(text) + 1)
            end = min(len(text), start + draw.choice((0, 0, 1, 1, 5, 40)))
            other = draw.choice(
                (draw.choice(PIECES).encode(), bytes(draw.randbytes(1)), bytes(text[start:end]) * 2, b"")
            )
            text[start:end] = other
        yield bytes(text)


def values(count: int, seed: int) -> Iterator[Any]:
    """Decoded rows with members of every kind."""
    draw = random.Random(seed)
    names = [
        "qid",
        "phrases",
        "facets",
        "ranges",
        "samples",
        "searches",
        "text",
        "role",
        "weight",
        "field",
        "gte",
        "lte",
    ]

    def value(depth: int) -> Any:
        kind = draw.randrange(5 if depth else 3)
        if kind == 0:
            return draw.choice([None, True, 0, -1, 2.5, 1e308, float("nan"), float("-inf"), 10**400, 10**5_000, 2**63])
        if kind < 3:
            return draw.choice(
                ["kiln", "must", "should", "filter", "year", "a:b", "", "\ud800", "2020-01-01", "CWE-79"]
            )
        if kind == 3:
            return [value(depth - 1) for _ in range(draw.randint(0, 3))]
        return {draw.choice(names): value(depth - 1) for _ in range(draw.randint(0, 4))}

    for _ in range(count):
        row = value(3)
        yield {"qid": "1", **row} if isinstance(row, dict) else row


def tried(row: Any) -> str:
    """What became of one decoded row; a sketch comes back from its own row, and compiles."""
    message = ""
    try:
        sketch = sketch_from_json(row, "here")
    except InputError as error:
        message = str(error)
    if message:
        assert message.startswith("here: ")
        assert len(message) < 20_000
        return "refused"
    plain = replace(sketch, by_model=False, searches=tuple(replace(item, by_model=False) for item in sketch.searches))
    assert sketch_from_json(sketch_to_json(plain), "again") == plain
    compiles(sketch)
    return "read"


def compiles(sketch: Sketch) -> None:
    program = compile_sketch(Topic(sketch.qid, "kiln"), sketch, STATISTICS, CompileSettings(ngrams="atoms"))
    assert {item.phrase for item in program.verdicts} >= {
        phrase.text[:MAX_PHRASE_CHARACTERS] for phrase in sketch.phrases
    }


def tried_file(data: bytes, path: Path) -> str:
    path.write_bytes(data)
    message = str(path)
    try:
        read_sketches(path)
    except InputError as error:
        message = f"refused: {error}"
    assert str(path) in message
    return "file refused" if message.startswith("refused") else "file read"


def tried_reply(text: str, number: int) -> str:
    parsed = parse_sketch(text, FINISHES[number % len(FINISHES)], LIMITS)
    within(parsed)
    compiles(Sketch("1", parsed.phrases, parsed.facets, by_model=True))
    return f"reply {parsed.status}"


def within(parsed: ParsedSketch) -> None:
    assert len(parsed.phrases) <= 5
    assert len(parsed.facets) <= 2
    assert len(parsed.searches) <= 2
    assert all(0 < len(phrase.text) <= 30 for phrase in parsed.phrases)
    assert all(count > 0 for count in parsed.dropped.values())


def check(count: int, seed: int, folder: Path) -> Counter[str]:
    """Try so many inputs, about as many of each kind."""
    found: Counter[str] = Counter()
    for number, data in enumerate(texts(count // 3, seed)):
        found[tried_file(data, folder / "sketches.jsonl")] += 1
        text = data.decode("utf-8", "surrogateescape")
        found[tried_reply(text, number)] += 1
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            continue
        found[tried(row)] += 1
    for row in values(count // 3, seed):
        found[tried(row)] += 1
    return found


def test_what_comes_is_read_or_refused(tmp_path: Path) -> None:
    found = check(6_000, 1, tmp_path)
    assert min(found["read"], found["refused"], found["file read"], found["file refused"], found["reply ok"]) > 100


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "role", "weight", "field", "gte", "phrases", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
MEMBERS = st.sampled_from(
    ["qid", "query_id", "phrases", "facets", "ranges", "samples", "searches", "text", "provenance"]
)


@settings(deadline=None, max_examples=500)
@given(st.dictionaries(MEMBERS, JSON, max_size=6) | JSON)
def test_any_decoded_row_is_read_or_refused(row: Any) -> None:
    assert tried(row) in ("read", "refused")


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=60) | JSON.map(lambda value: json.dumps(value, default=str)), st.integers(0, 9))
def test_any_reply_is_parsed(text: str, number: int) -> None:
    assert tried_reply(text, number).startswith("reply ")


if __name__ == "__main__":
    count, seed = (int(argument) for argument in (sys.argv[1:] + ["100000", "7"][len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as work:
        print(check(count, seed, Path(work)))
