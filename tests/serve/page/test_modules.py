"""The modules alone, in the browser: sketches as lines, addresses, weights, marks."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from playwright.sync_api import Page

from tests.serve.page.conftest import MakeVisit

pytestmark = pytest.mark.java


@pytest.fixture
def page(visit: MakeVisit) -> Page:
    return visit().open()


def run(page: Page, module: str, script: str, *given: Any) -> Any:
    return page.evaluate(
        f"(given) => import('./static/{module}.js').then((module) => ({script})(module, ...given))", given
    )


def test_sketches_are_lines_and_back(page: Page) -> None:
    phrases = [
        *("alumina", {"text": "kiln wash", "role": "must"}, {"text": "slip", "role": "must_not", "weight": 2.5}),
        *("+plus", "\\back", "#hash", "x^2", {"text": "two words", "weight": 0}, "a  b"),
    ]
    sketch = {"phrases": phrases, "facets": ["category:tools", "category:New York"]}
    back = run(page, "sketch", "(m, sketch) => m.sketchOf(m.linesOf(sketch))", sketch)
    want = [*phrases[:6], {"text": "x^2", "weight": 1}, phrases[7], "a b"]
    assert back == {"phrases": want, "facets": sketch["facets"]}
    assert run(page, "sketch", "(m) => m.sketchOf(' \\n\\n + \\n#')") is None


def test_addresses_hold_a_search(page: Page) -> None:
    usual = {
        "index": "i",
        "question": "",
        "phrases": "",
        "by": "",
        "model": False,
        "k": 10,
        "program": None,
        "text": "",
    }
    for more in (
        {"index": "a b/c", "question": "why & how? ä 窑 #x", "phrases": "one\ntwo", "by": "model", "k": 25},
        {"question": "q", "phrases": "kept", "program": {"clauses": []}},
        {"text": '+"a b"^2 // note'},
        {"question": "q", "model": True},
    ):
        state = {**usual, **more}
        assert run(page, "state", "(m, state) => m.read(m.write(state))", state) == {"state": state, "fault": ""}
    assert run(page, "state", "(m) => m.read('#k=5000&program=3').state.k") == 10


def test_weights(page: Page) -> None:
    good = {"1": 1, " 0.5 ": 0.5, "1e3": 1000, ".5": 0.5, "1e30": 1e30, "0": 0}
    for text, value in {**good, **dict.fromkeys(("1e31", "-1", "Infinity", "NaN", "", "1,5", "0x10", "1 2"))}.items():
        assert run(page, "program", "(m, text) => m.weightOf(text)", text) == value


def marks(page: Page, text: str, forms: dict[str, list[int]], passages: list[Any], sought: str = "") -> list[str]:
    script = """(m, text, forms, passages, sought) => m.marksIn(text, new Map(Object.entries(forms)), passages, sought)
    .marks.map((mark) => text.slice(mark.start, mark.end) + (mark.places ? "" : "!"))"""
    return run(page, "marking", script, text, forms, passages, sought)


def piece(text: str, *clauses: int) -> dict[str, Any]:
    return {"text": text, "clauses": list(clauses)}


def test_words_are_marked_whole_and_in_any_case(page: Page) -> None:
    assert marks(page, "Kiln kilns re-kiln, KILN. akiln", {"kiln": [0]}, []) == ["Kiln", "kiln", "KILN"]
    assert marks(page, "在窑炉架上", {"窑炉": [0]}, []) == ["窑炉"]
    assert marks(page, "a.b (c) a+b", {"(c)": [0], "a.b": [1]}, []) == ["a.b", "(c)"]
    assert marks(page, "nothing", {}, []) == []


def test_passages_are_found_over_line_ends(page: Page) -> None:
    passage = [
        piece("… "),
        piece("the "),
        piece("kiln", 0),
        piece(" and "),
        piece("bare", 1),
        piece(" "),
        piece("clay", 1),
        piece(" …"),
    ]
    assert marks(page, "so the kiln\n  and\tbare\r\nclay of kilns, clay", {}, [passage]) == ["kiln", "bare", "clay"]
    assert marks(page, "another text", {}, [passage]) == []


def test_what_is_sought_goes_before_other_marks(page: Page) -> None:
    assert marks(page, "the kiln shelf, a kiln", {"kiln": [0]}, [], "KILN  shelf") == ["kiln shelf!", "kiln"]


def test_texts_that_would_act_are_written_out(page: Page) -> None:
    shown = run(
        page, "dom", "(m, text) => m.readable(text)", "a\u202eb\x00c\u00adsoft\u200djoin\r\nline\tend\u2028\U000e0041"
    )
    assert shown == "a\\u202eb\\x00csoft\u200djoin\nline\tend\\u2028\\U000e0041"
    assert run(page, "dom", "(m) => m.clipped('x'.repeat(5000), 10)") == "x" * 9 + "…"
    assert run(page, "dom", "(m) => m.clipped('🏺'.repeat(10), 10)") == "🏺" * 10
