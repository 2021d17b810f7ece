"""The page on the real server: its own routes, headers, limits and token."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
pytest.importorskip("fastapi", reason="needs the extra serve")

from playwright.sync_api import Browser, Page, expect

from sira.records import Document
from sira.serve.page import CONTENT_SECURITY_POLICY
from tests.conftest import MakeIndex

pytestmark = pytest.mark.java

TOKEN = "a-token-of-sixteen-letters"
Serve = Callable[..., str]


@contextmanager
def serving(indexes: Mapping[str, Path], token: str | None = None) -> Iterator[str]:
    """The address of a server in a thread."""
    import uvicorn

    from sira.serve.http.app import create_app
    from sira.serve.service import Service
    from sira.serve.settings import HttpSettings, ServeSettings

    app = create_app(Service(ServeSettings(indexes)), HttpSettings(token=token))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, ws="none", lifespan="on"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        end = time.monotonic() + 30
        while not server.started and thread.is_alive() and time.monotonic() < end:
            time.sleep(0.02)
        assert server.started
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def serve(pottery: Path) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(indexes: Mapping[str, Path] | None = None, token: str | None = None) -> str:
            return stack.enter_context(serving(indexes or {"pottery": pottery}, token))

        yield start


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(10_000)
    errors: list[str] = []
    opened = context.new_page()
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda line: errors.append(line.text) if line.type in ("error", "warning") else None)
    yield opened
    context.close()
    assert [text for text in errors if not text.startswith("Failed to load resource")] == []


def test_a_question_is_searched_read_and_edited(serve: Serve, page: Page) -> None:
    address = serve()
    answer = page.goto(f"{address}/")
    assert answer is not None
    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert TOKEN not in answer.text()
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type("stop pots sticking in the kiln")
    page.locator("#phrases").fill("alumina\n-casting slip\nrelease agent^2")
    page.locator("#phrases").press("Control+Enter")
    expect(page.locator("#hits h3").first).to_contain_text("Kiln wash")
    expect(page.locator("#sketch tbody tr")).to_have_count(3)

    page.get_by_label("Add clauses").fill("sawdust^9")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("Added sawdust")
    page.get_by_label("Add clauses").fill('"kiln')
    page.keyboard.press("Enter")
    expect(page.locator(".adding .fault")).to_contain_text("to close the quote")
    page.get_by_role("button", name="Undo edits").click()
    page.get_by_label("Weight of kiln", exact=True).fill("4")
    page.get_by_role("button", name="Run the program").click()
    expect(page.locator(".caveat")).to_contain_text("as you edited it")

    page.get_by_label("Read passage 1 of kiln-wash in the document").click()
    expect(page.locator("#reader .sought mark").first).to_be_visible()
    page.locator("#reader").get_by_label("Find").fill("bond to")
    page.keyboard.press("Enter")
    expect(page.locator("#reader mark.found")).to_have_text("bond to")
    page.keyboard.press("Escape")
    page.reload()
    expect(page.get_by_label("Weight of kiln", exact=True)).to_have_value("4")


def test_what_the_server_refuses_is_told_with_its_remedy(serve: Serve, page: Page) -> None:
    address = serve()
    page.goto(f"{address}/#q={'kiln+' * 3000}")
    expect(page.locator("#problem")).to_contain_text("15,000 characters")
    expect(page.locator("#problem")).to_contain_text("10,000")
    expect(page.locator("#problem")).to_contain_text("status 422, request ")
    page.goto(f"{address}/#q=kiln&index=another")
    expect(page.locator("#problem")).to_contain_text("Not found")
    page.goto(f'{address}/#q=kiln&program={{"clauses":[{{"kind":"term","term":"kiln","weight":-1}}]}}')
    expect(page.locator("#problem")).to_contain_text("weights must be >= 0")
    page.locator("#depth").fill("101")
    page.locator("#run").click()
    expect(page.locator("#status")).to_have_text("Hits: give a number from 1 to 100.")


def test_one_of_several_indexes_is_chosen(serve: Serve, page: Page, pottery: Path, make_index: MakeIndex) -> None:
    other = make_index([Document("b1", "A kiln of bees & wax.", "Bees")])
    address = serve(indexes={"pottery": pottery, "Bees_2.0": other, "gone": pottery.parent / "nothing"})
    page.goto(f"{address}/#q=kiln")
    expect(page.locator("#index-facts")).to_have_text("12 documents")
    page.locator("#index").select_option("Bees_2.0")
    page.locator("#run").click()
    expect(page.locator("#hits h3")).to_have_text(["1. Bees"])
    expect(page.locator("#index-facts")).to_have_text("1 document")
    page.get_by_label("Read document b1", exact=True).click()
    expect(page.locator("#reader li")).to_have_text("A kiln of bees & wax.")
    page.reload()
    expect(page.locator("#hits h3")).to_have_text(["1. Bees"])
    expect(page.locator("#index")).to_have_value("Bees_2.0")
    page.locator("#index").select_option("gone")
    page.locator("#run").click()
    expect(page.locator("#problem")).to_contain_text("What to do:")
    expect(page.locator("#problem")).not_to_contain_text(str(pottery.parent))


def test_the_token_of_the_server_is_asked_for(serve: Serve, page: Page) -> None:
    address = serve(token=TOKEN)
    page.goto(f"{address}/#q=kiln")
    expect(page.locator("#token")).to_be_focused()
    page.keyboard.type("another")
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("What to do: send the server's token")
    page.locator("#token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#hits h3").first).to_be_visible()
    expect(page.locator("#token-form")).to_be_hidden()


def test_a_long_line_comes_in_pieces_without_numbers(serve: Serve, page: Page) -> None:
    address = serve()
    page.goto(f"{address}/#q=kiln")
    page.get_by_label("Read document long-word", exact=True).click()
    expect(page.locator("#reader").get_by_role("status")).to_contain_text("lines 1 to 12 of 12")
    expect(page.locator("#reader li")).to_have_count(1)
    expect(page.locator("#reader .numbered")).to_have_count(0)
    assert page.locator("#reader li").inner_text() == f"kiln {'x' * 3000} glaze {'pneumono' * 200}"


@pytest.mark.parametrize(
    "path", ["/static/", "/static/..%2f__init__.py", "/static/nothing.js", "/static/%2e%2e/app.py"]
)
def test_no_other_file_is_served(serve: Serve, page: Page, path: str) -> None:
    answer = page.request.get(serve() + path)
    assert answer.status == 404
    assert "no-such-route" in answer.text()
