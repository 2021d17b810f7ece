"""A document in the dialog: pages, passages and words marked, find, scripts of any direction."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from playwright.sync_api import expect

from tests.serve.page.conftest import DOCUMENTS, MakeVisit

pytestmark = pytest.mark.java

LARGE = next(document.text for document in DOCUMENTS if document.docid == "large")


def test_the_large_document_is_as_large_as_those_of_the_field() -> None:
    assert len(LARGE) > 467_000


def test_a_passage_is_found_in_a_large_document(visit: MakeVisit) -> None:
    page = visit().search("kiln shelf glaze drips", "")
    page.get_by_label("Read passage 1 of large in the document").click()
    reader = page.locator("#reader")
    expect(reader.get_by_role("status")).to_contain_text("lines 1,200 to 1,399 of 4,699; place 1 of 1, line 1,203")
    mark = reader.locator(".sought mark").first
    expect(mark).to_be_in_viewport()
    expect(reader.locator("span.within").filter(has_text="Here the kiln shelf")).to_have_count(1)
    assert "kiln" in reader.locator("span.within mark").all_inner_texts()
    number = reader.locator("li:has(.sought)").first.evaluate("item => getComputedStyle(item, '::before').content")
    assert number == "counter(line)"


def test_pages_follow_each_other_and_join_to_the_text(visit: MakeVisit) -> None:
    page = visit().search("kiln shelf glaze drips", "")
    page.get_by_label("Read document large", exact=True).click()
    reader = page.locator("#reader")
    facts = reader.get_by_role("status")
    expect(facts).to_have_text("lines 1 to 200 of 4,699")
    expect(reader.get_by_role("button", name="Earlier lines")).to_be_hidden()
    shown = reader.locator("li").all_inner_texts()
    reader.get_by_role("button", name="Further lines").click()
    expect(facts).to_have_text("lines 201 to 400 of 4,699")
    shown += reader.locator("li").all_inner_texts()
    assert "\n".join(shown) == "\n".join(LARGE.split("\n")[:400])
    reader.get_by_role("button", name="Earlier lines").click()
    expect(facts).to_have_text("lines 1 to 200 of 4,699")


def test_find_goes_from_place_to_place(visit: MakeVisit) -> None:
    page = visit().search("kiln shelf glaze drips", "")
    page.get_by_label("Read document large", exact=True).click()
    reader = page.locator("#reader")
    facts = reader.get_by_role("status")
    field = reader.get_by_label("Find")
    field.fill("the KILN  shelf")
    for place, line in (("1", "1,203"), ("2", "3,400"), ("1", "1,203")):
        field.press("Enter")
        expect(facts).to_contain_text(f"place {place} of 2, line {line}")
        expect(reader.locator("mark.found")).to_have_text("the kiln shelf")
        expect(reader.locator("mark.found")).to_be_in_viewport()
        assert {"glaze", "drips"} <= set(
            reader.locator("mark:not(.found)").all_inner_texts()
        )  # beyond the passages too
    field.fill("no such words (.*")
    field.press("Enter")
    expect(reader.get_by_role("alert")).to_have_text("Nothing of it stands in this document.")


def test_words_are_marked_and_the_marks_are_gone_through(visit: MakeVisit) -> None:
    page = visit().search()
    page.get_by_label("Read document kiln-wash", exact=True).click()
    reader = page.locator("#reader")
    expect(reader.locator("mark").first).to_be_visible()
    assert "kiln" in reader.locator("mark:not(.sketch)").all_inner_texts()
    assert "alumina" in reader.locator("mark.sketch").all_inner_texts()
    reader.locator(".text").focus()
    page.keyboard.press("n")
    page.keyboard.press("n")
    assert reader.locator("mark.current").count() == 1
    assert reader.locator("mark").nth(1).evaluate("mark => mark.classList.contains('current')")
    page.keyboard.press("p")
    assert reader.locator("mark").nth(0).evaluate("mark => mark.classList.contains('current')")


def test_scripts_of_both_directions(visit: MakeVisit) -> None:
    page = visit().search("kiln", "")
    page.get_by_label("Read document arabic", exact=True).click()
    line = page.locator("#reader li").first
    assert line.evaluate("item => getComputedStyle(item).direction") == "rtl"
    expect(line.locator("mark")).to_have_text("kiln")
    page.keyboard.press("Escape")
    page.get_by_label("Read document chinese", exact=True).click()
    expect(page.locator("#reader mark")).to_have_count(12)


def test_a_fault_of_the_server_is_told_in_the_dialog(visit: MakeVisit) -> None:
    made = visit()
    page = made.search("kiln", "")
    made.routes.before = lambda route, path: path.endswith("/documents") and route.abort() is None
    page.get_by_label("Read document raku", exact=True).click()
    expect(page.locator("#reader").get_by_role("alert")).to_contain_text("the connection broke")
    page.locator("#reader").get_by_role("button", name="Close").click()
    expect(page.locator("#reader")).to_be_hidden()
