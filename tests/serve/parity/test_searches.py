"""One search, one answer, by whatever way it is asked: Python, the command line, HTTP, the clients, MCP (case G85)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

from mcp import Client, StdioServerParameters

from sira import Compiler, Index, Sira, Topic, bind, compile_sketch, parse_query, program_from_json, program_to_json
from sira.client import AsyncSiraClient, SiraClient
from sira.compile.sketches import sketch_from_json
from tests.serve.parity.support import Place, sira

pytestmark = [pytest.mark.java, pytest.mark.slow]

SKETCH = {"phrases": ["pale green", {"text": "kiln shelves", "weight": 0.5}], "facets": ["category:glazes"]}
RANGE = {"phrases": ["iron"], "ranges": [{"field": "year", "gte": 1000, "lte": 1600}]}

Hits = list[tuple[str, float]]


@dataclass(frozen=True)
class Asked:
    """A search as HTTP and the clients take it; the other ways are made of it."""

    body: Mapping[str, Any]

    @property
    def tool(self) -> dict[str, Any]:
        """For MCP's explain, which gives whole scores."""
        names = {"query": "topic", "program_text": "program"}
        return {"reason": "a test", **{names.get(name, name): value for name, value in self.body.items()}}


SEARCHES = {
    "words": Asked({"query": "kiln glaze of iron"}),
    "facet": Asked({"topic": "kiln glaze", "sketch": SKETCH}),
    "range": Asked({"topic": "kiln glaze", "sketch": RANGE}),
    "text": Asked({"program_text": 'glaze^2 iron "kiln shelves"'}),
    "filters": Asked({"program_text": "glaze iron^3 category:glazes year:[1000 TO 1990] -cobalt"}),
}


@pytest.fixture(scope="module")
def programs(place: Place) -> dict[str, Asked]:
    """The compiled sketches once more, as JSON."""
    with Index(place.good) as index:
        return {
            f"{name}-json": Asked({"program": dict(program_to_json(in_python(index, asked)[1]))})
            for name, asked in SEARCHES.items()
            if "sketch" in asked.body
        }


def in_python(index: Index, asked: Asked) -> tuple[Hits, Any]:
    body = asked.body
    if "program" in body:
        program = program_from_json(body["program"])
    elif "program_text" in body:
        program = bind(parse_query(body["program_text"]), index)
    else:
        sketch = sketch_from_json({"qid": "q", **body["sketch"]}, "sketch") if "sketch" in body else None
        topic = Topic("q", body.get("topic", body.get("query")))
        program = compile_sketch(topic, sketch, index)
        answer = Sira({} if sketch is None else {"q": sketch}, Compiler()).answer(topic, index, 10)
        assert list(answer.ranking) == list(index.search(program, 10))
    return [(hit.docid, hit.score) for hit in index.search(program, 10)], program


def commands(every: Mapping[str, Asked], folder: Path) -> list[list[str]]:
    """The arguments of `sira search`: one for all topics and their sketches, one for texts, one for JSON."""

    def write(name: str, rows: Mapping[str, Any]) -> str:
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows.values()))
        return str(folder / name)

    topics = {
        name: {"_id": name, "text": asked.body[key]}
        for name, asked in every.items()
        for key in ("query", "topic")
        if key in asked.body
    }
    sketches = {name: {"qid": name, **every[name].body["sketch"]} for name in topics if "sketch" in every[name].body}
    texts = {
        name: {"_id": name, "text": asked.body["program_text"]}
        for name, asked in every.items()
        if "program_text" in asked.body
    }
    compiled = {
        name: {**asked.body["program"], "qid": name} for name, asked in every.items() if "program" in asked.body
    }
    return [
        ["--topics", write("topics.jsonl", topics), "--sketches", write("sketches.jsonl", sketches)],
        ["--topics", write("texts.jsonl", texts), "--syntax", "program"],
        ["--program", write("programs.jsonl", compiled)],
    ]


def printed(every: Mapping[str, Asked], folder: Path, *where: str | Path) -> dict[str, Hits]:
    found: dict[str, Hits] = {}
    for options in commands(every, folder):
        done = sira("search", *options, "--json", *where)
        assert done.returncode == 0, done.stderr
        for row in map(json.loads, done.stdout.splitlines()):
            found[row["qid"]] = [(hit["docid"], hit["score"]) for hit in row["hits"]]
    return found


async def by_mcp(client: Client, every: Mapping[str, Asked]) -> dict[str, Hits]:
    found: dict[str, Hits] = {}
    for name, asked in every.items():
        told: Any = await client.call_tool("explain", {**asked.tool, "limit": 100})
        assert not told.is_error, told
        found[name] = [(hit["docid"], hit["score"]) for hit in told.structured_content["hits"]]
        searched = asked.tool
        if "topic" in searched:  # search takes words, or what compile_sketch made of a sketch
            compiled: Any = await client.call_tool("compile_sketch", searched)
            searched = {"reason": "a test", "program": compiled.structured_content["program"]}
        ranking: Any = await client.call_tool("search", searched)
        assert ranking.structured_content["docids"] == [docid for docid, _ in found[name]]
    return found


def same(found: Hits, expected: Hits) -> None:
    assert [docid for docid, _ in found] == [docid for docid, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-6)


def test_the_same_search_has_the_same_hits_everywhere(
    place: Place, programs: Mapping[str, Asked], tmp_path: Path
) -> None:
    every = {**SEARCHES, **programs}
    with Index(place.good) as index:
        expected = {name: in_python(index, asked)[0] for name, asked in every.items()}
    assert all(len(hits) >= 2 for hits in expected.values())
    assert len({str(hits) for hits in expected.values()}) == len(SEARCHES)  # the JSON ones are those of sketches
    stdio = StdioServerParameters(
        command=sys.executable, args=["-m", "sira", "mcp", str(place.good)], env=dict(os.environ)
    )

    async def all_at_once() -> tuple[list[Any], dict[str, Hits], dict[str, Hits]]:
        async with AsyncSiraClient(place.url) as client:
            pages = await asyncio.gather(*(client.search("pots", **asked.body) for asked in every.values()))
        async with Client(f"{place.url}/mcp/pots") as http:
            over_http = await by_mcp(http, every)
        async with Client(stdio) as pipe:
            return pages, over_http, await by_mcp(pipe, every)

    pages, over_http, over_stdio = asyncio.run(all_at_once())
    for where in (("--index", place.good), ("--server", place.url)):
        from_command = printed(every, tmp_path, *where)
        assert from_command.keys() == every.keys()
        for name, hits in expected.items():
            same(from_command[name], hits)
    with SiraClient(place.url, index="pots") as client, httpx2.Client(base_url=place.url, trust_env=False) as http:
        for (name, asked), page in zip(every.items(), pages, strict=True):
            answer = http.post("/v1/indexes/pots/search", json=asked.body)
            assert answer.status_code == 200, answer.text
            same([(hit["docid"], hit["score"]) for hit in answer.json()["hits"]], expected[name])
            same([(hit.docid, hit.score) for hit in page.hits], expected[name])
            same([(hit.docid, hit.score) for hit in client.search(**asked.body).hits], expected[name])
            same(over_http[name], expected[name])
            same(over_stdio[name], expected[name])
