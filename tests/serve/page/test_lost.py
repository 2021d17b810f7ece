"""Why documents of plain BM25 are lost: what each has and lacks, as the service says it."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from playwright.sync_api import Page, expect

from sira.serve.requests import ExplainRequest
from sira.serve.service import Service
from tests.serve.page.conftest import MakeVisit, Visit
from tests.serve.page.probes import STICKING_OUT

pytestmark = pytest.mark.java


@pytest.fixture
def losing(visit: MakeVisit) -> Visit:
    made = visit()
    made.search("kiln", "alumina^50\npyramids^50\n-raku", k="3")
    return made


def explain(page: Page) -> None:
    page.locator("#lost").get_by_role("button", name="Why are they lost?").click()
    expect(page.locator("#lost article").first).to_be_visible()


def test_the_lost_are_explained_when_one_asks(losing: Visit, service: Service) -> None:
    page = losing.page
    said = service.explain("pottery", ExplainRequest.model_validate(losing.routes.explained[0]))
    docids = [hit["docid"] for hit in said["lost"]]
    assert docids
    assert len(losing.routes.explained) == 1
    explain(page)
    expect(page.locator("#lost h2")).to_be_focused()
    expect(page.locator("#status")).to_contain_text("explained")
    asked = losing.routes.explained[1]
    assert asked == {**losing.routes.explained[0], "docids": docids}
    missed = service.explain("pottery", ExplainRequest.model_validate(asked))["missed"]
    cards = page.locator("#lost article")
    assert cards.count() == len(missed) == len(docids)
    for place, item in enumerate(missed):
        card = cards.nth(place)
        expect(card).to_contain_text(f"rank {item['plain_bm25']['rank']} under plain BM25")
        expect(card).to_contain_text(f"{item['gap']:.4f} below the last hit")
        assert card.locator("dt").count() == len(item["contributions"])
        for part in item["lacks"]:
            expect(card).to_contain_text(part["clause"])
    assert page.evaluate(STICKING_OUT) == []


def test_an_excluded_document_is_told_as_kept_out(visit: MakeVisit) -> None:
    page = visit().search("kiln glaze", "-glaze crackles")
    explain(page)
    expect(page.locator("#lost")).to_contain_text("Kept out: it holds the excluded")


def test_a_lost_document_is_read_and_a_fault_is_told(losing: Visit) -> None:
    page = losing.page
    losing.routes.before = lambda route, path: route.abort() is None
    page.locator("#lost").get_by_role("button").click()
    expect(page.locator("#lost .fault")).to_contain_text("the connection broke")
    losing.routes.before = lambda route, path: False
    explain(page)
    expect(page.locator("#lost .fault")).to_be_empty()
    page.locator("#lost").get_by_role("button", name="Read document").first.click()
    expect(page.locator("#reader li").first).to_be_visible()


def test_the_head_that_is_gone_to_is_not_below_the_status_of_a_phone(visit: MakeVisit) -> None:
    page = visit(viewport={"width": 320, "height": 740}, reduced_motion="reduce").search("kiln", "alumina^50", k="3")
    for link in page.locator("nav a").all():
        link.click()
        head = page.locator("h2:focus").bounding_box()
        status = page.locator("#status").bounding_box()
        assert head is not None
        assert status is not None
        assert head["y"] >= status["y"] + status["height"] or head["y"] + head["height"] <= status["y"]
    assert page.evaluate(STICKING_OUT) == []


def test_where_none_is_lost_nothing_is_said(visit: MakeVisit) -> None:
    page = visit().search("kiln", "")
    expect(page.locator("#lost")).to_have_count(0)
