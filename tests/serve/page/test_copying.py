"""The program as text and the search as a command go to the clipboard; the title names the search."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from playwright.sync_api import Page, expect

from sira.programtext.parser import program_from_text
from tests.serve.page.conftest import QUESTION, MakeVisit

pytestmark = pytest.mark.java

NASTY = 'kiln\'s "$(touch x)" `y` \\ 窑 \u202e\U000e0041 !'


def copied(page: Page, name: str) -> str:
    page.get_by_role("button", name=name).click()
    expect(page.locator("#status")).to_have_text("Copied.")
    expect(page.get_by_role("button", name=name)).to_be_focused()
    page.locator("#phrases").fill("")
    page.locator("#phrases").press("Control+V")  # what a reader would do: no right to read is needed
    return page.locator("#phrases").input_value()


def command(text: str) -> tuple[str, dict[str, Any]]:
    words = shlex.split(text)
    assert words[:2] == ["curl", "-s"]
    return words[2], json.loads(words[words.index("-d") + 1])


def test_the_program_is_copied_as_text(visit: MakeVisit) -> None:
    made = visit()
    page = made.search()
    shown = page.locator("#program tbody th").all_inner_texts()
    text = copied(page, "Copy as text")
    program = program_from_text(text)
    assert program.text == QUESTION
    assert [clause.label for clause in program.clauses] == shown


@pytest.mark.parametrize("question", [QUESTION, NASTY])
def test_the_search_is_copied_as_a_command(visit: MakeVisit, question: str) -> None:
    made = visit()
    page = made.search(question, "alumina\n+kiln^2")
    text = copied(page, "Copy as curl")
    assert "\u202e" not in text  # nothing acts on the terminal that it is pasted into
    url, body = command(text)
    assert url == "http://page.test/v1/indexes/pottery/search"
    assert body == made.routes.explained[0]
    assert "Authorization" not in text


def test_the_command_of_an_edited_program_has_the_program_and_never_the_token(visit: MakeVisit) -> None:
    made = visit()
    page = made.search()
    page.evaluate("sessionStorage.setItem('sira.token', 'a-token-of-sixteen-letters')")
    page.get_by_label("Weight of kiln", exact=True).fill("3")
    expect(page.get_by_text("Edited, not yet run.")).to_be_visible()
    page.get_by_role("button", name="Run the program").click()
    expect(page.locator(".caveat")).to_be_visible()
    expect(page.get_by_text("Edited, not yet run.")).to_be_hidden()
    text = copied(page, "Copy as curl")
    assert command(text)[1] == made.routes.explained[-1]
    assert '"Authorization: Bearer $SIRA_TOKEN"' in text
    assert "a-token-of" not in text


def test_the_title_names_the_search(visit: MakeVisit) -> None:
    page = visit().open()
    page.keyboard.type("kiln wash")
    page.keyboard.press("Enter")
    expect(page).to_have_title("kiln wash – sira")
    page.go_back()
    expect(page).to_have_title("sira: a search explained")
