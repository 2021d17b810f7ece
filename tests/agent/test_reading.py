"""Long documents and other scripts: pages that join, excerpts with line numbers, patterns that end in time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sira import Index
from sira.agent.controller import Controller
from sira.agent.excerpts import first_window
from sira.agent.folding import ShownTexts, shingles
from sira.agent.settings import PI_SERINI, SIRA
from sira.records import Document
from tests.agent.calls import DATA, call, needs_data, stored

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def austen(make_index: Callable[..., Path]) -> Iterator[Index]:
    with Index(make_index(stored(DATA / "longdocs" / "austen.jsonl"))) as index:
        yield index


def pages(controller: Controller, docid: str, limit: int) -> Iterator[str]:
    """The text of each page, cut out of what a model reads."""
    offset: int | None = 1
    while offset is not None:
        result = call(controller, "read_document", docid=docid, offset=offset, limit=limit)
        assert result.failure is None
        assert len(result.text.encode()) <= SIRA.max_bytes
        details = result.details
        first, last, total = details["returnedOffsetStart"], details["returnedOffsetEnd"], details["totalLines"]
        head = f"[docid={docid} lines {first}-{last} of {total}]\n\n"
        assert result.text.startswith(head)
        text, offset = result.text.removeprefix(head), details["nextOffset"]
        if offset is not None:
            fields = json.dumps({"docid": docid, "offset": offset, "limit": limit}, separators=(",", ":"))
            hint = f"\n\n[Continue with read_document({fields})]"
            assert text.endswith(hint)
            text = text.removesuffix(hint)
        yield text


@needs_data
@pytest.mark.parametrize("limit", [200, 3000])
def test_the_pages_of_a_novel_join_to_it(austen: Index, limit: int) -> None:
    assert "".join(pages(Controller(austen), "persuasion", limit)) == austen.document("persuasion").text


def test_the_pages_of_one_line_of_two_megabytes_join_to_it(make_index: Callable[..., Path]) -> None:
    text = "Ä\u0308ß 漢字\U0001f469\u200d\U0001f4bb ключ مفتاح " * 50_000
    assert len(text.encode()) > 2_000_000
    with Index(make_index([Document("line", text)])) as index:
        found = list(pages(Controller(index), "line", 2000))
        assert "".join(found) == text
        assert len(found) > 30
        for page in found[1:]:
            assert page[0] not in "\u0308\u200d\U0001f4bb"


@needs_data
def test_an_excerpt_of_a_novel_names_the_line_to_read(austen: Index) -> None:
    controller = Controller(austen)
    text = call(controller, "search", query="Captain Wentworth letter half agony half hope").text
    assert "half agony, half hope" in text
    number = int(text.split("half agony, half hope")[0].rpartition("Excerpt (line ")[2].partition(")")[0])
    read = call(controller, "read_document", docid="persuasion", offset=number, limit=4)
    assert "agony" in read.text


@needs_data
def test_find_in_document_counts_what_the_text_has(austen: Index) -> None:
    text = austen.document("persuasion").text
    controller = Controller(austen)
    found = call(controller, "find_in_document", docid="persuasion", pattern="captain wentworth", limit=5)
    assert found.details["totalMatches"] == len("".join(text.split()).lower().split("captainwentworth")) - 1
    assert found.details["nextOffset"] == 6
    assert found.text.count("--- match ") == 5
    beyond = call(controller, "find_in_document", docid="persuasion", pattern="captain wentworth", offset=10**6)
    assert "matches 0-0 of" in beyond.text
    assert beyond.failure is None
    years = call(controller, "find_in_document", docid="persuasion", pattern=r"\b18\d\d\b", mode="regex")
    assert years.details["totalMatches"] >= 3
    assert "(1818)" in years.text


@needs_data
def test_a_pattern_without_end_is_ended(austen: Index) -> None:
    begin = time.monotonic()
    result = call(Controller(austen), "find_in_document", docid="persuasion", pattern=r"(\w+\s?)+#", mode="regex")
    assert "takes more than 2 s or too much memory" in result.text
    assert result.failure is not None
    assert time.monotonic() - begin < 9


@needs_data
@pytest.mark.parametrize(("name", "analyzer"), [("xquad-zh", "zh"), ("xquad-ar", "ar")])
def test_excerpts_of_other_scripts_hold_the_words_of_the_query(
    make_index: Callable[..., Path], name: str, analyzer: str
) -> None:
    folder = DATA / "multilingual" / name
    topics = [json.loads(line)["text"] for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    with Index(make_index(stored(folder / "corpus.jsonl"), analyzer=analyzer)) as index:
        settings = replace(SIRA, excerpt_characters=80, excerpt_passages=1)
        ours, theirs = 0, 0
        for text in topics[:40]:
            controller = Controller(index, settings)
            result = call(controller, "search", query=text)
            terms = set(index.analyze([text])[0])
            best = result.details["previewedDocids"][0]
            block = result.text.split("\n2. docid=")[0]
            passages = [line.partition("): ")[2] for line in block.splitlines() if line.startswith("   Excerpt (line ")]
            assert passages
            ours += len(terms & set(index.analyze([" ".join(passages)])[0]))
            document = index.document(best)
            window = first_window(text, document.title, document.text, 80)
            theirs += len(terms & set(index.analyze([window.text])[0]))
        assert ours > theirs > 0


def test_pi_serini_s_window_is_that_of_any_first_word() -> None:
    text = "x" * 300 + " kiln " + "y" * 300
    window = first_window("Kiln of THE zzz", "", text, 220)
    assert window.text == "..." + text[246 : 246 + 220].strip() + "..."
    assert window.truncated
    assert first_window("the zzz", "", text, 220).text == "x" * 220 + "..."
    assert first_window("kiln", "", "a kiln", 220) == ("a kiln", None, False)
    assert first_window("窑", "", "在 窑 里", 220).text == "在 窑 里"


def test_shingles_tell_what_is_alike() -> None:
    words = [f"w{number}" for number in range(100)]
    own, other = shingles(words), shingles([*words[:97], "new", "words", "here"])
    assert len(own.all & other.all) / len(own.all | other.all) == 94 / 100
    shown = ShownTexts()
    shown.add("d", 3, own)
    shown.add("empty", 4, shingles([]))
    assert shown.duplicate_of(9, own, 1.0) == "d"
    assert shown.duplicate_of(9, other, 0.94) == "d"
    assert shown.duplicate_of(9, other, 0.95) is None
    assert shown.duplicate_of(2, own, 0.5) is None
    assert shown.duplicate_of(9, shingles(words[::-1]), 0.01) is None
    assert shown.duplicate_of(9, shingles([]), 0.01) is None
    shown.add("better", 1, own)
    assert shown.duplicate_of(9, own, 0.9) == "better"
    shown.add("short", 5, shingles(list("abcdefg")))
    assert shown.duplicate_of(9, shingles(list("abcdefx")), 0.5) is None
    assert shown.duplicate_of(9, shingles(list("abcdefg")), 0.5) == "short"


def test_long_texts_with_changes_all_over_are_found() -> None:
    words = [f"w{number}" for number in range(1000)]
    changed = [f"new{number}" if number % 50 == 25 else word for number, word in enumerate(words)]
    shown = ShownTexts()
    shown.add("d", 1, shingles(words))
    assert shown.duplicate_of(2, shingles(changed), 0.8) == "d"
    assert shown.duplicate_of(2, shingles(changed), 0.9) is None


def test_opened_lines_are_those_that_were_shown(make_index: Callable[..., Path]) -> None:
    with Index(make_index([Document("d", "\n".join(map(str, range(1, 101))))])) as index:
        controller = Controller(index, PI_SERINI)
        for offset, limit in ((1, 10), (11, 10), (50, 5), (500, 5)):
            call(controller, "read_document", docid="d", offset=offset, limit=limit)
        assert controller.ledger.opened == {"d": [(1, 20), (50, 54)]}
        call(controller, "read_document", docid="absent")
        assert list(controller.ledger.opened) == ["d"]
        assert controller.check_citations("It is so [d].").opened == ("d",)


def test_a_place_that_was_found_counts_as_seen_and_not_as_opened(make_index: Callable[..., Path]) -> None:
    with Index(make_index([Document("d-1", "a kiln " * 20_000)])) as index:
        controller = Controller(index)
        found = call(controller, "find_in_document", docid="d-1", pattern="kiln")
        assert "matches 1-20 of 10000" in found.text
        assert "The first 10,000 matches are counted, and no more" in found.text
        assert controller.check_citations("Fired [d-1].").previewed == ("d-1",)
        assert not controller.ledger.opened
        assert "   Known: seen by find_in_document" in call(controller, "search", query="kiln").text
