"""Pi-Serini's conformance cases 22 to 29: what a server answers is checked, and what an index of this process knows.

An index has no process of its own to start, to greet or to lose (docs/decisions/0015): of case 27 that is left which a
server can do.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sira import Index
from sira.agent.backend import IndexBackend
from sira.agent.base import Failure, ToolResult
from sira.agent.controller import Controller
from sira.agent.http_backend import HttpBackend
from sira.agent.settings import PI_SERINI, SIRA
from sira.agent.tables import read_tools
from sira.errors import IndexFault, InputError
from sira.program import Scoring
from sira.records import Document
from tests.agent.calls import call, pots
from tests.conformance.json_server import Answer, JsonServer, serving, told


def backend(server: JsonServer, **options: Any) -> HttpBackend:
    return HttpBackend(f"{server.url}/search", f"{server.url}/read", **options)


def ask(answer: Callable[[Any], Answer], tool: str = "search", **fields: Any) -> ToolResult:
    """One call against a server that gives this answer."""
    with serving({"/search": answer, "/read": answer}) as server:
        fields = fields or {"query": "kiln"}
        return call(Controller(backend(server), PI_SERINI), tool, **fields)


def code(result: ToolResult) -> str:
    return result.details["piSearchFailure"]["code"]


def test_22_a_hit_may_be_a_docid_alone() -> None:
    result = ask(told({"hits": [{"docid": "a"}, {"docid": "b", "score": 2}], "hasMore": False}))
    assert result.failure is None
    assert result.text.splitlines()[3:5] == [
        "1. docid=a",
        "   Excerpt: no snippet available; use read_document to inspect this document.",
    ]
    assert "2. docid=b score=2.0000" in result.text


def test_22_a_score_must_be_a_number() -> None:
    result = ask(told({"hits": [{"docid": "a", "score": "high"}], "hasMore": False}))
    assert result.failure is Failure.EXECUTION
    assert code(result) == "invalid_tool_result"
    assert "Invalid http-json search response: hits.0.score" in result.text


def test_23_an_offset_must_be_a_number() -> None:
    result = ask(told({"hits": [], "hasMore": True, "nextOffset": "later"}))
    assert "Invalid http-json search response: nextOffset" in result.text


def test_23_a_document_may_be_told_as_absent_and_no_more() -> None:
    result = ask(told({"found": False}), "read_document", docid="x")
    assert 'docid "x" was not found' in result.text
    assert result.failure is Failure.EXECUTION


def test_24_a_page_size_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="max_page_size = 0: give 1 or more"):
        HttpBackend("http://localhost/s", "http://localhost/r", max_page_size=0)
    path = tmp_path / "tools.toml"
    path.write_text(
        '[backend]\nsearch_url = "http://localhost/s"\nread_document_url = "http://h/r"\nmax_page_size = 0\n'
    )
    with pytest.raises(InputError, match=r"backend\.max_page_size"):
        read_tools(path)


@pytest.mark.java
@pytest.mark.parametrize("settings", [PI_SERINI, SIRA], ids=["pi-serini", "sira"])
def test_25_without_previews_the_hits_still_come(make_index: Callable[..., Path], settings: Any) -> None:
    class NoTexts(IndexBackend):
        def documents(self, docids: Sequence[str]) -> list[Document | None]:
            raise IndexFault("the stored texts are damaged")

    with Index(make_index(pots(3))) as index:
        result = call(Controller(NoTexts(index, Scoring()), settings), "search", query="kiln")
        assert result.failure is None
        assert result.details["previewedDocids"] == ["doc-1", "doc-2", "doc-3"]
        assert "1. docid=doc-1 score=" in result.text
        assert "no snippet available" in result.text
        assert result.details["previewFault"] == "the stored texts are damaged"


def test_26_statuses_and_bodies_that_are_none() -> None:
    failed = ask(told({"error": "overloaded"}, 503))
    assert "http-json backend search failed: HTTP 503: " in failed.text
    assert code(failed) == "tool_execution_failed"
    malformed = ask(lambda _: (200, b"<html>"))
    assert "Failed to parse http-json search response: <html>" in malformed.text
    assert code(malformed) == "malformed_json"
    wrong = ask(told({"hits": "none"}))
    assert code(wrong) == "invalid_tool_result"
    assert {failed.failure, malformed.failure, wrong.failure} == {Failure.EXECUTION}


def test_27_cancelled_before_and_during_a_request() -> None:
    started, release = threading.Event(), threading.Event()

    def hang(_: Any) -> Answer:
        started.set()
        release.wait(10)
        return 200, b"{}"

    with serving({"/search": hang}) as server:
        source = backend(server)
        controller, results = Controller(source, PI_SERINI), list[ToolResult]()
        thread = threading.Thread(target=lambda: results.append(call(controller, "search", query="kiln")))
        thread.start()
        assert started.wait(5)
        began = time.monotonic()
        source.cancel()
        thread.join(5)
        assert time.monotonic() - began < 3
        release.set()
        assert "was cancelled while it ran" in results[0].text
        after = call(controller, "search", query="kiln")
        assert "was cancelled before it was sent" in after.text
        assert len(server.asked) == 1


def test_27_a_server_that_is_gone_is_unavailable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    source = HttpBackend(f"http://127.0.0.1:{port}/s", f"http://127.0.0.1:{port}/r")
    result = call(Controller(source, PI_SERINI), "search", query="kiln")
    assert result.failure is Failure.EXECUTION
    assert "http-json backend unavailable: http://127.0.0.1" in result.text


def test_27_a_server_that_hangs_is_given_up() -> None:
    release = threading.Event()

    def hang(_: Any) -> Answer:
        release.wait(10)
        return 200, b"{}"

    with serving({"/search": hang}) as server:
        result = call(Controller(backend(server, timeout_s=0.3), PI_SERINI), "search", query="kiln")
        release.set()
    assert "http-json backend search failed: no answer in 0.3 s" in result.text


def test_28_a_configuration_is_read_whole_or_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_tools(tmp_path / "absent.toml")
    path = tmp_path / "tools.toml"
    path.write_text("[tools]\nprofile = 'pi-serini'\ndepht = 5\n")
    with pytest.raises(InputError, match=r"tools\.depht"):
        read_tools(path)
    path.write_text("[backend]\nsearch_url = 'http://h/s'\n")
    with pytest.raises(InputError, match=r"backend\.read_document_url"):
        read_tools(path)


def test_29_bm25_as_pi_serini_starts_it_and_as_its_paper_searches(tmp_path: Path) -> None:
    path = tmp_path / "tools.toml"
    path.write_text("[tools]\nprofile = 'pi-serini'\n")
    settings, server = read_tools(path)
    assert (settings, server) == (PI_SERINI, None)
    assert (settings.scoring.k1, settings.scoring.b) == (0.9, 0.4)
    path.write_text("[tools]\nprofile = 'pi-serini'\nbm25 = 'long'\ndepth = 50\n")
    settings, _ = read_tools(path)
    assert (settings.scoring.k1, settings.scoring.b, settings.depth) == (25, 1, 50)


@pytest.mark.java
def test_29_the_record_tells_bm25_as_the_searcher_has_it(make_index: Callable[..., Path]) -> None:
    with Index(make_index(pots(3))) as index:
        from sira.agent.settings import ToolSettings

        controller = Controller(index, ToolSettings(scoring=Scoring(k1=25, b=1)))
        assert controller.facts["backend"]["scoring"]["k1"] == 25
        assert controller.facts["backend"]["contents_fingerprint"] == index.contents_fingerprint
        assert controller.facts["tools"]["scoring"]["b"] == 1


def test_a_snippet_and_a_title_come_from_the_server() -> None:
    hit = {"docid": "a", "title": "T", "snippet": "some words", "snippetTruncated": True, "metadata": {"url": 1}}
    lines = ask(told({"hits": [hit], "hasMore": False})).text.splitlines()
    assert lines[3:7] == ["1. docid=a", "   Title: T", "   Excerpt: some words", "   Excerpt preview truncated."]


def test_searches_and_documents_are_paged_as_the_server_likes() -> None:
    def search(body: Any) -> Answer:
        first = body.get("offset", 1)
        hits = [{"docid": f"d{number}"} for number in range(first, first + body["limit"])]
        return told({"hits": hits, "hasMore": True, "nextOffset": first + body["limit"]})(body)

    def read(body: Any) -> Answer:
        if body["offset"] == 1:
            return told({"found": True, "text": "one\ntwo", "truncated": True, "nextOffset": 3})(body)
        return told({"found": True, "text": "three", "truncated": False})(body)

    with serving({"/search": search, "/read": read}) as server:
        controller = Controller(backend(server, max_page_size=400), PI_SERINI)
        assert call(controller, "search", query="kiln").details["totalCached"] == 1000
        assert [body["limit"] for _, body in server.asked] == [400, 400, 200]
        text = call(controller, "read_document", docid="d1").text
        assert text == "[docid=d1 lines 1-3 of 3]\n\none\ntwo\nthree"


def test_an_endless_document_is_refused() -> None:
    result = ask(told({"found": True, "text": "x", "truncated": True, "nextOffset": 1}), "read_document", docid="x")
    assert "truncated, but nextOffset does not grow" in result.text

    def without_text(body: Any) -> Answer:
        return told({"found": True, "text": "", "truncated": True, "nextOffset": body["offset"] + 1})(body)

    assert "have no end" in ask(without_text, "read_document", docid="x").text


def test_a_server_that_gives_the_same_hits_for_ever_is_asked_no_more() -> None:
    def search(body: Any) -> Answer:
        more = {"hasMore": True, "nextOffset": body.get("offset", 1) + 1}
        return told({"hits": [{"docid": "a"}], **more})(body)

    with serving({"/search": search, "/read": search}) as server:
        assert call(Controller(backend(server), PI_SERINI), "search", query="kiln").details["totalCached"] == 1
        assert len(server.asked) == 2


def test_ours_offers_what_a_server_can_do() -> None:
    hits = {"hits": [{"docid": "a", "snippet": "s"}], "hasMore": False}
    with serving({"/search": told(hits), "/read": told({"found": True, "text": "pot", "truncated": False})}) as server:
        controller = Controller(backend(server), SIRA)
        names = [tool.name for tool in controller.tools]
        assert names == ["search", "read_search_results", "fuse_searches", "read_document", "find_in_document"]
        assert "   Excerpt: s" in call(controller, "search", query="kiln").text
        assert "matches 1-1 of 1" in call(controller, "find_in_document", docid="a", pattern="POT").text
        refused = call(controller, "search", program="+kiln")
        assert refused.failure is Failure.INVALID_ARGUMENTS


def test_a_backend_is_opened_from_its_table(tmp_path: Path) -> None:
    with serving({"/search": told({"hits": [{"docid": "a"}], "hasMore": False})}) as server:
        path = tmp_path / "tools.toml"
        path.write_text(f"[backend]\nsearch_url = '{server.url}/search'\nread_document_url = '{server.url}/read'\n")
        settings, table = read_tools(path)
        assert table is not None
        controller = Controller(table.open(), settings)
        assert call(controller, "search", query="kiln").details["retrievedDocids"] == ["a"]
        assert controller.facts["backend"]["search_url"] == f"{server.url}/search"
    path.write_text("[backend]\nsearch_url = 'localhost'\nread_document_url = 'http://h/r'\n")
    _, table = read_tools(path)
    assert table is not None
    with pytest.raises(InputError, match="'localhost' is no address"):
        table.open()
