"""Texts of documents, queries, addresses and servers are shown as they are and never act."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from playwright.sync_api import Page, expect

from tests.serve.page.conftest import MakeVisit
from tests.serve.page.probes import ADD_STYLE, FETCH_OUTSIDE, LISTENING, SET_MARKUP
from tests.serve.page.routes import fulfil

pytestmark = pytest.mark.java

SCRIPT = "<script>document.title='caught'</script><img src=x onerror=\"document.title='caught'\">"


def quiet(page: Page) -> None:
    """Nothing of what came became an element of its own, and nothing ran."""
    page.wait_for_timeout(100)
    assert page.title().endswith(("sira: a search explained", " – sira"))  # "caught" by itself is a script's
    assert page.locator("body script, body img, body svg, body iframe, body b b").count() == 0
    assert page.evaluate(LISTENING) == 0


def test_a_hostile_document_is_shown_and_does_nothing(visit: MakeVisit) -> None:
    page = visit().search("kiln glaze evil", "evil")
    title = page.locator("#hits h3").filter(has_text="script")
    expect(title).to_contain_text("<script>document.title='caught'</script>")
    expect(title).to_contain_text("\\u202eevil")  # what would turn the text around is written out
    quiet(page)
    page.locator("#ranks button").filter(has_text="<img").first.click()
    expect(page.locator("#reader li").first).to_contain_text("onerror")
    expect(page.locator("#reader li").nth(1)).to_contain_text("</textarea></script>")
    expect(page.locator("#reader li").nth(1)).to_contain_text("\\x07")
    quiet(page)


def test_a_hostile_question_sketch_and_program_do_nothing(visit: MakeVisit) -> None:
    made = visit()
    page = made.search(SCRIPT, f"{SCRIPT}\n+{SCRIPT}\n#{SCRIPT}")
    expect(page.locator("#sketch tbody tr").first).to_contain_text("<script>")
    quiet(page)
    program = {
        "qid": SCRIPT,
        "text": SCRIPT,
        "clauses": [
            {"kind": "term", "term": SCRIPT, "source": SCRIPT, "weight": 1.0, "occur": "should"},
            {"kind": "facet", "facet": SCRIPT, "weight": 1.0, "occur": "should"},
            {"kind": "term", "term": "kiln", "weight": 1.0, "occur": "should"},
        ],
    }
    page = made.open(q=SCRIPT, program=json.dumps(program))
    made.done()
    expect(page.locator("#program tbody th").first).to_contain_text("<script>")
    quiet(page)


def test_a_hostile_server_does_nothing(visit: MakeVisit) -> None:
    made = visit()
    told = {"title": SCRIPT, "detail": SCRIPT, "remedy": SCRIPT, "request_id": SCRIPT, "status": SCRIPT}
    made.routes.before = lambda route, path: path.endswith("/explain") and fulfil(route, 400, told) is None
    page = made.open(q="kiln")
    expect(page.locator("#problem h2")).to_have_text(SCRIPT)
    quiet(page)


def test_the_policy_forbids_what_the_page_does_not_need(visit: MakeVisit) -> None:
    made = visit()
    page = made.open()
    assert page.evaluate(SET_MARKUP) == "TypeError"
    assert page.evaluate(FETCH_OUTSIDE) == "TypeError"
    assert page.evaluate(ADD_STYLE) == "block"
    assert len([line for line in made.errors if "Content Security Policy" in line or "Trusted" in line]) >= 2
    made.errors.clear()
