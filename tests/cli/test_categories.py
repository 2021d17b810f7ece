"""`sira categories` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Sira

EXPORT = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><namespaces><namespace key="0" /><namespace key="14">Category</namespace></namespaces></siteinfo>
<page><title>Category:Ceramics</title><ns>14</ns><id>1</id><revision><id>1</id><text>Root.</text></revision></page>
<page><title>Category:Kiln types</title><ns>14</ns><id>2</id>
<revision><id>2</id><text>[[Category:Ceramics]]</text></revision></page>
<page><title>Category:Kinds of kilns</title><ns>14</ns><id>3</id><redirect title="Category:Kiln types" />
<revision><id>3</id><text>#REDIRECT [[:Category:Kiln types]]</text></revision></page>
<page><title>Anagama kiln</title><ns>0</ns><id>4</id>
<revision><id>4</id><text>[[category:kiln types|Anagama]] [[Category:All stub articles]]</text></revision></page>
<page><title>Bottle oven</title><ns>0</ns><id>5</id>
<revision><id>5</id><text>[[Category:Kiln types]] &lt;nowiki>[[Category:Ovens]]&lt;/nowiki></text></revision></page>
</mediawiki>
"""


@pytest.fixture
def export(tmp_path: Path) -> Path:
    (tmp_path / "wiki.xml").write_text(EXPORT, encoding="utf-8")
    return tmp_path / "wiki.xml"


@pytest.fixture
def graph(sira: Sira, export: Path) -> Path:
    out = export.with_name("graph")
    assert sira("categories", "build", "--out", out, "--xml", export, "--roots", "Ceramics", "--quiet").status == 0
    return out


def test_a_build_says_what_it_found(sira: Sira, export: Path, tmp_path: Path) -> None:
    answer = sira("categories", "build", "--out", tmp_path / "g", "--xml", export, "--roots", "ceramics", "--quiet")
    assert answer.status == 0
    assert answer.out.splitlines() == [
        f"{tmp_path / 'g'}: 4 categories, 1 edges between them, 3 memberships of 2 articles",
        "2 reached from the roots, 0 hidden, 1 of maintenance by name, 1 redirects",
    ]


def test_a_category_is_shown_as_text(sira: Sira, graph: Path) -> None:
    answer = sira("categories", "show", "Category:Kinds of kilns", "--graph", graph, "--members", "1")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "Kiln_types (redirected from Kinds_of_kilns)",
        "level     1",
        "marks     none",
        "parents   1: Ceramics",
        "children  0",
        "members   2: Anagama_kiln, and 1 more",
    ]


def test_a_category_is_shown_as_json(sira: Sira, graph: Path) -> None:
    answer = sira("categories", "show", "all stub articles", "--graph", graph, "--json")
    assert answer.status == 0
    assert json.loads(answer.out) == {
        "name": "All_stub_articles",
        "exists": True,
        "redirected_from": None,
        "has_page": False,
        "level": None,
        "hidden": False,
        "maintenance": True,
        "parents": [],
        "children": [],
        "member_count": 1,
        "members": ["Anagama_kiln"],
    }


def test_an_absent_category_is_status_1_with_the_nearest(sira: Sira, graph: Path) -> None:
    answer = sira("categories", "show", "kiln tipes", "--graph", graph)
    assert (answer.status, answer.out) == (1, "Kiln_tipes: no such category; nearest: Kiln_types\n")
    answer = sira("categories", "show", "\x1b[31mqqq", "--graph", graph)
    assert (answer.status, answer.out) == (1, "\\x1b[31mqqq: no such category; nearest: none is near\n")
    answer = sira("categories", "show", "Ovens", "--graph", graph, "--json")
    assert (answer.status, json.loads(answer.out)) == (1, {"name": "Ovens", "exists": False, "nearest": []})


def test_a_wrong_use_is_one_line_and_status_2(sira: Sira, export: Path, tmp_path: Path) -> None:
    answer = sira("categories", "build", "--out", tmp_path / "g", "--xml", export, "--roots", "Nowhere", "--quiet")
    assert answer.status == 2
    assert answer.err.splitlines()[-1] == (
        "sira: error: the root 'Nowhere' is no category of these dumps: give --roots that are there"
    )
    answer = sira("categories", "show", "X", "--graph", tmp_path)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.splitlines() == [
        f"sira: error: {tmp_path}: holds no category graph; make one by `sira categories build`"
    ]
