"""What a page must survive: a slow server, one that refuses, one that is gone, a token, a link that was cut."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from playwright.sync_api import Route, expect

from tests.serve.page.conftest import MakeVisit
from tests.serve.page.routes import fulfil

pytestmark = pytest.mark.java

TOKEN = "a-token-of-sixteen-letters"


def test_a_slow_search_says_so_and_escape_cancels_it(visit: MakeVisit) -> None:
    made = visit()
    made.page.clock.install()
    page = made.search("kiln", "")
    made.routes.hold()
    page.locator("#question").fill("glaze")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("Searching …")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "true")
    expect(page.locator("#cancel")).to_be_visible()
    expect(page.locator("#hits article").first).to_be_visible()  # what was there stays, dimmed
    page.clock.fast_forward(8500)
    expect(page.locator("#status")).to_have_text("Still searching: 9 seconds. Escape cancels.")
    page.keyboard.press("Escape")
    expect(page.locator("#status")).to_have_text("Cancelled.")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#cancel")).to_be_hidden()
    expect(page.locator("#question")).to_be_focused()
    assert len(made.routes.held) == 1


def test_a_search_that_was_cancelled_leaves_what_is_shown_as_it_was(visit: MakeVisit) -> None:
    made = visit()
    page = made.search("kiln", "")
    made.routes.hold()
    page.locator("#question").fill("glaze")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("Searching …")
    page.keyboard.press("Escape")
    made.routes.before = lambda route, path: False
    page.get_by_label("Weight of kiln", exact=True).fill("2")
    page.get_by_role("button", name="Run the program").click()
    expect(page.locator(".caveat")).to_be_visible()
    assert "q=kiln&" in page.url
    assert made.routes.explained[-1]["program"]["text"] == "kiln"


def test_what_is_typed_while_a_search_runs_is_kept(visit: MakeVisit) -> None:
    made = visit()
    made.routes.hold()
    page = made.open(q="kiln")
    expect(page.locator("#status")).to_have_text("Searching …")
    page.locator("#question").fill("glaze and")
    (route,) = made.routes.held
    made.routes.api(route, "v1/indexes/pottery/explain", {}, made.routes.explained[0])
    made.routes.held.clear()
    made.done()
    expect(page.locator("#question")).to_have_value("glaze and")


def test_a_later_search_takes_the_place_of_an_earlier_one(visit: MakeVisit) -> None:
    made = visit()
    made.routes.hold()
    page = made.open(q="kiln")
    expect(page.locator("#status")).to_have_text("Searching …")
    made.routes.before = lambda route, path: False
    page.locator("#question").fill("raku")
    page.keyboard.press("Enter")
    made.done()
    assert len(made.routes.held) == 1
    expect(page.locator("#program tbody th")).to_have_text(["raku"])
    expect(page.locator("#problem")).to_be_empty()


def test_a_refusal_is_shown_with_its_remedy_and_tried_again(visit: MakeVisit) -> None:
    made = visit()
    told = {
        "title": "The server is busy",
        "status": 429,
        "detail": "all 2 threads work: ask again later",
        "remedy": "ask again later",
        "request_id": "r-17",
    }

    def busy(route: Route, path: str) -> bool:
        if path.endswith("/explain"):
            fulfil(route, 429, told, Retry_After="2")
            return True
        return False

    made.routes.before = busy
    page = made.open(q="kiln")
    problem = page.locator("#problem")
    expect(problem).to_contain_text("The server is busy")
    expect(problem).to_contain_text("all 2 threads work.")
    expect(problem).to_contain_text("What to do: ask again later")
    expect(problem).to_contain_text("status 429, request r-17")
    expect(problem).to_have_attribute("role", "alert")
    expect(problem).not_to_contain_text("the search before")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    made.routes.before = lambda route, path: False
    page.get_by_role("button", name="Try again").click()
    made.done()
    expect(problem).to_be_empty()


def test_results_of_an_earlier_search_are_told_as_such_below_a_problem(visit: MakeVisit) -> None:
    made = visit()
    page = made.search("kiln", "")
    made.routes.before = lambda route, path: route.abort() is None
    page.locator("#question").fill("glaze")
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("What stands below is the search before.")
    expect(page.locator("#hits article").first).to_be_visible()


@pytest.mark.parametrize("how", ["gone", "html", "half"])
def test_a_server_that_is_gone_or_mad_is_told(visit: MakeVisit, how: str) -> None:
    made = visit()

    def before(route: Route, path: str) -> bool:
        if not path.endswith("/explain"):
            return False
        if how == "gone":
            route.abort()
        elif how == "html":
            route.fulfill(status=502, body="<h1>Bad gateway</h1>", headers={"Content-Type": "text/html"})
        else:
            route.fulfill(status=200, body='{"hits": [', headers={"Content-Type": "application/json"})
        return True

    made.routes.before = before
    page = made.open(q="kiln")
    expect(page.locator("#problem")).to_contain_text(
        {"gone": "The server does not answer", "html": "The server answered 502", "half": "The answer is no JSON"}[how]
    )
    expect(page.locator("#problem h1")).to_have_count(0)


def test_an_answer_that_the_page_does_not_know_is_told(visit: MakeVisit) -> None:
    made = visit()
    made.routes.before = lambda route, path: path.endswith("/explain") and fulfil(route, 200, {"hits": 3}) is None
    page = made.open(q="kiln")
    expect(page.locator("#problem")).to_contain_text("This page cannot show the answer")
    expect(page.locator("#problem")).to_contain_text("Reload the page")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    made.errors.clear()  # the browser's own words for it


def test_a_server_that_is_gone_at_first_is_tried_again(visit: MakeVisit) -> None:
    made = visit()
    made.routes.before = lambda route, path: route.abort() is None
    made.page.goto("/")
    expect(made.page.locator("#problem")).to_contain_text("The server does not answer")
    made.routes.before = lambda route, path: False
    made.page.get_by_role("button", name="Try again").click()
    expect(made.page.locator("#index option")).to_have_count(1)
    expect(made.page.locator("#problem")).to_be_empty()


def test_a_token_is_asked_for_and_kept_in_this_tab_alone(visit: MakeVisit) -> None:
    made = visit()
    sent: list[str] = []

    def before(route: Route, path: str) -> bool:
        given = route.request.headers.get("authorization", "")
        sent.append(given)
        if given == f"Bearer {TOKEN}":
            return False
        fulfil(route, 401, {"title": "A token is needed", "status": 401, "detail": "send the token"})
        return True

    made.routes.before = before
    page = made.page
    page.goto("/#q=kiln")
    expect(page.locator("#token-form")).to_be_visible()
    expect(page.locator("#token")).to_be_focused()
    expect(page.locator("#problem")).to_be_empty()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("send the token")
    expect(page.locator("#token-form")).to_be_visible()
    page.locator("#token").fill(TOKEN)
    page.keyboard.press("Enter")
    made.done()
    expect(page.locator("#token-form")).to_be_hidden()
    assert page.evaluate("[localStorage.length, document.cookie, sessionStorage.length]") == [0, "", 1]
    assert TOKEN not in page.url
    assert TOKEN not in page.content()
    sent.clear()
    page.reload()
    made.done()
    assert set(sent) == {f"Bearer {TOKEN}"}


def test_nothing_is_stored_without_a_token(visit: MakeVisit) -> None:
    page = visit().search()
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


def test_a_link_that_was_cut_is_searched_without_its_program(visit: MakeVisit) -> None:
    made = visit()
    page = made.open(q="kiln", program='{"clauses": [{"kind": "te')
    made.done()
    expect(page.locator("#problem")).to_contain_text("The program in this address cannot be read")
    assert made.routes.explained == [{"k": 10, "topic": "kiln"}]


def test_a_link_to_an_index_that_is_not_here_is_told(visit: MakeVisit) -> None:
    page = visit().open(q="kiln", index="../secret")
    expect(page.locator("#problem")).to_contain_text("Not found")
    expect(page.locator("#problem")).to_contain_text("pottery")
