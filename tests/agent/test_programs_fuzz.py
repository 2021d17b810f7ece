"""Programs as a model may write them: every one is searched or refused in one line."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sira import Index
from sira.agent.base import Failure
from sira.agent.controller import Controller
from sira.records import Document

pytestmark = pytest.mark.java

WORDS = ["kiln", "raku kiln", "", "é", "\u0000", "x" * 40_000, "\ud800", "category:pot", "year", "9" * 400]
NUMBERS: list[Any] = [0, 1, -1, 2.5, 1e300, 1e-300, 10**30, -(10**30), True, None, "2", float("nan"), float("inf")]
PIECES = [
    "+",
    "-",
    "#",
    "?",
    "^",
    '"',
    "(",
    ")",
    "|",
    "[",
    "]",
    ":",
    "=",
    " ",
    "kiln",
    "raku",
    "year",
    "1990",
    "TO",
    "*",
    "{",
    "}",
    "//",
]


@pytest.fixture(scope="module")
def index(make_index: Callable[..., Path]) -> Index:
    documents = [
        Document(f"d{number}", f"raku kiln number {number}", facets=("category:pot",), values={"year": 1990 + number})
        for number in range(20)
    ]
    return Index(make_index(documents, value_fields={"year": "integer"}))


def clause(draw: random.Random) -> dict[str, Any]:
    kind = draw.choice(["term", "phrase", "any_of", "facet", "range", "other"])
    made: dict[str, Any] = {"kind": kind}
    match kind:
        case "term":
            made["term"] = draw.choice(WORDS)
        case "facet":
            made["facet"] = draw.choice(WORDS)
        case "range":
            made |= {"field": draw.choice(["year", "no"]), "gte": draw.choice(NUMBERS), "lte": draw.choice(NUMBERS)}
        case _:
            made["terms"] = draw.choices(WORDS, k=draw.randrange(4))
    if draw.random() < 0.4:
        made["weight"] = draw.choice(NUMBERS)
    if draw.random() < 0.4:
        made["occur"] = draw.choice(["must", "should", "must_not", "filter", "maybe"])
    if draw.random() < 0.2:
        made["df"] = draw.choice(NUMBERS)
    return made


def test_any_json_is_searched_or_refused(index: Index) -> None:
    draw = random.Random(11)
    controller = Controller(index)
    outcomes = {True: 0, False: 0}
    for _ in range(1500):
        program: dict[str, Any] = {"clauses": [clause(draw) for _ in range(draw.randrange(4))]}
        if draw.random() < 0.2:
            program["scoring"] = {draw.choice(["k1", "b", "combine", "contents_weight"]): draw.choice(NUMBERS)}
        result = controller.call("search", json.dumps({"reason": "r", "program": program}))
        assert result.failure in (None, Failure.INVALID_ARGUMENTS)
        outcomes[result.failure is None] += 1
        result.text.encode()
        json.dumps(result.details).encode()
        assert len(result.text.encode()) <= 50 * 1024
    assert min(outcomes.values()) > 100


def test_any_text_is_searched_or_refused(index: Index) -> None:
    draw = random.Random(12)
    controller = Controller(index)
    outcomes = {True: 0, False: 0}
    for _ in range(1500):
        text = "".join(draw.choices(PIECES, k=draw.randrange(1, 8)))
        result = controller.call("search", json.dumps({"reason": "r", "program": text}))
        assert result.failure in (None, Failure.INVALID_ARGUMENTS)
        outcomes[result.failure is None] += 1
    assert min(outcomes.values()) > 50
