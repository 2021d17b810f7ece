"""Pi-Serini's conformance cases 16 to 21: outputs beyond the cap.

Where ours differs (docs/decisions/0015): nothing that the cap cuts is skipped, and no file is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sira import Index
from sira.agent.capping import SpillFolder, capped, lines_part, ranks_part, size_text, spill_name
from sira.agent.controller import Controller
from sira.agent.settings import PI_SERINI, SIRA
from sira.records import Document
from tests.agent.calls import call

pytestmark = pytest.mark.java

LONG = "\n".join(f"{number:04d} " + "x" * 125 for number in range(1, 1201))
"""1,200 lines of 130 characters."""
ONE_LINE = "word " * 12_000
PATH = re.compile(r"Full output saved to: (.+)\]")


@pytest.fixture(scope="module")
def index(make_index: Callable[..., Path]) -> Index:
    documents = [Document("long", LONG), Document("line", ONE_LINE + "\nthe end"), Document("doc/42", "a\nb\n" * 30)]
    return Index(make_index(documents))


def test_16_two_reads_give_the_same_text_but_for_the_file(index: Index) -> None:
    with Controller(index, PI_SERINI) as controller:
        results = [call(controller, "read_document", docid="long", limit=1200) for _ in range(2)]
        first, second = (result.text for result in results)
        paths = [Path(found[1]) for text in (first, second) if (found := PATH.search(text))]
        assert len(set(paths)) == 2
        assert PATH.sub("", first) == PATH.sub("", second)
        assert [path.name for path in paths] == ["1-long-lines-1-1200.txt", "2-long-lines-1-1200.txt"]
        assert paths[0].read_text() == f"[docid=long lines 1-1200 of 1200]\n\n{LONG}"
        shown = first.split("\n\n[Output truncated: ")[0]
        assert len(shown.encode()) <= 50 * 1024
        assert shown == f"[docid=long lines 1-1200 of 1200]\n\n{LONG}"[: len(shown)]
        assert "[Output truncated: showing 392 of 1202 lines (49.9KB of 153.5KB). 810 lines (103.6KB) omitted." in first
        assert first.endswith("\nUse a smaller limit.")
        assert results[0].details["fullOutputPath"] == str(paths[0])
    assert not paths[0].exists()


def test_16_the_hint_skips_what_the_cap_cut(index: Index) -> None:
    """Kept as it is in the profile `pi-serini`: the next offset is that of the lines that were asked for."""
    with Controller(index, PI_SERINI) as controller:
        text = call(controller, "read_document", docid="long", limit=1000).text
        assert text.endswith("\nContinue with read_document(offset=1001).")


def test_16_ours_pages_on_where_the_text_ended(index: Index) -> None:
    with Controller(index, SIRA) as controller:
        result = call(controller, "read_document", docid="long", limit=1200)
        assert len(result.text.encode()) <= 50 * 1024
        last = result.details["returnedOffsetEnd"]
        assert result.details["nextOffset"] == last + 1 < 1200
        assert f"{last:04d} x" in result.text
        assert f"{last + 1:04d} x" not in result.text
        assert "saved" not in result.text
        following = call(controller, "read_document", docid="long", offset=last + 1, limit=1200)
        assert following.text.split("\n\n")[1].startswith(f"{last + 1:04d} x")


def test_17_a_long_first_line_leaves_nothing(index: Index) -> None:
    with Controller(index, PI_SERINI) as controller:
        result = call(controller, "read_document", docid="line", limit=1)
        shown = result.text.split("\n\n[Output truncated")[0]
        assert shown == "[docid=line lines 1-1 of 2]\n"
        assert capped("y" * 60_000 + "\nz", 2000, 51_200)[:3] == ("", True, 0)


def test_17_ours_gives_a_readable_piece_and_goes_on(index: Index) -> None:
    with Controller(index, SIRA) as controller:
        result = call(controller, "read_document", docid="line", limit=10)
        text = result.text.split("\n\n")[1]
        assert text.startswith("word word")
        assert 3_000 < len(text) <= 4_000
        assert result.details["nextOffset"] == 11


def test_18_the_name_of_a_page(index: Index) -> None:
    assert spill_name(7, "s/1", ranks_part(1, 5, 1, 5), "json") == "7-s_1-ranks-1-5.json"
    assert len(spill_name(7, "x" * 500, "ranks-1-5", "json")) == len("7--ranks-1-5.json") + 120


def test_19_the_name_of_an_empty_page() -> None:
    assert spill_name(8, "s_2", ranks_part(0, 0, 11, 5), "json") == "8-s_2-offset-11-limit-5-empty.json"


def test_20_the_name_of_a_part_of_a_document() -> None:
    assert spill_name(9, "doc/42", lines_part(21, 40, 21), "txt") == "9-doc_42-lines-21-40.txt"
    assert spill_name(9, "doc/42", lines_part(None, None, 21), "txt") == "9-doc_42-lines-21-21.txt"


def test_20_calls_are_counted_also_where_nothing_is_cut(index: Index) -> None:
    with Controller(index, PI_SERINI) as controller:
        call(controller, "read_document", docid="doc/42")
        text = call(controller, "read_document", docid="long", limit=1200).text
        found = PATH.search(text)
        assert found is not None
        assert Path(found[1]).name == "2-long-lines-1-1200.txt"


def test_21_cleaning_twice_does_no_harm() -> None:
    spills = SpillFolder()
    spills.clean()
    path = spills.write("search", "a.json", "{}")
    assert path.read_text() == "{}"
    spills.clean()
    assert not path.parent.parent.exists()
    spills.clean()


def test_a_page_of_a_ranking_is_capped_and_written_too(make_index: Callable[..., Path]) -> None:
    documents = [Document(f"d{number:04d}", f"kiln {number} {'y' * 200}") for number in range(600)]
    with Index(make_index(documents)) as index, Controller(index, PI_SERINI) as controller:
        call(controller, "search", query="kiln")
        text = call(controller, "read_search_results", search_id="s1", offset=1, limit=600).text
        found = PATH.search(text)
        assert found is not None
        assert Path(found[1]).name == "2-s1-ranks-1-600.json"
        assert len(json.loads(Path(found[1]).read_text())["previewedDocids"]) == 600


@pytest.mark.parametrize(("size", "told"), [(0, "0B"), (1023, "1023B"), (1024, "1.0KB"), (1_572_864, "1.5MB")])
def test_sizes(size: int, told: str) -> None:
    assert size_text(size) == told
