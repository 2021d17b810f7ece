"""The files of the page, without a browser: what they refer to, and what they never do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sira.serve.page
from sira.serve.page import CONTENT_SECURITY_POLICY, INDEX, page_files

FOLDER = Path(sira.serve.page.__file__).parent / "static"
SCRIPTS = sorted(name for name in page_files() if name.endswith(".js"))


def text(name: str) -> str:
    return page_files()[name].content.decode()


def test_every_file_is_served_with_its_type() -> None:
    assert set(page_files()) == {path.name for path in FOLDER.iterdir()}
    assert page_files()["main.js"].media_type.startswith("text/javascript")


def test_the_page_refers_to_files_that_are_there_and_to_nothing_outside() -> None:
    named = re.findall(r'(?:src|href)="([^"]*)"', text(INDEX))
    files = [name for name in named if not name.startswith("#")]
    assert files
    assert all(name.removeprefix("static/") in page_files() for name in files)
    for name in page_files():
        found = re.findall(r"https?://[^\s\"')]+|\burl\(|@import|//[a-z]+\.[a-z]+", text(name))
        assert [item for item in found if "www.w3.org/2000/svg" not in item] == []


def test_the_picture_of_the_docs_is_there_and_small() -> None:
    docs = Path(__file__).resolve().parents[3] / "docs"
    assert "(images/serving-page.png)" in (docs / "serving-page.md").read_text(encoding="utf-8")
    picture = (docs / "images" / "serving-page.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 120_000


def test_the_page_has_no_inline_script_or_style() -> None:
    page = text(INDEX)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
    assert re.findall(r"<script[^>]*>([^<]*)</script>", page) == [""]
    assert "'unsafe" not in CONTENT_SECURITY_POLICY


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_makes_markup_of_text_or_stores_anything(name: str) -> None:
    code = text(name)
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
    assert re.findall(markup, code) == []
    assert re.findall(r"localStorage|indexedDB|document\.cookie", code) == []
    assert "sessionStorage" not in code or name == "api.js"
    assert len(code.splitlines()) <= 300


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_a_script_imports_is_there_and_used(name: str) -> None:
    code = text(name)
    for names, module in re.findall(r"import \{([^}]*)\} from \"\./([^\"]+)\"", code):
        exported = set(re.findall(r"export (?:async )?(?:function|const|class) (\w+)", text(module)))
        wanted = {item.strip() for item in names.split(",")}
        assert wanted <= exported
        for item in wanted:
            assert len(re.findall(rf"\b{item}\b", code)) > 1
