"""The server's model writes the sketch: it is shown, stands in the form to be edited, and in the address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from playwright.sync_api import Browser, expect

from sira.records import Sketch, SketchPhrase, Topic
from sira.serve.requests import Asking
from sira.serve.service import Service
from sira.serve.settings import ServeSettings
from sira.serve.sketching import SketchModel
from tests.serve.page.conftest import Visit
from tests.serve.page.routes import ORIGIN, Routes

pytestmark = pytest.mark.java


class Scripted:
    """Always the same sketch."""

    asked = 0

    def sketch(self, topic: Topic, asking: Asking) -> tuple[Sketch, Mapping[str, Any]]:
        self.asked += 1
        phrases = (
            SketchPhrase("kiln shelf"),
            SketchPhrase("+ release agent", "must"),
            SketchPhrase("alumina", weight=2),
        )
        return Sketch(topic.qid, phrases, ("category:tools",), by_model=True), {"status": "ok"}

    def close(self) -> None:
        pass


@pytest.fixture
def visit(browser: Browser, pottery: Path) -> Iterator[tuple[Visit, Scripted]]:
    model = Scripted()
    with Service(ServeSettings({"pottery": pottery}), model=cast("SketchModel", model)) as service:
        page = browser.new_context(base_url=ORIGIN).new_page()
        page.set_default_timeout(10_000)
        made = Visit(page, Routes(service, model=True))
        made.routes.attach(page)
        yield made, model
        page.context.close()
        assert made.errors == []


def test_the_models_sketch_is_shown_edited_and_linked(visit: tuple[Visit, Scripted]) -> None:
    made, model = visit
    page = made.open()
    page.locator("#question").fill("stop pots sticking in the kiln")
    page.get_by_label("The server’s model writes it").check()
    page.locator("#run").click()
    made.done()
    assert made.routes.explained == [{"k": 10, "topic": "stop pots sticking in the kiln", "llm": True}]
    lines = page.locator("#phrases").input_value()
    assert lines == "kiln shelf\n++ release agent\nalumina^2\n#category:tools"
    expect(page.locator("#model")).not_to_be_checked()
    first = page.locator("#verdicts tbody").inner_text()
    clauses = page.locator("#program tbody").inner_text()

    page.reload()  # the link asks for the same sketch, and no model
    made.done()
    assert model.asked == 1
    assert made.routes.explained[1]["sketch"]["provenance"] == {"model": "of the server"}
    assert page.locator("#verdicts tbody").inner_text() == first
    assert page.locator("#program tbody").inner_text() == clauses

    page.locator("#phrases").fill(f"{lines}\nglaze drips")  # now it is a person's
    page.locator("#run").click()
    expect(page.locator("#sketch tbody")).to_contain_text("glaze drips")
    assert "provenance" not in made.routes.explained[2]["sketch"]


def test_without_a_model_none_is_offered(visit: tuple[Visit, Scripted]) -> None:
    made, _ = visit
    made.routes.model = False
    page = made.open()
    expect(page.locator("#phrases")).to_be_visible()
    expect(page.locator("#model")).to_be_hidden()
