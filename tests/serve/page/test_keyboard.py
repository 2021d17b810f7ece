"""Everything by keyboard: order, visible focus, arrow keys in tables, Enter and Escape."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from playwright.sync_api import Page, expect

from tests.serve.page.conftest import MakeVisit
from tests.serve.page.probes import ALIKE, FOCUS_RING, FOCUSED, NAMED_OTHERWISE, NAMELESS

pytestmark = pytest.mark.java


def order(page: Page, presses: int) -> list[str]:
    names: list[str] = []
    for _ in range(presses):
        page.keyboard.press("Tab")
        names.append(page.evaluate(FOCUSED))
    return names


def test_the_tab_key_goes_through_the_page_in_order(visit: MakeVisit) -> None:
    page = visit().search()
    page.evaluate("document.activeElement.blur()")
    names = order(page, 9)
    assert names == [
        "Skip to the results",
        "index",
        "question",
        "Sketch (7)",
        "phrases",
        "depth",
        "run",
        "Ranks",
        "Hits",
    ]


def test_the_skip_link_shows_itself_and_leads_to_the_results(visit: MakeVisit) -> None:
    page = visit().search()
    before = page.url
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#results")).to_be_focused()
    assert page.url == before  # which holds the search
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "Ranks"
    page.keyboard.press("Enter")
    expect(page.locator("#ranks h2")).to_be_focused()
    assert page.url == before


def test_focus_is_always_visible(visit: MakeVisit) -> None:
    page = visit().search()
    page.evaluate("document.activeElement.blur()")
    for _ in range(40):
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUS_RING)


def test_arrow_keys_move_in_the_ranks_and_enter_reads(visit: MakeVisit) -> None:
    page = visit().search()
    buttons = page.locator("#ranks tbody tr")
    buttons.nth(0).locator("button").nth(0).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    second = buttons.nth(1).locator("button").nth(1)
    expect(second).to_be_focused()
    docid = second.get_attribute("data-docid")
    page.keyboard.press("End")
    expect(buttons.last.locator("button").last).to_be_focused()
    page.keyboard.press("Home")
    expect(buttons.first.locator("button").nth(1)).to_be_focused()
    assert page.locator('#ranks button[tabindex="0"]').count() == 2  # one row is in the order of the Tab key
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#reader")).to_be_visible()
    expect(page.locator("#reader bdi").last).to_have_text(docid or "")
    expect(page.locator("#reader .text")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).to_be_hidden()
    expect(second).to_be_focused()


def test_weights_are_edited_and_run_by_keyboard(visit: MakeVisit) -> None:
    made = visit()
    page = made.search()
    weights = page.locator("#program input[aria-label^=Weight]")
    weights.first.focus()
    page.keyboard.press("ArrowDown")
    expect(weights.nth(1)).to_be_focused()
    page.keyboard.type("9")  # what is there is selected
    page.keyboard.press("ArrowDown")
    page.keyboard.type("8")
    page.keyboard.press("Enter")
    expect(page.locator(".caveat")).to_be_visible()
    clauses = made.routes.explained[-1]["program"]["clauses"]
    assert [clause["weight"] for clause in clauses[:3]] == [1, 9, 8]
    select = page.locator("#program select").first
    select.focus()
    page.keyboard.press("ArrowDown")  # a list keeps its own keys
    expect(select).to_have_value("must")


def test_the_keyboard_stays_where_it_was_in_new_results(visit: MakeVisit) -> None:
    page = visit().search()
    weight = page.get_by_label("Weight of kiln", exact=True)
    weight.evaluate("item => item.scrollIntoView({block: 'center', behavior: 'instant'})")
    weight.focus()
    before = weight.bounding_box()
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    expect(page.locator(".caveat")).to_be_visible()
    expect(page.locator("#status")).to_contain_text("The program was run: ")
    expect(weight).to_be_focused()
    after = weight.bounding_box()
    assert before is not None
    assert after is not None
    assert after["y"] == pytest.approx(before["y"], abs=2)  # the notice above it moves nothing
    expect(weight).to_have_value("3")
    page.get_by_role("button", name="Back to the question").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".caveat")).to_have_count(0)
    expect(page.locator("#results")).to_be_focused()


def test_a_clause_is_removed_by_keyboard_and_its_row_stays_the_one_of_the_tab_key(visit: MakeVisit) -> None:
    page = visit().search()
    page.get_by_label("Remove kiln", exact=True).focus()
    page.keyboard.press("Enter")
    back = page.get_by_label("Put back kiln", exact=True)
    expect(back).to_be_focused()
    expect(back).to_have_attribute("tabindex", "0")
    assert page.locator('#program tbody [tabindex="0"]').count() == 3
    expect(page.locator("#status")).to_have_text("Removed kiln. Run the program to see what it does.")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Remove kiln", exact=True)).to_be_focused()


def test_shift_enter_begins_a_line_and_an_input_method_is_left_alone(visit: MakeVisit) -> None:
    made = visit()
    page = made.open()
    page.keyboard.type("kiln")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("glaze")
    assert page.locator("#question").input_value() == "kiln\nglaze"
    page.locator("#question").dispatch_event("keydown", {"key": "Enter", "isComposing": True})
    assert made.routes.explained == []


def test_everything_has_a_name_and_the_results_announce_themselves(visit: MakeVisit) -> None:
    page = visit().search()
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(NAMED_OTHERWISE) == []
    assert page.evaluate(ALIKE) == []
    expect(page.locator("#status")).to_have_attribute("aria-live", "polite")
    assert 'heading "Hits"' in page.locator("#hits").aria_snapshot()
    first = page.locator("#ranks button").first.inner_text()
    assert "rank" in first  # where it went is said, not only drawn
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((item) => item.id)")
    assert len(ids) == len(set(ids))
    assert page.locator("html").get_attribute("lang") == "en"
