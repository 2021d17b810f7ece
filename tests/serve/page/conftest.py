"""A real Chromium, driven by Playwright, and an index of pottery with hard texts in it.

Skipped where either is absent: `pip install playwright`, and `apt-get install chromium` (or SIRA_CHROMIUM names one).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from sira.records import Document
from tests.conftest import MakeIndex

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

    from sira.serve.service import Service
    from tests.serve.page.routes import Routes

SKETCH = "kiln shelf\nprotective coating\nalumina\nrelease agent\nglaze drips\n-casting slip\nteam^2"
QUESTION = "stop pots sticking in the kiln"

_HOSTILE = "<img src=x onerror=\"document.title='caught'\">"
_CAUGHT = "<script>document.title='caught'</script>"
_LARGE = "Line {}: the potters discuss many matters of craft, among them bodies and colours, to fill the line."
DOCUMENTS = (
    Document(
        "kiln-wash",
        "A coating for kiln shelves. Mix equal parts of alumina and kaolin with water, and brush it on in thin layers, "
        "so that dripping glaze does not bond to the shelf.",
        "Kiln wash",
    ),
    Document("raku", "The ware is taken from the kiln while it glows, and the glaze crackles.", "Raku"),
    Document("celadon", "A pale green glaze coloured by a little iron and fired without enough air.", "Celadon"),
    Document("slip", "Liquid clay, kept from settling, is poured into plaster moulds.", "Casting slip"),
    Document("cones", "Small pyramids beside the pots; they bend when the heatwork is done.", "Pyrometric cones"),
    Document("wedging", "Kneading the clay by hand before throwing drives out air.", "Wedging"),
    Document(
        _HOSTILE,
        f"kiln {_HOSTILE}\n</textarea></script>{_CAUGHT} \u202eglaze\u202c \x07",
        f"{_HOSTILE}{_CAUGHT} \u202eevil",
    ),
    Document("arabic", "يوضع الطلاء على رفوف الفرن kiln حتى لا تلتصق الأواني.", "فرن الفخار"),
    Document("chinese", "在窑炉架上涂抹氧化铝和高岭土的混合物 kiln，这样釉料就不会粘在架子上。" * 12, "窑炉与釉料"),
    Document("long-word", f"kiln {'x' * 3000} glaze {'pneumono' * 200}", "W" * 300),
    Document("d" * 400, "kiln kiln without a title and with a long docid"),
    Document(
        "large",
        "\n".join(
            _LARGE.format(number) + (" Here the kiln shelf and the glaze drips meet." if number in (1203, 3400) else "")
            for number in range(1, 4700)
        ),
        "A large document",
    ),
)
EXPANSIONS = {"kiln-wash": (["stick", "pot", "releas", "agent"], ["releas agent"])}


def chromium() -> str | None:
    """The browser's file."""
    named = os.environ.get("SIRA_CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One of each module: while Playwright's loop is there, no other can run in the thread."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    path = chromium()
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium, or SIRA_CHROMIUM=FILE")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox does not work for root
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def pottery(make_index: MakeIndex) -> Path:
    return make_index(DOCUMENTS, EXPANSIONS)


@pytest.fixture(scope="module")
def service(pottery: Path) -> Iterator[Service]:
    pytest.importorskip("pydantic")
    from sira.serve.service import Service
    from sira.serve.settings import ServeSettings

    with Service(ServeSettings({"pottery": pottery})) as opened:
        yield opened


class Visit:
    """A page, and what was asked of the server. It ends with a failure where the browser reported an error."""

    def __init__(self, page: Page, routes: Routes) -> None:
        from playwright.sync_api import expect

        self.page, self.routes, self._expect = page, routes, expect
        self.errors: list[str] = []
        self.expected: tuple[str, ...] = ("Failed to load resource",)  # answers that are no success
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type in ("error", "warning") else None)
        page.on("dialog", self._refused)

    def _refused(self, dialog: Dialog) -> None:
        self.errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, **state: str) -> Page:
        """The page at the address of this search."""
        self.page.goto("/" + (f"#{urlencode(state)}" if state else ""))
        self._expect(self.page.locator("#index option")).to_have_count(1)
        return self.page

    def search(self, question: str = QUESTION, sketch: str = SKETCH, **state: str) -> Page:
        """The page with the results of this search."""
        self.open(q=question, sketch=sketch, **state)
        self.done()
        return self.page

    def done(self) -> None:
        """Wait for results, and that no search runs."""
        self._expect(self.page.locator("#results")).to_have_attribute("aria-busy", "false")
        self._expect(self.page.locator("#hits")).to_have_count(1)


MakeVisit = Callable[..., Visit]


@pytest.fixture
def visit(browser: Browser, service: Service) -> Generator[MakeVisit]:
    """visit(**options of the browser's context, such as viewport or color_scheme)."""
    from tests.serve.page.routes import ORIGIN, Routes

    visits: list[Visit] = []

    def make(**options: Any) -> Visit:
        context = browser.new_context(base_url=ORIGIN, **options)
        page = context.new_page()
        page.set_default_timeout(10_000)
        made = Visit(page, Routes(service))
        made.routes.attach(page)
        visits.append(made)
        return made

    yield make
    for made in visits:
        made.routes.let_go()
        made.page.context.close()
    for made in visits:
        assert [text for text in made.errors if not text.startswith(made.expected)] == []
        assert made.routes.outside == []
