"""Pi-Serini's conformance cases 1 to 15: calls, cache, pages and documents, in the profile `pi-serini`.

Each test is named after the number of its case; where ours differs by decision (docs/decisions/0015), a second one says
how.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from sira import Index
from sira.agent.backend import Found, IndexBackend
from sira.agent.base import Failure
from sira.agent.controller import Controller
from sira.agent.settings import PI_SERINI, SIRA, ToolSettings
from sira.records import Document
from tests.agent.calls import call, pots

pytestmark = pytest.mark.java

MakeController = Callable[..., Controller]


class Counting(IndexBackend):
    """An index that counts what it is asked for."""

    searches = 0

    def search(self, query: str, depth: int) -> Found:
        self.searches += 1
        return super().search(query, depth)


@pytest.fixture(scope="module")
def opened(make_index: Callable[..., Path]) -> Iterator[Callable[[Sequence[Document]], Index]]:
    """An index of these documents, built once for each list of docids and texts."""
    indexes: dict[tuple[tuple[str, str], ...], Index] = {}

    def index(documents: Sequence[Document]) -> Index:
        key = tuple((document.docid, document.text) for document in documents)
        if key not in indexes:
            indexes[key] = Index(make_index(documents))
        return indexes[key]

    yield index
    for item in indexes.values():
        item.close()


@pytest.fixture
def make(opened: Callable[[Sequence[Document]], Index]) -> MakeController:
    def controller(documents: Sequence[Document], settings: ToolSettings = PI_SERINI) -> Controller:
        return Controller(opened(documents), settings)

    return controller


def test_01_a_blank_query_is_refused_before_the_backend_is_asked(opened: Callable[..., Index]) -> None:
    backend = Counting(opened(pots(12)), PI_SERINI.scoring)
    result = call(Controller(backend, PI_SERINI), "search", query="   ")
    assert result.failure is Failure.INVALID_ARGUMENTS
    assert result.text == "Invalid search arguments: query must be a non-empty string."
    assert backend.searches == 0
    assert result.details == {
        "piSearchFailure": {"code": "invalid_tool_arguments", "toolName": "search", "fieldPath": "query"}
    }


@pytest.mark.parametrize("settings", [PI_SERINI, SIRA], ids=["pi-serini", "sira"])
def test_02_an_unknown_search_id_is_named_and_search_advised(make: MakeController, settings: ToolSettings) -> None:
    result = call(make(pots(12), settings), "read_search_results", search_id="s9")
    assert result.failure is Failure.INVALID_ARGUMENTS
    assert '"s9" is unknown. Call search(...) first' in result.text


@pytest.mark.parametrize("settings", [PI_SERINI, SIRA], ids=["pi-serini", "sira"])
def test_03_an_absent_docid_fails_and_the_text_says_where_docids_are(
    make: MakeController, settings: ToolSettings
) -> None:
    controller = make(pots(12), settings)
    result = call(controller, "read_document", docid="doc-404")
    assert result.failure is Failure.EXECUTION
    assert result.text == (
        'read_document failed: docid "doc-404" was not found. '
        "Choose a docid returned by search(...) or read_search_results(...)."
    )
    assert not controller.ledger.opened


def test_04_searches_are_numbered(make: MakeController) -> None:
    controller = make(pots(12))
    assert [call(controller, "search", query="kiln").details["searchId"] for _ in range(2)] == ["s1", "s2"]


def test_05_the_33rd_search_evicts_the_first(make: MakeController) -> None:
    controller = make(pots(12))
    for number in range(1, 34):
        call(controller, "search", query="kiln")
        if number == 20:
            call(controller, "read_search_results", search_id="s1")  # does not make it younger
    gone = call(controller, "read_search_results", search_id="s1")
    assert gone.failure is Failure.INVALID_ARGUMENTS
    assert '"s1" is unknown' in gone.text
    assert call(controller, "read_search_results", search_id="s2").failure is None


def test_05_ours_says_that_it_was_evicted_and_how_to_get_it_back(make: MakeController) -> None:
    controller = make(pots(12), SIRA)
    call(controller, "search", query="kiln")
    for number in range(1, 33):
        call(controller, "search", query=f"w12x{number}")
    gone = call(controller, "read_search_results", search_id="s1")
    assert gone.failure is Failure.INVALID_ARGUMENTS
    assert "was evicted: the last 32 rankings are kept (s2 to s33)" in gone.text
    assert 'the search with query "kiln". Search again' in gone.text
    assert call(controller, "search", query="kiln").details["searchId"] == "s34"


def test_06_first_and_second_page_of_twelve_hits(make: MakeController) -> None:
    controller = make(pots(12))
    first = call(controller, "search", query="kiln")
    assert first.text.startswith(
        'Showing ranks 1-5 of 12 cached hits for search_id=s1\nPlain query: "kiln"\n\n1. docid=doc-1 '
    )
    assert (first.details["returnedRankStart"], first.details["returnedRankEnd"]) == (1, 5)
    assert first.details["nextOffset"] == 6
    assert 'Use read_search_results({"search_id":"s1","offset":6,"limit":5})' in first.text
    second = call(controller, "read_search_results", search_id="s1")
    assert (second.details["returnedRankStart"], second.details["returnedRankEnd"]) == (6, 12)
    assert second.details["nextOffset"] is None
    assert "Use read_search_results(" not in second.text
    assert second.text.endswith("Use read_document(docid) to inspect a specific document in paginated chunks.")


def test_07_a_page_from_the_first_rank(make: MakeController) -> None:
    controller = make(pots(2))
    call(controller, "search", query="kiln")
    page = call(controller, "read_search_results", search_id="s1", offset=1, limit=2)
    assert page.details["retrievedDocids"] == ["doc-1", "doc-2"]
    assert (page.details["returnedRankStart"], page.details["returnedRankEnd"]) == (1, 2)


@pytest.mark.parametrize("settings", [PI_SERINI, SIRA], ids=["pi-serini", "sira"])
@pytest.mark.parametrize(
    ("given", "first"), [("0", 1), ("-5", 1), ("2.7", 2), ("NaN", 6), ("Infinity", 6), ("null", 6)]
)
def test_08_numbers_are_rounded_down_and_clamped(
    make: MakeController, settings: ToolSettings, given: str, first: int
) -> None:
    controller = make(pots(12), settings)
    call(controller, "search", query="kiln")
    page = controller.call("read_search_results", f'{{"reason": "r", "search_id": "s1", "offset": {given}}}')
    assert page.details["returnedRankStart"] == first


@pytest.mark.parametrize("settings", [PI_SERINI, SIRA], ids=["pi-serini", "sira"])
def test_09_beyond_the_end_is_an_empty_page_and_no_error(make: MakeController, settings: ToolSettings) -> None:
    controller = make(pots(2), settings)
    call(controller, "search", query="kiln")
    for offset in (3, 10**18):
        page = call(controller, "read_search_results", search_id="s1", offset=offset)
        assert page.failure is None
        assert page.text.startswith('No cached hits remain for search_id=s1\nPlain query: "kiln"\nCached hits: 2')
        assert (page.details["returnedRankStart"], page.details["returnedRankEnd"]) == (0, 0)
        assert page.details["nextOffset"] is None
        assert page.details["previewedDocids"] == []


def test_10_ranks_beyond_50_have_no_excerpt_and_long_ones_are_marked(make: MakeController) -> None:
    controller = make(pots(60))
    call(controller, "search", query="kiln")
    page = call(controller, "read_search_results", search_id="s1", offset=50, limit=2)
    fiftieth, following = page.text.split("\n51. ")
    assert "   Title: Pot 50\n   Excerpt: kiln w50x0" in fiftieth
    assert fiftieth.rstrip().endswith("   Excerpt preview truncated.")
    assert following.splitlines()[1] == "   Excerpt: no snippet available; use read_document to inspect this document."
    assert "truncated" not in following


def test_10_ours_has_excerpts_at_any_rank(make: MakeController) -> None:
    controller = make(pots(60), SIRA)
    call(controller, "search", query="kiln")
    page = call(controller, "read_search_results", search_id="s1", offset=51, limit=10)
    assert page.text.count("   Excerpt (line 1): kiln w") == 10


def test_11_scores_have_four_decimals(make: MakeController, opened: Callable[..., Index]) -> None:
    class Fixed(IndexBackend):
        def search(self, query: str, depth: int) -> Found:
            return Found(("doc-1",), (3.5,))

    result = call(Controller(Fixed(opened(pots(2)), PI_SERINI.scoring), PI_SERINI), "search", query="kiln")
    assert "1. docid=doc-1 score=3.5000\n" in result.text
    real = call(make(pots(2)), "search", query="kiln").text.splitlines()[3]
    assert len(real.partition("score=")[2].partition(".")[2]) == 4


THREE = [Document("d1", "one\ntwo\nthree"), Document("crlf", "one\r\ntwo\r\nthree"), Document("empty", "", "a title")]


@pytest.mark.parametrize("settings", [PI_SERINI, SIRA], ids=["pi-serini", "sira"])
def test_12_a_page_of_lines_names_the_next_call(make: MakeController, settings: ToolSettings) -> None:
    page = call(make(THREE, settings), "read_document", docid="d1", limit=2)
    assert page.text.startswith("[docid=d1 lines 1-2 of 3]\n\none\ntwo\n")
    assert page.text.endswith('[Continue with read_document({"docid":"d1","offset":3,"limit":2})]')
    assert page.details["truncated"] is True
    assert page.details["nextOffset"] == 3
    assert (page.details["returnedOffsetStart"], page.details["returnedOffsetEnd"]) == (1, 2)


@pytest.mark.parametrize("settings", [PI_SERINI, SIRA], ids=["pi-serini", "sira"])
def test_13_beyond_the_last_line_there_is_nothing(make: MakeController, settings: ToolSettings) -> None:
    controller = make(THREE, settings)
    page = call(controller, "read_document", docid="d1", offset=10)
    assert page.failure is None
    assert page.text.startswith("[docid=d1 lines 0-0 of 3]")
    assert (page.details["truncated"], page.details["nextOffset"]) == (False, None)
    assert not controller.ledger.opened
    empty = call(controller, "read_document", docid="empty")
    assert empty.text == "[docid=empty lines 1-1 of 1]\n\n"


@pytest.mark.parametrize("settings", [PI_SERINI, SIRA], ids=["pi-serini", "sira"])
def test_14_line_ends_of_windows_count_once(make: MakeController, settings: ToolSettings) -> None:
    controller = make(THREE, settings)
    assert call(controller, "read_document", docid="crlf").details["totalLines"] == 3


def test_15_the_record_of_a_search_lists_all_hits_and_those_of_its_page(make: MakeController) -> None:
    controller = make(pots(12))
    search = call(controller, "search", query=" kiln ")
    every = [f"doc-{number}" for number in range(1, 13)]
    assert search.details == {
        "searchId": "s1",
        "rawQuery": "kiln",
        "queryMode": "plain",
        "totalCached": 12,
        "returnedRankStart": 1,
        "returnedRankEnd": 5,
        "nextOffset": 6,
        "retrievedDocids": every,
        "previewedDocids": every[:5],
        "k": 1000,
    }
    page = call(controller, "read_search_results", search_id="s1")
    assert page.details["retrievedDocids"] == page.details["previewedDocids"] == every[5:]
    json.dumps([search.details, page.details], allow_nan=False)


def test_depth_bounds_what_is_cached(opened: Callable[..., Index]) -> None:
    settings = ToolSettings(depth=7, search_page=2, browse_offset=3, browse_limit=2)
    controller = Controller(opened(pots(12)), settings)
    assert call(controller, "search", query="kiln").details["retrievedDocids"] == [f"doc-{n}" for n in range(1, 8)]
    page = call(controller, "read_search_results", search_id="s1")
    assert page.details["previewedDocids"] == ["doc-3", "doc-4"]
