"""The client against a real server: every method, every kind of error, sync and async alike."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Generator
from pathlib import Path

import pytest

from sira.client import (
    AbsentError,
    AsyncSiraClient,
    InvalidRequestError,
    SiraClient,
    UnauthorizedError,
    UnreachableError,
)
from sira.compile import compile_sketch
from sira.errors import EnvironmentFault, InputError, NotFoundError
from sira.lucene.reader import Index
from sira.program import Scoring
from sira.records import Outcome, Sketch, SketchPhrase, Topic
from tests.client.conftest import TOKEN
from tests.client.support import DOCUMENTS, Served

pytestmark = pytest.mark.java


@pytest.fixture
def client(served: Served) -> Generator[SiraClient]:
    with SiraClient(served.url, TOKEN) as client:
        yield client


@pytest.fixture(scope="module")
def index(pottery: Path) -> Generator[Index]:
    with Index(pottery) as opened:
        yield opened


def test_what_the_server_says_of_itself(client: SiraClient) -> None:
    assert client.health() == {"status": "ok"}
    assert client.ready() == {"status": "ready"}
    assert client.version().settings["token"] is True
    assert client.openapi()["openapi"].startswith("3.1")
    assert "# TYPE" in client.metrics()


def test_indexes(client: SiraClient) -> None:
    found = client.indexes()
    assert found.default == "pottery"
    assert [state.name for state in found.indexes] == ["pottery"]
    facts = client.manifest()
    assert (facts.name, facts.documents) == ("pottery", len(DOCUMENTS))
    assert facts.manifest["stored_text"] is True


def test_a_search_is_that_of_the_library(client: SiraClient, index: Index) -> None:
    topic, sketch = Topic("q", "pale glaze"), Sketch("q", (SketchPhrase("kiln shelves", "must"), SketchPhrase("agent")))
    program = compile_sketch(topic, sketch, index)
    page = client.search(
        topic=topic.text,
        sketch={"phrases": [{"text": "kiln shelves", "role": "must"}, "agent"]},
        relax=False,
        with_program=True,
        titles=True,
    )
    assert page.ranking == index.search(program, 10)
    assert page.programs == (program,)
    assert page.titles == {"wash": "Kiln wash"}
    assert (page.total, page.next_offset) == (1, None)


def test_pages_of_one_ranking(client: SiraClient, index: Index) -> None:
    program = compile_sketch(Topic("q", "pale green celadon glaze"), None, index)
    whole = index.search(program, 10)
    first = client.search(program=program, limit=2)
    assert [hit.rank for hit in first.hits] == [1, 2]
    assert first.titles is None
    assert first.next_offset == 3
    rest = client.search(program=program, offset=first.next_offset)
    assert (*first.ranking.docids, *rest.ranking.docids) == whole.docids
    assert client.search(query="pale green celadon glaze", k=10).ranking == whole


def test_compile(client: SiraClient, index: Index) -> None:
    sketch = {"phrases": ["kiln shelves", "porcelain"], "searches": [{"phrases": ["sawdust"]}]}
    found = client.compile(topic="glaze", sketch=sketch, further=True, settings={"k1": 1.5, "gate": "off"})
    assert found.program.scoring == Scoring(k1=1.5)
    assert found.documents == len(DOCUMENTS)
    assert {verdict.phrase: verdict.outcome for verdict in found.verdicts}["porcelain"] is Outcome.UNSEEN
    assert found.further is not None
    assert found.clauses[0].label == "glaze"
    assert "sawdust" in found.further[0].text
    again = client.compile(program_text=found.text)
    assert again.program.clauses == found.program.clauses


def test_explain(client: SiraClient) -> None:
    found = client.explain(topic="glaze", sketch={"phrases": ["sawdust"]}, docids=["raku"], k=3)
    assert {hit["docid"] for hit in found.hits} >= {"celadon"}
    assert [item["docid"] for item in found.missed] == ["raku"]
    assert found.k == 3
    assert found.sketch is not None


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.title or "untitled")
def test_documents_of_any_docid_read_back_byte_for_byte(client: SiraClient, document: object) -> None:
    expected = next(item for item in DOCUMENTS if item is document)
    offset: int | None = 1
    parts: list[str] = []
    while offset is not None:
        page = client.document(expected.docid, offset, 1)
        parts.append(page.text)
        offset = page.next_offset
    assert "".join(parts) == expected.text
    assert (page.title, page.facets) == (expected.title, expected.facets)


def test_find_and_terms(client: SiraClient) -> None:
    found = client.find("odd/id ü?#%", r"goes\s+on", mode="regex", limit=2)
    assert (found.total, len(found.matches), found.next_offset) == (30, 2, 3)
    told = client.terms(["glaze", "porcelain"])
    assert [item.df for item in told.terms] == [3, 0]
    assert told.terms[0].analysed == ("glaze",)


def test_sessions(client: SiraClient) -> None:
    session = client.open_session("pi-serini")
    names = [tool.name for tool in session.tools]
    assert names == ["search", "read_search_results", "read_document"]
    found = client.call_tool(session.session, "search", {"reason": "a test", "query": "celadon"})
    assert found.failure is None
    assert "celadon" in found.text
    spoiled = client.call_tool(session.session, "search", "{")
    assert spoiled.failure == "invalid_tool_arguments"
    with pytest.raises(InvalidRequestError, match="arguments"):  # what a model wrote, read as JSON
        client.call_tool(session.session, "search", ["celadon"])  # pyright: ignore[reportArgumentType]
    assert client.session(session.session).index == "pottery"
    with pytest.raises(AbsentError, match="choose search"):
        client.call_tool(session.session, "rm", {})
    client.close_session(session.session)
    with pytest.raises(AbsentError, match="open another one") as caught:
        client.session(session.session)
    assert caught.value.kind == "no-such-session"


def test_a_batch_has_its_errors_in_their_places(client: SiraClient) -> None:
    first, second, third = client.batch([{"query": "celadon"}, {"program_text": "+("}, {"query": "raku", "k": 1}])
    assert not isinstance(first, Exception)
    assert isinstance(second, InvalidRequestError)
    assert second.kind == "invalid-program"
    assert not isinstance(third, Exception)
    assert third.ranking.docids == ("raku",)


def test_pi_serinis_contract(client: SiraClient) -> None:
    found = client.pi_search("celadon", 1, index="pottery")
    assert found == {**client.pi_search("celadon", 1), "timingMs": found["timingMs"]}
    assert found["nextOffset"] == 1
    assert client.pi_read_document("raku")["totalUnits"] == 1
    assert client.pi_read_document("nowhere", index="pottery") == {"found": False}


def test_errors_have_kinds_of_their_own(client: SiraClient) -> None:
    with pytest.raises(InvalidRequestError, match="k: 5,000 is deeper") as caught:
        client.search(query="x", k=5000)
    error = caught.value
    assert isinstance(error, InputError)
    assert (error.status, error.item) == (422, "k")
    assert error.request_id
    with pytest.raises(NotFoundError, match="choose pottery"):
        client.search("other", query="x")
    with pytest.raises(AbsentError, match="choose one from a search"):
        client.document("nowhere")
    with pytest.raises(InvalidRequestError, match="exactly one of"):
        client.search(query="x", topic="x")
    with pytest.raises(InputError, match="finite numbers"):
        client.search(query="x", settings={"k1": float("nan")})
    with pytest.raises(InputError, match="half a character"):
        client.search(query="\ud800")
    with pytest.raises(InputError, match="no name"):
        client.search("..", query="x")
    for spoiled in ("\ud800", "x" * 100_000):
        with pytest.raises(InputError, match="cannot stand in an address"):
            client.document(spoiled)
    with pytest.raises(InputError, match="no whole text"):
        client.session(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="texts: give a list"):
        client.terms("glaze")
    with pytest.raises(InputError, match="searches: give a list"):
        client.batch({"query": "x"})  # pyright: ignore[reportArgumentType]
    for name in ("a/../../b", "%2e%2e", "x" * 300, "a\0b"):
        with pytest.raises(AbsentError):
            client.manifest(name)


@pytest.mark.parametrize("token", [None, "another-token-than-that-of-the-server"])
def test_a_token_is_needed(served: Served, token: str | None) -> None:
    with SiraClient(served.url, token) as client, pytest.raises(UnauthorizedError, match="asks for a token") as caught:
        client.search(query="x")
    assert caught.value.status == 401
    assert token is None or token not in str(caught.value)


def test_no_server() -> None:
    with SiraClient("http://127.0.0.1:9") as client, pytest.raises(UnreachableError, match="sira serve") as caught:
        client.health()
    assert isinstance(caught.value, EnvironmentFault)


def test_async_is_the_same(served: Served, client: SiraClient) -> None:
    async def ask() -> None:
        async with AsyncSiraClient(served.url, TOKEN) as other:
            pages = await asyncio.gather(*(other.search(query=text, k=5) for text in ("glaze", "kiln", "celadon") * 5))
            expected = [client.search(query=text, k=5) for text in ("glaze", "kiln", "celadon") * 5]
            assert [page.hits for page in pages] == [page.hits for page in expected]
            with pytest.raises(AbsentError):
                await other.document("nowhere")

    asyncio.run(ask())


def test_both_clients_have_the_same_methods() -> None:
    def methods(kind: type) -> dict[str, list[tuple[str, object, object]]]:
        return {
            name: [(item.name, item.default, item.kind) for item in inspect.signature(method).parameters.values()]
            for name, method in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_") or name == "__init__"
        }

    sync, other = methods(SiraClient), methods(AsyncSiraClient)
    other["close"] = other.pop("aclose")
    assert sync == other
