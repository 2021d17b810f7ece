"""The page shows what the service says: ranks, hits, contributions, sketch, verdicts, program; edits search again."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from playwright.sync_api import Locator, Page, expect

from sira.serve.requests import ExplainRequest
from sira.serve.service import Service
from tests.serve.page.conftest import QUESTION, SKETCH, MakeVisit, Visit

pytestmark = pytest.mark.java


def rows(page: Page, part: str) -> list[list[str]]:
    """The texts of a table's cells."""
    return [row.locator("th, td").all_inner_texts() for row in page.locator(f"#{part} tbody tr").all()]


def state(page: Page) -> dict[str, str]:
    """What the address says."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).fragment).items()}


def weight(page: Page, clause: str) -> Locator:
    return page.get_by_label(f"Weight of {clause}", exact=True)


def hit_names(page: Page) -> list[str]:
    return [name.split(". ", 1)[1].strip() for name in page.locator("#hits h3").all_inner_texts()]


@pytest.fixture
def found(visit: MakeVisit) -> Visit:
    made = visit()
    made.search()
    return made


def test_the_first_visit_says_what_to_do(visit: MakeVisit) -> None:
    made = visit()
    page = made.open()
    expect(page.locator("#question")).to_be_focused()
    expect(page.get_by_text("Type a question. You will see")).to_be_visible()
    expect(page.locator("#cancel")).to_be_hidden()
    assert made.routes.explained == []


def test_a_question_is_typed_and_searched(visit: MakeVisit) -> None:
    made = visit()
    page = made.open()
    page.keyboard.type("kiln shelf")
    page.keyboard.press("Enter")
    made.done()
    assert made.routes.explained == [{"k": 10, "topic": "kiln shelf"}]
    assert state(page) == {"index": "pottery", "q": "kiln shelf"}
    expect(page.locator("#status")).to_contain_text("N = 12 documents.")
    expect(page.locator("#verdicts")).to_contain_text("Nothing was proposed.")


def test_what_is_shown_is_what_the_service_says(found: Visit, service: Service) -> None:
    page = found.page
    (asked,) = found.routes.explained
    said = service.explain("pottery", ExplainRequest.model_validate(asked))
    assert asked["sketch"]["phrases"][5:] == [
        {"text": "casting slip", "role": "must_not"},
        {"text": "team", "weight": 2},
    ]
    names = ["".join(piece["text"] for piece in hit["title"]) or hit["docid"] for hit in said["hits"]]
    assert len(names) >= 6
    for shown, name in zip(hit_names(page), names, strict=True):
        assert shown[:20] == name[:20] or "\u202e" in name  # written out, see test_hostile
    verdicts = rows(page, "verdicts")
    assert [row[1] for row in verdicts] == [item["term"] for item in said["verdicts"]]
    assert [row[3] for row in verdicts] == ["" if item["df"] is None else str(item["df"]) for item in said["verdicts"]]
    assert {row[2] for row in verdicts} >= {"✓ kept", "– too common", "– unseen"}
    assert [row[0] for row in rows(page, "sketch")][:2] == ["kiln shelf", "protective coating"]
    assert [row[0] for row in rows(page, "program")] == [item["label"] for item in said["clauses"]]
    assert page.locator("#program-text").input_value() == said["program_text"]


def test_the_contributions_of_a_hit_add_up_to_its_score(found: Visit) -> None:
    cards = found.page.locator("#hits article").all()
    for card in cards:
        score = float(card.locator(".facts b").first.inner_text())
        parts = [float(text) for text in card.locator(".figure").all_inner_texts()]
        assert sum(parts) == pytest.approx(score, abs=1e-3)
    expect(cards[0].locator("dt").filter(has_text="stick")).to_contain_text("expansion")
    widths = [bar.evaluate("bar => bar.getBoundingClientRect().width") for bar in cards[0].locator(".bar").all()]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 3 * widths[-1] / 2


def test_ranks_stand_beside_those_of_plain_bm25(found: Visit, service: Service) -> None:
    said = service.explain("pottery", ExplainRequest.model_validate(found.routes.explained[0]))
    table = found.page.locator("#ranks tbody tr")
    for hit in said["hits"]:
        button = table.nth(hit["rank"] - 1).locator("td").nth(1).locator("button")
        assert button.get_attribute("data-docid") == hit["docid"]
        before = hit["plain_bm25"]["rank"]
        told = {"new": "new", "same": "same rank"}.get(hit["move"], f"{hit['move']} from rank {before}")
        assert told in button.inner_text()
        if before is not None and before <= said["k"]:
            plain = table.nth(before - 1).locator("td").first.locator("button")
            assert plain.get_attribute("data-docid") == hit["docid"]
    assert {hit["move"] for hit in said["hits"]} >= {"up", "down"}


def test_a_lost_document_says_where_it_went(visit: MakeVisit) -> None:
    page = visit().search("kiln", "alumina^50\npyramids^50", k="3")
    lost = [
        name
        for name in page.locator("#ranks button").evaluate_all("all => all.map((button) => button.innerText)")
        if "lost" in name
    ]
    assert lost
    assert all("with the program" in name for name in lost)
    expect(page.locator("#status")).to_contain_text(f"{len(lost)} lost")


def test_edited_weights_and_clauses_are_searched_and_linked(found: Visit, visit: MakeVisit) -> None:
    page = found.page
    weight(page, "pot").fill("30")
    page.get_by_label("Remove stick", exact=True).click()
    page.get_by_label("Occur of alumina", exact=True).select_option("must")
    page.get_by_role("button", name="Run the program").click()
    expect(page.locator(".caveat")).to_contain_text("as you edited it")
    found.done()
    clauses = {clause.get("term"): clause for clause in found.routes.explained[-1]["program"]["clauses"]}
    assert clauses["pot"]["weight"] == 30
    assert clauses["alumina"]["occur"] == "must"
    assert "stick" not in clauses
    assert hit_names(page) == ["Kiln wash"]
    assert rows(page, "verdicts")  # of the search that it was edited from
    linked = state(page)
    assert linked["q"] == QUESTION
    assert json.loads(linked["program"])["clauses"] == found.routes.explained[-1]["program"]["clauses"]

    again = visit()
    again.page.goto(page.url)
    again.done()
    assert hit_names(again.page) == ["Kiln wash"]
    assert again.routes.explained == [found.routes.explained[-1]]
    expect(again.page.locator("#verdicts")).to_contain_text("brings no log of verdicts")
    again.page.get_by_role("button", name="Back to the question").click()
    expect(again.page.locator("#sketch")).to_have_count(1)
    assert again.routes.explained[-1] == found.routes.explained[0]


def test_the_back_button_goes_through_the_searches(found: Visit) -> None:
    page = found.page
    weight(page, "pot").fill("30")
    page.get_by_role("button", name="Run the program").click()
    expect(page.locator(".caveat")).to_be_visible()
    page.go_back()
    expect(page.locator(".caveat")).to_have_count(0)
    assert found.routes.explained[0] == found.routes.explained[2]
    assert page.locator("#phrases").input_value() == SKETCH
    page.go_forward()
    expect(page.locator(".caveat")).to_be_visible()


def test_back_to_the_beginning_nothing_is_asked(visit: MakeVisit) -> None:
    made = visit()
    page = made.open()
    page.keyboard.type("kiln")
    page.keyboard.press("Enter")
    made.done()
    page.go_back()
    expect(page.get_by_text("Type a question. You will see")).to_be_visible()
    expect(page.locator("#hits")).to_have_count(0)
    expect(page.locator("#question")).to_have_value("")
    expect(page.locator("#status")).to_be_empty()


def test_a_weight_that_is_none_is_refused_in_place(found: Visit) -> None:
    page = found.page
    for wrong in ("-1", "1e999", "NaN", "two", "", "0x10"):
        weight(page, "pot").fill(wrong)
        page.get_by_role("button", name="Run the program").click()
        expect(page.locator("#program-fault")).to_contain_text("give a number from 0 to 1e30")
        expect(weight(page, "pot")).to_be_focused()
        expect(weight(page, "pot")).to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Undo edits").click()
    expect(weight(page, "pot")).to_have_value("1")
    expect(page.locator("#program-fault")).to_be_empty()
    assert len(found.routes.explained) == 1


def test_a_weight_that_nobody_touched_keeps_its_digits(visit: MakeVisit) -> None:
    made = visit()
    page = made.open(q="kiln", text="kiln^0.123456789012")
    made.done()
    expect(weight(page, "kiln")).to_have_value("0.1234568")
    page.get_by_role("button", name="Run the program").click()
    expect(page.locator(".caveat")).to_contain_text("as you edited it")
    assert made.routes.explained[-1]["program"]["clauses"][0]["weight"] == 0.123456789012


def test_clauses_are_added_as_one_writes_them(found: Visit) -> None:
    page = found.page
    page.get_by_label("Add clauses").fill('-raku "glaze crackles"^2')
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("Added raku")
    assert [row[0] for row in rows(page, "program")][-2:] == ["raku", '"glaze crackl"']
    expect(page.get_by_label("Occur of raku")).to_have_value("must_not")
    page.get_by_role("button", name="Run the program").click()
    expect(page.locator(".caveat")).to_be_visible()
    assert "Raku" not in hit_names(page)
    sent = found.routes.explained[-1]["program"]["clauses"]
    assert [clause["source"] for clause in sent[-2:]] == ["added here", "glaze crackles"]  # none is the question's
    expect(page.locator("#ranks")).to_contain_text("the program’s own single words")
    for wrong, told in (('"kiln', "expected"), ("the", "Nothing of it is a term")):
        page.get_by_label("Add clauses").fill(wrong)
        page.keyboard.press("Enter")
        expect(page.locator(".adding .fault")).to_contain_text(told)


def test_a_program_as_text_is_searched_and_its_fault_is_told(found: Visit) -> None:
    page = found.page
    page.get_by_text("As text", exact=True).click()
    area = page.get_by_label("The program as text", exact=True).and_(page.locator("textarea"))
    area.fill("+alumina kiln^0.5")
    page.get_by_role("button", name="Run this text").click()
    expect(page.locator(".caveat")).to_contain_text("as you wrote it")
    assert hit_names(page) == ["Kiln wash"]
    assert state(page)["text"] == "+alumina kiln^0.5"
    page.get_by_text("As text", exact=True).click()
    page.locator("#program-text").fill("kiln NOT glaze")
    page.locator("#program-text").press("Control+Enter")
    expect(page.locator("#problem")).to_contain_text("no NOT")
    assert hit_names(page) == ["Kiln wash"]  # what was found before stays


@pytest.mark.parametrize(
    ("question", "sketch", "told"),
    [
        ("zzzz", "", "No hits: no document matches."),
        ("the", "", "No hits: the program has no clause. Stop words and marks are not searched."),
        ("zzzz", "+zzzz", "No hits: it requires zzzz, which no document holds."),
    ],
)
def test_no_hits_say_why(visit: MakeVisit, question: str, sketch: str, told: str) -> None:
    page = visit().search(question, sketch)
    expect(page.locator("#hits")).to_contain_text(told)
    expect(page.locator("#status")).to_have_text(told)
    expect(page.locator("#ranks")).to_have_count(0)


def test_verdicts_of_one_outcome_are_shown_alone(found: Visit) -> None:
    page = found.page
    page.locator("#verdicts select").select_option("unseen")
    assert {row[2] for row in rows(page, "verdicts")} == {"– unseen"}
    page.locator("#verdicts select").select_option("")
    assert len({row[2] for row in rows(page, "verdicts")}) > 2


def test_nothing_blank_and_no_depth_out_of_range_is_asked(visit: MakeVisit) -> None:
    made = visit()
    page = made.open()
    page.locator("#run").click()
    expect(page.locator("#status")).to_have_text("Type a question first.")
    page.locator("#question").fill("kiln")
    for wrong in ("0", "101", "ten", "-5", "1e3"):
        page.locator("#depth").fill(wrong)
        page.locator("#run").click()
        expect(page.locator("#status")).to_have_text("Hits: give a number from 1 to 100.")
        expect(page.locator("#depth")).to_be_focused()
    assert made.routes.explained == []
