"""compile_sketch and explain: their programs run, their pages join, their faults can be mended."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sira.agent.arguments import CallFault
from sira.agent.base import ToolResult
from sira.agent.controller import Controller
from sira.agent.settings import SIRA, ToolSettings, named_scoring
from sira.compile import compile_sketch
from sira.compile.settings import CompileSettings
from sira.lucene.reader import Index
from sira.program import program_to_json
from sira.programtext import bind, parse_query
from sira.records import Document, Sketch, SketchPhrase, Topic
from sira.search import explain_search
from sira.serve.limits import Limits
from sira.serve.mcp.compiling import COMPILE, EXPLAIN, Programs
from sira.systems import Compiler
from tests.conftest import MakeIndex

pytestmark = pytest.mark.java
LIMITS = Limits(explain_k=12, phrases=5, query_characters=200, clauses=50)


@pytest.fixture(scope="module")
def path(make_index: MakeIndex) -> Path:
    return make_index(
        Document(
            f"d{number}", f"glaze {'kiln ' * (number % 4)}pot{number} {'sawdust' * (number == 7)}", f"Pot {number}"
        )
        for number in range(40)
    )


@pytest.fixture(scope="module")
def index(path: Path) -> Generator[Index]:
    with Index(path) as index:
        yield index


def call(index: Index, tool: str, settings: ToolSettings = SIRA, **fields: Any) -> ToolResult:
    programs = Programs(Compiler(CompileSettings(scoring=settings.scoring)), settings, LIMITS)
    return programs.call(index, tool, json.dumps({"reason": "a test", **fields}), lambda _: None)


@pytest.mark.parametrize("profile", ["anserini", "long"])
def test_the_program_that_comes_back_is_the_compilers(index: Index, profile: str) -> None:
    settings = replace(SIRA, scoring=named_scoring(profile))
    phrases = ["kiln pot3", "nowhere", {"text": "sawdust", "weight": 2}, {"text": "pot9", "role": "must_not"}]
    found = call(index, COMPILE, settings, topic="glaze pot1", sketch={"phrases": phrases})
    sketch = Sketch(
        "t",
        (
            SketchPhrase("kiln pot3"),
            SketchPhrase("nowhere"),
            SketchPhrase("sawdust", weight=2),
            SketchPhrase("pot9", "must_not"),
        ),
    )
    expected = compile_sketch(Topic("t", "glaze pot1"), sketch, index, CompileSettings(scoring=settings.scoring))
    read = bind(parse_query(found.details["program"]), index, settings.scoring)
    assert read.clauses == expected.clauses
    assert found.details["clauses"] == len(expected.clauses)
    assert sum(found.details["verdicts"].values()) == found.details["proposed"] == len(expected.verdicts)
    assert found.details["verdicts"]["unseen"] == 1
    assert 'unseen: "nowhere" as "nowher", df 0' in found.text
    with Controller(index, settings) as controller:
        arguments = json.dumps({"reason": "a test", "program": found.details["program"]})
        result = controller.call("search", arguments)
    assert result.details["retrievedDocids"] == list(index.search(expected, 1000).docids)


def test_a_program_with_a_scoring_of_its_own_keeps_it(index: Index) -> None:
    other = named_scoring("long")
    program = compile_sketch(Topic("t", "glaze pot1"), None, index, CompileSettings(scoring=other))
    found = call(index, EXPLAIN, program=program_to_json(program))
    text = found.details["program"]
    assert bind(parse_query(text), index, SIRA.scoring).scoring == other


def test_pages_of_verdicts_join(index: Index) -> None:
    asked: dict[str, Any] = {"topic": "glaze", "sketch": {"phrases": [f"pot{number} kiln" for number in range(5)]}}
    whole = call(index, COMPILE, **asked).text
    offset: int | None = 1
    parts: list[str] = []
    while offset is not None:
        page = call(index, COMPILE, **asked, offset=offset, limit=3)
        body = page.text.split("\n\n", 1)[1]
        offset = page.details["nextOffset"]
        if offset is not None:
            body, _, hint = body.rpartition("\n\n[Continue with compile_sketch(")
            assert f'"offset":{offset}' in hint
        parts.append(body)
    assert whole.split("\n\n", 1)[1] == "\n".join(parts)
    beyond = call(index, COMPILE, **asked, offset=1000)
    assert beyond.details["returnedOffsetStart"] == 0
    assert "There is no line 1000" in beyond.text


def test_explain_goes_through_the_ranks_page_by_page(index: Index) -> None:
    asked: dict[str, Any] = {"topic": "glaze kiln", "sketch": {"phrases": ["sawdust"]}}
    offset: int | None = 1
    ranks: list[int] = []
    hits: list[dict[str, Any]] = []
    while offset is not None:
        page = call(index, EXPLAIN, **asked, offset=offset, limit=5)
        hits += page.details["hits"]
        ranks += [hit["rank"] for hit in page.details["hits"]]
        offset = page.details["nextOffset"]
    assert ranks == list(range(1, 13))
    assert "Rank 12 is the last one that is explained" in page.text
    program = compile_sketch(Topic("topic", "glaze kiln"), Sketch("topic", (SketchPhrase("sawdust"),)), index)
    expected = explain_search(index, program, 12)
    assert [(hit["docid"], hit["score"], hit["plain_rank"]) for hit in hits] == [
        (hit.docid, hit.score, hit.plain.rank) for hit in expected.hits
    ]


def test_a_small_room_shows_fewer_hits_and_drops_none(make_index: MakeIndex) -> None:
    vases = " 🏺🏺🏺🏺🏺🏺🏺🏺" * 40
    path = make_index(Document(f"d{n}", f"glaze{vases} kiln{vases} pot{n}", "🏺" * 80) for n in range(12))
    small = replace(SIRA, max_bytes=13_312)
    offset: int | None = 1
    ranks: list[int] = []
    with Index(path) as index:
        while offset is not None:
            page = call(index, EXPLAIN, small, topic="glaze kiln", offset=offset, limit=12)
            assert 0 < len(page.details["hits"]) < 12
            assert len(page.text.encode()) <= small.max_bytes
            ranks += [hit["rank"] for hit in page.details["hits"]]
            offset = page.details["nextOffset"]
    assert ranks == list(range(1, 13))


def test_explain_tells_what_is_missed_and_why_nothing_is_found(index: Index) -> None:
    found = call(index, EXPLAIN, topic="pot1", docids=["d2", "nowhere", "d1"], limit=3)
    assert [item["docid"] for item in found.details["missed"]] == ["d2", "nowhere"]
    assert "Lacks: pot1" in found.text
    assert "docid=nowhere: the index has no such document" in found.text
    nothing = call(index, EXPLAIN, program="+unheard")
    assert nothing.details["hits"] == []
    assert "which no document holds" in nothing.text
    assert nothing.details["nextOffset"] is None


@pytest.mark.parametrize(
    ("tool", "fields", "told"),
    [
        (COMPILE, {}, "topic is missing"),
        (COMPILE, {"topic": " "}, "non-empty"),
        (COMPILE, {"topic": "x" * 201}, "more than 200 characters"),
        (COMPILE, {"topic": "a", "sketch": ["b"]}, "must be an object"),
        (COMPILE, {"topic": "a", "sketch": {"words": []}}, 'no field "words"'),
        (COMPILE, {"topic": "a", "sketch": {"phrases": ["a"] * 6}}, "more than 5 parts"),
        (COMPILE, {"topic": "a", "sketch": {"phrases": [1]}}, "write a string"),
        (COMPILE, {"topic": "a", "sketch": {"phrases": [{"text": "b", "weight": 1e999}]}}, "finite numbers"),
        (COMPILE, {"topic": "a", "sketch": {"phrases": [{"text": "b", "role": "maybe"}]}}, "choose should, must"),
        (COMPILE, {"topic": " ".join(f"w{n}" for n in range(51))}, "51 clauses"),
        (COMPILE, {"topic": "a", "query": "b"}, 'no field "query"'),
        (EXPLAIN, {}, "topic is missing"),
        (EXPLAIN, {"topic": "a", "program": "b"}, "either program, or topic"),
        (EXPLAIN, {"program": "a AND b"}, "expected '+'"),
        (EXPLAIN, {"program": {"clauses": 5}}, "clauses"),
        (EXPLAIN, {"program": 5}, "a text or an object"),
        (EXPLAIN, {"topic": "a", "offset": 13}, "give 1 to 12"),
        (EXPLAIN, {"topic": "a", "docids": ["d"] * 21}, "give 1 to 20"),
        (EXPLAIN, {"topic": "a", "limit": "5"}, "must be a number"),
    ],
)
def test_faults_say_what_to_mend(index: Index, tool: str, fields: dict[str, Any], told: str) -> None:
    with pytest.raises(CallFault) as fault:
        call(index, tool, **fields)
    assert told in str(fault.value)
    assert f"Invalid {tool} arguments: " in str(fault.value)
