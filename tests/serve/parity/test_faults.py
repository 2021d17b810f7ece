"""One fault, one kind and one wording, by whatever way a search is asked (case G85)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `serve`) is not installed")

from mcp import Client

from sira import Index, Topic, compile_sketch, parse_query
from sira.client import AsyncSiraClient, InvalidRequestError, Problem, SiraClient
from sira.errors import IndexFault, NotFoundError, ProgramError, SiraError
from tests.serve.parity.support import Place, sira

pytestmark = [pytest.mark.java, pytest.mark.slow]


def raised(call: Callable[[], Any]) -> SiraError:
    with pytest.raises(SiraError) as caught:
        call()
    return caught.value


def over_mcp(url: str, index: str, tool: str, **fields: Any) -> tuple[str, str]:
    """The code and the text of a call that fails."""

    async def call() -> Any:
        async with Client(f"{url}/mcp/{index}") as client:
            return await client.call_tool(tool, {"reason": "a test", **fields})

    found = asyncio.run(call())
    assert found.is_error, found
    return found.meta["sira/failure"]["failure"], found.content[0].text


async def problem_async(url: str, index: str, **body: Any) -> Problem:
    async with AsyncSiraClient(url) as client:
        try:
            await client.search(index, **body)
        except Problem as problem:
            return problem
    raise AssertionError("it was answered")


def everywhere(url: str, index: str, status: int, kind: str, **body: Any) -> str:
    """What HTTP, both clients and `sira search --server` tell of a search that fails, which is the same."""
    answer = httpx2.post(f"{url}/v1/indexes/{index}/search", json=body, trust_env=False)
    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:sira:problem:{kind}")
    detail = answer.json()["detail"]
    with SiraClient(url, index=index) as client:
        for problem in (raised(lambda: client.search(**body)), asyncio.run(problem_async(url, index, **body))):
            assert isinstance(problem, Problem)
            assert (problem.status, problem.kind, str(problem)) == (status, kind, detail)
    query = [body["query"]] if "query" in body else [body["program_text"], "--syntax", "program"]
    depth = ["-k", str(body["k"])] if "k" in body else []
    done = sira("search", *query, *depth, "--server", url, "--index", index)
    said = done.stderr.replace("error: topic 'q': ", "error: ")
    assert (done.returncode, said) == (2 if status < 500 else 1, f"sira: error: {detail}\n")
    return detail


@pytest.mark.parametrize("name", ["damaged", "gone"])
def test_an_index_that_cannot_be_opened(place: Place, name: str) -> None:
    folder = place.damaged if name == "damaged" else place.gone
    own = raised(lambda: Index(folder))
    assert isinstance(own, IndexFault)
    done = sira("search", "kiln", "--index", folder)
    assert (done.returncode, done.stderr) == (1, f"sira: error: {own}\n")
    told = str(own).replace(f"--index {folder}", "--index DIR").replace(str(folder), f"index {name}")
    assert everywhere(place.url, name, 503, "index-unavailable", query="kiln") == told
    assert over_mcp(place.url, name, "search", query="kiln") == ("tool_execution_failed", f"search failed: {told}.")


def test_an_index_that_is_not_served(place: Place) -> None:
    told = everywhere(place.url, "other", 404, "not-found", query="kiln")
    assert told == 'index "other" is not served here: choose pots, damaged, gone'
    answer = httpx2.post(
        f"{place.url}/mcp/other",
        json={"jsonrpc": "2.0", "id": 1, "method": "ping"},
        headers={"accept": "application/json, text/event-stream"},
        trust_env=False,
    )
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "There is no index at '/mcp/other': there are pots, damaged, gone"


def test_a_program_that_cannot_be_read(place: Place) -> None:
    text = "+glaze\n(celadon"
    own = raised(lambda: parse_query(text))
    assert isinstance(own, ProgramError)
    done = sira("search", text, "--syntax", "program", "--index", place.good)
    assert (done.returncode, done.stderr) == (2, f"sira: error: {own}\n")
    assert everywhere(place.url, "pots", 422, "invalid-program", program_text=text) == str(own)
    for tool in ("search", "explain"):
        code, said = over_mcp(place.url, "pots", tool, program=text)
        assert code == "invalid_tool_arguments"
        assert said.startswith(f"Invalid {tool} arguments: {own}.")


def test_a_docid_that_is_not_there(place: Place) -> None:
    with Index(place.good) as index:
        own = raised(lambda: index.document("doc-404"))
    assert isinstance(own, NotFoundError)
    done = sira("explain", "q", "doc-404", "--query", "kiln", "--index", place.good)
    assert (done.returncode, done.stderr) == (2, f"sira: error: {own}\n")
    answer = httpx2.get(f"{place.url}/v1/indexes/pots/documents?docid=doc-404", trust_env=False)
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:sira:problem:not-found")
    told = answer.json()["detail"]  # it begins with the name of the field, as every problem that has one
    assert told.replace("docid: ", "docid ").replace('"', "'") == str(own).replace(str(place.good), "index pots")

    async def over_asyncio() -> None:
        async with AsyncSiraClient(place.url, index="pots") as client:
            await client.document("doc-404")

    with SiraClient(place.url, index="pots") as client:
        for problem in (raised(lambda: client.document("doc-404")), raised(lambda: asyncio.run(over_asyncio()))):
            assert isinstance(problem, NotFoundError)
            assert str(problem) == told
    code, said = over_mcp(place.url, "pots", "read_document", docid="doc-404")  # Pi-Serini's words
    assert code == "tool_execution_failed"
    assert re.match('read_document failed: docid "doc-404" was not found', said)


def test_a_blank_query_finds_nothing_and_is_no_error(place: Place) -> None:
    with Index(place.good) as index:
        assert not list(index.search(compile_sketch(Topic("q", " "), None, index), 10))
    for where in (("--index", place.good), ("--server", place.url)):
        done = sira("search", " ", *where)
        told = (
            "sira: warning: topic 'q': the program has no clause: no word of the query is left after analysis: 0 hits"
        )
        assert (done.returncode, done.stdout, done.stderr.splitlines()[0]) == (0, "", told)
    answer = httpx2.post(f"{place.url}/v1/indexes/pots/search", json={"query": " "}, trust_env=False)
    assert (answer.status_code, answer.json()["hits"]) == (200, [])
    with SiraClient(place.url, index="pots") as client:
        assert not client.search(query=" ").hits
    # a model is told to mend it: Pi-Serini's tools ask for words
    assert over_mcp(place.url, "pots", "search", query=" ")[0] == "invalid_tool_arguments"


def test_deeper_than_the_server_searches(place: Place) -> None:
    told = everywhere(place.url, "pots", 422, "invalid-value", query="kiln", k=1001)
    assert told == "k: 1,001 is deeper than this server searches here: give at most 1,000"
    code, said = over_mcp(place.url, "pots", "explain", topic="kiln", offset=101)
    assert (code, "explain goes down to rank 100" in said) == ("invalid_tool_arguments", True)
    with SiraClient(place.url, index="pots") as client:
        assert isinstance(raised(lambda: client.search(query="kiln", k=1001)), InvalidRequestError)
        assert len(client.search(query="kiln", k=1000).hits) == 2
