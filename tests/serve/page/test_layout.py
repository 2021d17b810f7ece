"""Narrow, wide, dark, enlarged, still; hundreds of clauses; contrast."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from playwright.sync_api import expect

from tests.serve.page.conftest import MakeVisit
from tests.serve.page.probes import CONTRAST, CONTROL_CONTRAST, FILLS_OF_BARS, LINES_OF_MARKS, STICKING_OUT

pytestmark = pytest.mark.java


def test_a_phone_of_360_pixels_needs_no_sideways_scrolling(visit: MakeVisit) -> None:
    page = visit(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True).search()
    assert page.evaluate(STICKING_OUT) == []
    assert page.locator("#run").evaluate("button => button.getBoundingClientRect().height") >= 44
    page.get_by_label("Read document long-word", exact=True).tap()
    expect(page.locator("#reader li").first).to_be_visible()
    assert page.evaluate(STICKING_OUT) == []
    box = page.locator("#reader").bounding_box()
    assert box is not None
    assert box["width"] <= 360
    expect(page.locator("#reader").get_by_role("button", name="Close")).to_be_in_viewport()
    assert page.locator("#reader .text").evaluate("text => text.clientHeight") >= 128


def test_text_of_twice_the_size_still_fits(visit: MakeVisit) -> None:
    made = visit(viewport={"width": 640, "height": 900})
    page = made.search()
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert page.evaluate(STICKING_OUT) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_schemes_are_readable(visit: MakeVisit, scheme: str) -> None:
    made = visit(color_scheme=scheme)
    page = made.search()
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    ratio, item = page.evaluate(CONTRAST)
    assert ratio >= 4.5, item
    ratio, item = page.evaluate(CONTROL_CONTRAST)
    assert ratio >= 3, item
    page.get_by_label("Weight of pot", exact=True).fill("two")
    page.get_by_role("button", name="Run the program").click()
    expect(page.locator("#program-fault")).not_to_be_empty()
    page.get_by_label("Read document kiln-wash", exact=True).click()
    expect(page.locator("#reader mark").first).to_be_visible()
    ratio, item = page.evaluate(CONTRAST)
    assert ratio >= 4.5, item


def test_marks_and_moves_are_told_without_colour(visit: MakeVisit) -> None:
    page = visit(forced_colors="active").search()
    kinds = page.evaluate(LINES_OF_MARKS)
    assert kinds == ["solid", "dotted"]
    assert set(page.locator(".move b").all_inner_texts()) <= {"▲", "▼", "=", "+", "×"}
    bars = page.evaluate(FILLS_OF_BARS)
    assert bars[0] == "none"
    assert "repeating-linear-gradient" in bars[1]


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_turns_for_those_who_do_not_want_it(visit: MakeVisit, motion: str) -> None:
    made = visit(reduced_motion=motion)
    made.routes.hold()
    page = made.open(q="kiln")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "true")
    turning = page.locator("#status").evaluate("item => getComputedStyle(item, '::before').animationName")
    assert turning == ("none" if motion == "reduce" else "turning")
    smooth = page.evaluate("getComputedStyle(document.documentElement).scrollBehavior")
    assert smooth == ("auto" if motion == "reduce" else "smooth")


def test_nothing_jumps_while_a_search_runs_and_the_status_stays_in_sight(visit: MakeVisit) -> None:
    made = visit(viewport={"width": 1280, "height": 600})
    page = made.search()
    before = page.locator("#ranks").bounding_box()
    made.routes.hold()
    page.locator("#question").fill("kiln wash")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("Searching …")
    assert page.locator("#ranks").bounding_box() == before
    ratio, item = page.evaluate(CONTRAST)
    assert ratio >= 4.5, item
    assert page.locator("#results").evaluate("item => getComputedStyle(item).opacity") == "1"
    page.get_by_label("Weight of alumina", exact=True).focus()
    page.mouse.wheel(0, 2000)
    expect(page.locator("#ask")).not_to_be_in_viewport()
    expect(page.locator("#status")).to_be_in_viewport(ratio=1)


def test_the_whole_program_stands_beside_the_ranks(visit: MakeVisit) -> None:
    page = visit(viewport={"width": 1280, "height": 900}).search()
    assert page.locator("#program .scroll").evaluate("item => item.scrollWidth <= item.clientWidth")


def test_what_is_printed_is_whole(visit: MakeVisit) -> None:
    made = visit()
    page = made.open(q="kiln", text=" ".join(f"word{number}" for number in range(60)))
    made.done()
    page.emulate_media(media="print")
    assert page.locator("#program .scroll").evaluate("item => item.scrollHeight <= item.clientHeight + 1")
    expect(page.locator("#program tbody tr").last).to_be_visible()
    for name in ("#run", ".adding", "nav", "#program .quiet >> nth=0"):
        expect(page.locator(name)).to_be_hidden()


def test_hundreds_of_clauses(visit: MakeVisit) -> None:
    made = visit()
    text = " ".join(f"word{number}^0.5" for number in range(700)) + " kiln glaze"
    page = made.open(q="kiln", text=text)
    made.done()
    assert page.locator("#program tbody tr").count() == 100
    page.locator("#program").get_by_role("button", name="Show all 702 rows").click()
    expect(page.locator("#program tbody tr")).to_have_count(702)
    assert page.locator('#program [tabindex="0"]:is(input, select, td button)').count() == 3
    assert page.evaluate(STICKING_OUT) == []
    page.get_by_label("Weight of kiln", exact=True).fill("7")
    page.get_by_role("button", name="Run the program").click()
    expect(page.locator(".caveat")).to_contain_text("as you edited it")
    sent = made.routes.explained[-1]["program"]["clauses"]
    assert len(sent) == 702
    assert next(clause["weight"] for clause in sent if clause["term"] == "kiln") == 7
    url = page.url
    page.goto("about:blank")
    page.goto(url)
    made.done()
    assert made.routes.explained[-1]["program"]["clauses"] == sent
