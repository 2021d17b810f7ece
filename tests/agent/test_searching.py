"""What is ours in searching and paging: marks, folds, fusion, programs, filters, caches; each with its switch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sira import Index
from sira.agent.base import Failure, ToolBox
from sira.agent.controller import Controller
from sira.agent.settings import PI_SERINI, SIRA, SWITCHES, ToolSettings
from sira.program import program_to_json
from sira.programtext import bind, parse_query
from sira.records import Document, Ranking
from sira.search.fusion import reciprocal_rank_fusion
from tests.agent.calls import call, pots

pytestmark = pytest.mark.java

TEXT = "The potter sets the raku kiln outside and waits for the glaze to melt before it is pulled out with tongs"
COLLECTION = [
    *pots(30),
    Document("raku-1", f"{TEXT} while glowing hot."),
    Document("raku-2", f"{TEXT} while glowing hot!"),
    Document("raku-3", f"{TEXT} while glowing hot. Then it cools."),
    Document("other", "Raku is fired fast. The tongs are long, and gloves are worn by the potter at the kiln."),
]

TEXTS = {document.docid: document.text for document in COLLECTION}
PRINTED = '+=kiln^2 {df=34} =[raku kiln] {df=3 from="raku kiln"} -=w3x1 {df=1}'


@pytest.fixture(scope="module")
def index(make_index: Callable[..., Path]) -> Iterator[Index]:
    with Index(make_index(COLLECTION)) as opened:
        yield opened


def off(*names: str) -> ToolSettings:
    changes: dict[str, Any] = dict.fromkeys(names, False)
    return replace(SIRA, **changes)


def ranks(text: str) -> list[int]:
    return [int(rank) for rank in re.findall(r"^(\d+)\. docid=", text, re.MULTILINE)]


def test_the_controller_is_a_tool_box(index: Index) -> None:
    box: ToolBox = Controller(index)
    assert [tool.name for tool in box.tools] == [
        "search", "read_search_results", "fuse_searches", "read_document", "find_in_document", "find_in_results",
        "term_statistics",
    ]  # fmt: skip
    assert [tool.name for tool in Controller(index, PI_SERINI).tools] == [
        "search",
        "read_search_results",
        "read_document",
    ]
    for tool in box.tools:
        assert set(tool.parameters["required"]) <= set(tool.parameters["properties"])
        assert tool.parameters["required"][0] == "reason"


def test_marks_tell_where_a_hit_was_met(index: Index) -> None:
    controller = Controller(index, off("fold_duplicates"))
    first = call(controller, "search", query="kiln")
    assert "Known:" not in first.text
    call(controller, "read_document", docid="doc-2")
    text = call(controller, "search", query="kiln w2x1").text
    assert "1. docid=doc-2" in text
    assert "   Known: seen in s1 rank 2, opened lines 1-1" in text
    assert "Known:" not in call(Controller(index, off("marks")), "search", query="kiln").text


def test_only_new_pages_pass_over_what_was_shown(index: Index) -> None:
    controller = Controller(index, off("fold_duplicates"))
    call(controller, "search", query="kiln")
    call(controller, "read_search_results", search_id="s1", offset=8, limit=3)
    page = call(controller, "read_search_results", search_id="s1", offset=1, limit=4, only_new=True)
    assert ranks(page.text) == [6, 7, 11, 12]
    assert "Passed over 8 hits that were shown before." in page.text
    assert page.details["nextOffset"] == 13
    assert '"offset":13,"limit":4,"only_new":true}' in page.text
    every = call(controller, "read_search_results", search_id="s1", offset=1, limit=1000, only_new=True)
    assert len(ranks(every.text)) == 34 - 12
    nothing = call(controller, "read_search_results", search_id="s1", offset=1, only_new=True)
    assert nothing.text.startswith("No new or unfolded hits remain for search_id=s1")
    assert (nothing.failure, nothing.details["nextOffset"]) == (None, None)


def test_near_duplicates_fold_and_can_be_seen(index: Index) -> None:
    controller = Controller(index)
    page = call(controller, "search", query="raku tongs glaze")
    shown = page.details["previewedDocids"]
    assert sorted(shown) == ["other", "raku-1"]
    assert page.details["foldedDocids"] == ["raku-2", "raku-3"]
    assert len(page.details["retrievedDocids"]) == 4
    assert "Folded into docid=raku-1: 2 near-duplicates (rank 2 docid=raku-2, 3 docid=raku-3)" in page.text
    assert 'Use read_search_results({"search_id":"s1","offset":2,"limit":5,"show_folded":true})' in page.text
    folded = call(controller, "read_search_results", search_id="s1", offset=2, limit=5, show_folded=True)
    assert folded.details["previewedDocids"] == ["raku-2", "raku-3", "other"]
    again = call(controller, "read_search_results", search_id="s1", offset=2)
    assert again.details["previewedDocids"] == ["other"]
    whole = call(Controller(index, off("fold_duplicates")), "search", query="raku tongs glaze")
    assert len(whole.details["previewedDocids"]) == 4
    assert "foldedDocids" not in whole.details


def test_pages_show_every_hit_once_under_any_cap(index: Index) -> None:
    settings = replace(off("fold_duplicates"), max_bytes=14_000)
    controller = Controller(index, settings)
    call(controller, "search", query="kiln")
    seen: list[int] = []
    offset: int | None = 1
    while offset is not None:
        page = call(controller, "read_search_results", search_id="s1", offset=offset, limit=1000)
        assert len(page.text.encode()) <= settings.max_bytes
        assert page.details["previewedDocids"]
        seen += ranks(page.text)
        offset = page.details["nextOffset"]
    assert seen == list(range(1, 35))


def test_fused_rankings_are_searches_of_their_own(index: Index) -> None:
    controller = Controller(index, off("fold_duplicates"))
    parts = [call(controller, "search", query=query).details["retrievedDocids"] for query in ("raku", "potter tongs")]
    fused = call(controller, "fuse_searches", search_ids=["s1", "s2", "s1"])
    assert fused.details["searchId"] == "s3"
    assert fused.details["queryMode"] == "fused"
    rankings = [Ranking(tuple(docids), tuple(float(-n) for n in range(len(docids)))) for docids in parts]
    expected = reciprocal_rank_fusion(rankings)
    assert fused.details["retrievedDocids"] == list(expected.docids)
    assert f"score={expected.scores[0]:.4f}" in fused.text
    assert "Excerpt (line 1): " in fused.text
    assert call(controller, "read_search_results", search_id="s3", offset=1).failure is None
    unknown = call(Controller(index, off("fuse_searches")), "fuse_searches", search_ids=["s1", "s2"])
    assert unknown.failure is Failure.UNKNOWN_TOOL


def test_programs_are_searched_as_the_index_would(index: Index) -> None:
    controller = Controller(index, off("fold_duplicates"))
    text = '+kiln^2 "raku kiln" -w3x1'
    program = bind(parse_query(text), index, SIRA.scoring)
    expected = index.search(program)
    found = call(controller, "search", program=text)
    assert found.details["retrievedDocids"] == list(expected.docids)
    assert found.details["rawQuery"] == text
    assert f'Program: "{text}"'.replace('"raku kiln"', '\\"raku kiln\\"') in found.text
    as_json = call(controller, "search", program=program_to_json(program))
    assert as_json.details["retrievedDocids"] == list(expected.docids)
    assert as_json.details["rawQuery"] == PRINTED
    refused = call(Controller(index, off("programs")), "search", program=text)
    assert refused.failure is Failure.INVALID_ARGUMENTS


def test_programs_that_differ_in_scoring_alone_are_two(index: Index) -> None:
    controller = Controller(index)
    clauses = [{"kind": "term", "term": "kiln"}]
    call(controller, "search", program={"clauses": clauses})
    other = call(controller, "search", program={"clauses": clauses, "scoring": {"k1": 2.0}})
    assert other.details["searchId"] == "s2"


def test_the_same_search_is_answered_from_the_cache(index: Index) -> None:
    controller = Controller(index)
    call(controller, "search", query="kiln")
    again = call(controller, "search", query=" kiln ")
    assert again.details["searchId"] == again.details["sameAs"] == "s1"
    assert "Same search as s1: answered from the cache" in again.text
    assert call(controller, "search", query="kiln kiln").details["searchId"] == "s2"
    new = Controller(index, off("reuse_searches"))
    assert [call(new, "search", query="kiln").details["searchId"] for _ in range(2)] == ["s1", "s2"]


def test_words_that_no_document_holds_are_named(index: Index) -> None:
    result = call(Controller(index), "search", query="kiln zzz")
    assert 'No document holds: "zzz"' in result.text
    empty = call(Controller(index), "search", query="the")
    assert "The search has no word that is indexed." in empty.text
    assert empty.text.startswith("No cached hits remain for search_id=s1")
    assert empty.failure is None


@pytest.mark.parametrize("terms", [["tongs"], ["raku kiln"], ["potter", "tongs"], ["kiln", "w5x3"]])
def test_filtering_by_terms_is_what_a_look_at_each_hit_gives(index: Index, terms: list[str]) -> None:
    controller = Controller(index, off("fold_duplicates"))
    hits = call(controller, "search", query="kiln raku").details["retrievedDocids"]
    expected = [docid for docid in hits if all(term in TEXTS[docid].lower() for term in terms)]
    found = call(controller, "find_in_results", search_id="s1", terms=terms, limit=100)
    assert found.details["previewedDocids"] == expected
    assert expected
    assert [hits[rank - 1] for rank in ranks(found.text)] == expected


def test_filtering_by_pattern_pages_through_the_matches(index: Index) -> None:
    controller = Controller(index, off("fold_duplicates"))
    hits = call(controller, "search", query="kiln").details["retrievedDocids"]
    expected = [docid for docid in hits if re.search(r"w2\d", TEXTS[docid])]
    found: list[str] = []
    offset: int | None = 1
    while offset is not None:
        page = call(
            controller, "find_in_results", search_id="s1", pattern=r"w2\d", mode="regex", offset=offset, limit=3
        )
        found += page.details["previewedDocids"]
        offset = page.details["nextOffset"]
    assert found == expected
    assert len(found) == page.details["totalMatches"] == 10
    literal = call(controller, "find_in_results", search_id="s1", pattern="RAKU   kiln")
    assert sorted(literal.details["previewedDocids"]) == ["raku-1", "raku-2", "raku-3"]
    assert "Excerpt (line 1): The potter sets the raku kiln outside" in literal.text
    nothing = call(controller, "find_in_results", search_id="s1", pattern="porcelain")
    assert nothing.failure is None
    assert "No cached hit holds it" in nothing.text


def test_term_statistics_are_the_index_s(index: Index) -> None:
    result = call(Controller(index), "term_statistics", terms=["Kilns", "raku kiln", "the", "zzz"])
    rows = result.details["terms"]
    assert [row["df"] for row in rows] == [34, 3, None, 0]
    assert result.text.splitlines()[0] == "34 documents"
    assert result.text.splitlines()[1].startswith('"Kilns": df 34, 100.00% of the documents, idf 0.01')
    assert "no word that is indexed" in result.text


def test_a_status_line_stands_below_every_result(index: Index) -> None:
    left = iter(["200 s left", "199 s left", ""])
    controller = Controller(index, status_line=lambda: next(left))
    assert call(controller, "search", query="kiln").text.endswith("\n\n200 s left")
    assert call(controller, "search", query="").text.endswith("\n\n199 s left")
    assert not call(controller, "search", query="kiln").text.endswith("left")


@pytest.mark.parametrize("switch", SWITCHES)
def test_each_switch_alone_leaves_a_working_box(index: Index, switch: str) -> None:
    one_off: dict[str, Any] = {switch: False}
    one_on: dict[str, Any] = {switch: True}
    for settings in (replace(SIRA, **one_off), replace(PI_SERINI, **one_on)):
        with Controller(index, settings) as controller:
            assert call(controller, "search", query="kiln").failure is None
            assert call(controller, "read_search_results", search_id="s1").failure is None
            assert call(controller, "read_document", docid="doc-3").failure is None
            for tool in controller.tools:
                assert controller.call(tool.name, "{}").failure is Failure.INVALID_ARGUMENTS


def test_queries_of_many_words_are_searched(index: Index) -> None:
    query = " ".join(f"w{number}" for number in range(15_800))
    assert 90_000 < len(query) <= 100_000
    result = call(Controller(index), "search", query=f"kiln {query}"[:100_000])
    assert result.failure is None
    assert result.details["totalCached"] == 34
    assert len(result.text.encode()) < SIRA.max_bytes


def test_long_patterns_that_begin_alike_are_two_filters(index: Index) -> None:
    controller = Controller(index)
    call(controller, "search", query="kiln")
    for ending, matches in (("outside", 3), ("inside", 0)):
        pattern = f"{' ' * 100}raku kiln {ending}"
        found = call(controller, "find_in_results", search_id="s1", pattern=pattern)
        assert found.details["totalMatches"] == matches
