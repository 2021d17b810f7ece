"""Pi-Serini's `http-json` contract: its documented answers, and our own client of it against our server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sira.agent.backend import BackendFault
from sira.agent.controller import Controller
from sira.agent.http_backend import HttpBackend
from sira.agent.settings import PI_SERINI
from sira.compile import compile_sketch
from sira.lucene.reader import Index
from sira.records import Document, Topic
from tests.conftest import MakeIndex
from tests.serve.http.support import DOCUMENTS, Running, is_problem, running

pytestmark = pytest.mark.java
MANY = tuple(Document(f"d{number}", f"glaze number {number} " + "word " * (number % 7)) for number in range(130))
ENDS = (
    Document("ends", "one\r\ntwo\rthree\u2028four\n\nsix\n"),
    Document("none", ""),
    Document("wide", "glaze " * 2000),
)


@pytest.fixture(scope="module")
def folder(make_index: MakeIndex) -> Path:
    return make_index((*DOCUMENTS, *MANY, *ENDS))


@pytest.fixture(scope="module")
def server(folder: Path, make_index: MakeIndex) -> Iterator[Running]:
    with running({"pots": folder, "other": make_index(DOCUMENTS[:2])}) as found:
        yield found


@pytest.fixture(scope="module")
def index(folder: Path) -> Iterator[Index]:
    with Index(folder) as found:
        yield found


def backend(server: Running, path: str = "/pi", **more: Any) -> HttpBackend:
    return HttpBackend(f"{server.url}{path}/search", f"{server.url}{path}/read-document", **more)


@pytest.mark.parametrize("page", [1000, 10, 7])
def test_our_client_of_the_contract_gets_the_librarys_ranking(server: Running, index: Index, page: int) -> None:
    ranking = index.search(compile_sketch(Topic("", "glaze clay"), None, index), 1000)
    found = backend(server, max_page_size=page).search("glaze clay", 1000)
    assert found.docids == ranking.docids
    assert found.scores == ranking.scores
    assert len(found.docids) > 130
    assert backend(server, max_page_size=page).search("glaze clay", 5).docids == ranking.docids[:5]


def test_our_client_reads_every_document_byte_for_byte(server: Running, index: Index) -> None:
    docids = [document.docid for document in (*DOCUMENTS, *ENDS)]
    texts = [None if found is None else found.text for found in backend(server).documents([*docids, "nowhere"])]
    assert texts == [document.text for document in (*DOCUMENTS, *ENDS)] + [None]


def test_the_tools_give_the_same_over_the_contract(server: Running, index: Index) -> None:
    with Controller(index, PI_SERINI) as near, Controller(backend(server), PI_SERINI) as far:
        for tool, arguments in (
            ("search", {"reason": "", "query": "glaze clay"}),
            ("read_search_results", {"reason": "", "search_id": "s1", "offset": 40, "limit": 5}),
            ("read_document", {"reason": "", "docid": "long", "offset": 100, "limit": 3}),
            ("read_document", {"reason": "", "docid": "nowhere"}),
        ):
            one, two = (controller.call(tool, json.dumps(arguments)) for controller in (near, far))
            assert one.text == two.text
            assert one.failure == two.failure
            assert dict(one.details).get("retrievedDocids") == dict(two.details).get("retrievedDocids")


def test_a_search_as_the_contract_documents_it(server: Running) -> None:
    answer = server.post("/pi/search", {"query": "kiln", "limit": 1}).json()
    assert answer.keys() <= {"hits", "totalHits", "nextOffset", "hasMore", "timingMs"}
    (hit,) = answer["hits"]
    assert hit.keys() <= {"docid", "score", "title", "snippet", "snippetTruncated", "metadata"}
    assert hit["docid"] == "kiln-wash"
    assert hit["snippet"].startswith("A coating")
    assert isinstance(answer["timingMs"]["search"], float)
    assert (answer["hasMore"], answer["nextOffset"]) == (True, 1)
    rest = server.post("/pi/search", {"query": "kiln", "limit": 50, "offset": 1}).json()
    assert rest["hasMore"] is False
    assert "nextOffset" not in rest
    assert hit["docid"] not in [item["docid"] for item in rest["hits"]]
    beyond = server.post("/pi/search", {"query": "kiln", "limit": 5, "offset": 900}).json()
    assert (beyond["hits"], beyond["hasMore"]) == ([], False)


def test_excerpts_are_of_the_first_fifty_ranks(server: Running) -> None:
    hits = server.post("/pi/search", {"query": "glaze", "limit": 100}).json()["hits"]
    assert ["snippet" in hit for hit in hits] == [True] * 50 + [False] * 50


def test_a_read_as_the_contract_documents_it(server: Running) -> None:
    answer = server.post("/pi/read-document", {"docid": "raku", "offset": 1, "limit": 1}).json()
    assert answer == {
        "found": True, "text": "The ware is taken from the kiln while it glows.\n", "offset": 1, "limit": 1,
        "totalUnits": 3, "returnedOffsetStart": 1, "returnedOffsetEnd": 1, "truncated": True, "nextOffset": 2,
    }  # fmt: skip
    assert server.post("/pi/read-document", {"docid": "nowhere", "offset": 1, "limit": 5}).json() == {"found": False}
    last = server.post("/pi/read-document", {"docid": "raku", "offset": 99, "limit": 5}).json()
    assert (last["text"], last["truncated"], last["returnedOffsetStart"]) == ("", False, 0)


def test_pages_of_one_hit_and_of_one_line_join_to_the_end(server: Running) -> None:
    whole = server.post("/pi/search", {"query": "clay", "limit": 1000}).json()["hits"]
    hits: list[Any] = []
    answer: dict[str, Any] = {"hasMore": True, "nextOffset": 0}
    while answer["hasMore"]:
        answer = server.post("/pi/search", {"query": "clay", "limit": 1, "offset": answer["nextOffset"]}).json()
        assert len(answer["hits"]) == 1
        assert ("nextOffset" in answer) == answer["hasMore"]
        hits += answer["hits"]
    assert hits == whole
    text, answer = "", {"truncated": True, "nextOffset": 1}
    while answer["truncated"]:
        asked = {"docid": "ends", "offset": answer["nextOffset"], "limit": 1}
        answer = server.post("/pi/read-document", asked).json()
        assert ("nextOffset" in answer) == answer["truncated"]
        text += answer["text"]
    assert text == ENDS[0].text


def test_fields_of_later_versions_are_ignored(server: Running) -> None:
    plain = server.post("/pi/search", {"query": "kiln", "limit": 2}).json()
    later = server.post("/pi/search", {"query": "kiln", "limit": 2, "rerank": {"model": "x"}, "v": 9}).json()
    assert later["hits"] == plain["hits"]
    assert server.post("/pi/read-document", {"docid": "raku", "limit": 1, "offset": 1, "v": 9}).json()["found"]


def test_a_refusal_reaches_the_harness_with_its_reason(server: Running) -> None:
    with pytest.raises(BackendFault, match=r"failed: HTTP 422: .*query: it is blank"):
        backend(server).search(" ", 10)
    with pytest.raises(BackendFault, match=r"failed: HTTP 404: .*nowhere"):
        backend(server, "/pi/nowhere").documents(["raku"])


def test_a_named_index_and_faults(server: Running) -> None:
    assert backend(server, "/pi/other").search("glaze clay", 1000).docids == ("raku",)
    is_problem(server.post("/pi/nowhere/search", {"query": "a", "limit": 1}), 404, "not-found")
    for body in ({"query": " ", "limit": 1}, {"query": "a", "limit": 0}, {"query": "a"}, {"query": "a", "limit": "x"}):
        is_problem(server.post("/pi/search", body), 422)
    is_problem(server.post("/pi/read-document", {"docid": "raku", "offset": 0, "limit": 1}), 422)
