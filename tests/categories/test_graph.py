"""Look-ups in a built graph, and the validation of facets."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.categories import Category, CategoryGraph, CategoryValidator
from sira.categories.build import Sources, build_graph
from sira.categories.levels import breadth_first
from sira.categories.nearest import distance, fold
from sira.categories.rules import read_rules
from sira.compile import FacetValidator
from sira.errors import InputError

from .wiki import WIKI, Page, sql_dumps, xml_dumps

SAMPLE = Path(os.environ.get("SIRA_TEST_DATA", "")) / "wikipedia-sample" / "enwiki-shortened.xml.bz2"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> CategoryGraph:
    folder = tmp_path_factory.mktemp("wiki")
    build_graph(sql_dumps(WIKI, folder), folder / "graph")
    return CategoryGraph.open(folder / "graph")


def test_known_are_categories_with_a_page_or_a_member(graph: CategoryGraph) -> None:
    names = ["Physics", "physics", "Category:1643 births", "Ägyptologie 日本", "O'Brien's_\"laws\"_(100)"]
    assert [graph.exists(name) for name in names] == [True] * 5
    # linked only; of a talk page only; an article; nothing
    assert [graph.exists(name) for name in ["Only_linked", "Talk_only", "Lens", "", "\ud800"]] == [False] * 5


def test_parents_children_and_members(graph: CategoryGraph) -> None:
    assert graph.parents("optics") == ("Light", "Physics")
    assert graph.children("Physics") == ("O'Brien's_\"laws\"_(100)", "Optics")
    assert graph.children("Light") == ("Light", "Optics")
    assert graph.members("Physics") == ["Robert_Boyle", "Isaac_Newton"]  # by page id
    assert graph.members("Physics", 1) == ["Robert_Boyle"]
    assert graph.members("Physics", 5, start=1) == ["Isaac_Newton"]
    assert graph.members("Ägyptologie_日本") == ["Back\\slash"]
    assert graph.member_count("Chemistry") == 2
    with pytest.raises(InputError, match="both count from 0"):
        graph.members("Physics", -1)


def test_levels_count_from_the_root_through_cycles(graph: CategoryGraph) -> None:
    names = ["Articles", "Science", "Physics", "Optics", "Light", "1643_births", "All_stub_articles", "Nothing"]
    assert [graph.level(name) for name in names] == [0, 1, 2, 3, 4, None, None, None]


def test_hidden_are_those_of_the_wiki_and_of_the_patterns(graph: CategoryGraph) -> None:
    names = ["Kept_aside", "All_stub_articles", "Physics", "Nothing"]
    assert [graph.is_hidden(name) for name in names] == [True, True, False, False]
    assert [graph.is_maintenance(name) for name in names] == [False, True, False, False]


def test_a_redirect_stands_for_its_target(graph: CategoryGraph) -> None:
    assert graph.exists("Natural philosophy")
    assert graph.resolve("Natural philosophy") == "Physics"
    assert graph.parents("Natural_philosophy") == ("Science",)


@pytest.mark.parametrize(
    ("pages", "resolved"),
    [
        ([Page(1, 14, "A", redirect="B"), Page(2, 14, "B", redirect="C"), Page(3, 14, "C")], "C"),
        ([Page(1, 14, "A", redirect="B"), Page(2, 14, "B", redirect="A")], "A"),
        ([Page(1, 14, "A", redirect="A")], "A"),
        ([Page(1, 14, "A", redirect="Nowhere")], "A"),
        ([Page(1, 14, "A", redirect="B"), Page(2, 14, "B"), Page(3, 0, "X", ["A"])], "A"),  # A holds something itself
    ],
)
def test_redirects_end_in_chains_and_circles(pages: list[Page], resolved: str, tmp_path: Path) -> None:
    build_graph(xml_dumps(pages, tmp_path), tmp_path / "graph")
    assert CategoryGraph.open(tmp_path / "graph").resolve("A") == resolved


def test_a_category_as_a_whole(graph: CategoryGraph) -> None:
    assert graph.category("Category:science") == Category(
        "Science", True, 1, False, False, ("Articles",), ("Chemistry", "Physics"), 0
    )
    assert graph.category("1643_births") == Category("1643_births", False, None, False, False, (), (), 1)
    assert graph.category("Nothing") is None
    assert (graph.parents("Nothing"), graph.members("Nothing"), graph.member_count("Nothing")) == ((), [], 0)


def test_the_nearest_names_come_best_first(graph: CategoryGraph) -> None:
    assert graph.nearest("Phisics") == ("Physics",)
    assert graph.nearest("CHEMISTRY!") == ("Chemistry",)
    assert graph.nearest("births 1643")[0] == "1643_births"
    assert graph.nearest("Natural-philosphy") == ("Physics",)  # through the redirect
    assert graph.nearest("agyptologie", 1) == ("Ägyptologie_日本",)
    assert graph.nearest("1643_birth") == ("1643_births",)
    assert graph.nearest("1644_births") == ()  # another year is no other spelling
    assert graph.nearest("Zzzz") == ()
    assert graph.nearest("Physics", 0) == ()


def test_facets_are_valid_respelt_or_invalid_with_suggestions(graph: CategoryGraph) -> None:
    validator: FacetValidator = CategoryValidator(graph)
    assert validator.check("category:1643_births") == (True, ())
    assert validator.check("category:1643 births") == (True, ("category:1643_births",))
    assert validator.check("category:Natural_philosophy") == (True, ("category:Physics",))
    assert validator.check("category:Phisics") == (False, ("category:Physics",))
    assert validator.check("category:Zzzz") == (False, ())
    assert validator.check("year:1643") == (True, ())


@given(st.text("abcä日", max_size=70), st.text("abcä日", max_size=70))
def test_the_edit_distance_is_levenshtein(left: str, right: str) -> None:
    row = list(range(len(right) + 1))
    for at, letter in enumerate(left, start=1):
        above, row[0] = row[0], at
        for place, other in enumerate(right, start=1):
            above, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, above + (letter != other))
    assert distance(left, right) == row[-1]


def test_folding_ignores_case_accents_and_signs() -> None:
    assert fold("Île-de-France_(Région)") == "ile de france region"


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=10, max_size=10), st.lists(st.integers(0, 9), max_size=3)
)
def test_levels_are_shortest_ways_in_any_graph(children: list[list[int]], roots: list[int]) -> None:
    levels = dict.fromkeys(roots, 0)
    for _ in range(10):
        for node, level in list(levels.items()):
            for child in children[node]:
                levels[child] = min(levels.get(child, 99), level + 1)
    starts = np.cumsum([0, *map(len, children)])
    lists = np.array([child for some in children for child in some], np.int32)
    assert breadth_first(starts, lists, roots).tolist() == [levels.get(node, -1) for node in range(10)]


@pytest.mark.parametrize(
    ("name", "maintenance"),
    [
        ("All_articles_with_unsourced_statements", True),
        ("All_stub_articles", True),
        ("Articles_with_short_description", True),
        ("CS1_errors:_dates", True),
        ("Use_dmy_dates_from_May_2020", True),
        ("Use_British_English", True),
        ("Short_description_is_different_from_Wikidata", True),
        ("Pages_using_infobox_with_unknown_parameters", True),
        ("B-Class_chemistry_articles", True),
        ("Kenya_geography_stubs", True),
        ("Articles_of_association", False),
        ("All_Souls_College,_Oxford", False),
        ("All_Blacks", False),
        ("Use_of_torture", False),
        ("Aircraft_maintenance", False),
        ("Mercedes-Benz_S-Class", False),
        ("Wikipedia_in_culture", False),
        ("1927_births", False),
    ],
)
def test_maintenance_is_told_by_narrow_patterns(name: str, maintenance: bool) -> None:
    assert read_rules().is_maintenance(name) is maintenance


def test_a_bad_pattern_is_named(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text("maintenance = ['(']", encoding="utf-8")
    with pytest.raises(InputError, match=r"rules\.toml: pattern '\(' is no regular expression"):
        read_rules(tmp_path / "rules.toml")


def test_a_folder_without_a_graph_and_a_damaged_graph_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no category graph"):
        CategoryGraph.open(tmp_path)
    build_graph(xml_dumps(WIKI, tmp_path), tmp_path / "graph")
    (tmp_path / "graph" / "graph" / "names.text").unlink()
    with pytest.raises(InputError, match=r"damaged category graph \(.*names\.text"):
        CategoryGraph.open(tmp_path / "graph")
    manifest = tmp_path / "graph" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 0}))
    with pytest.raises(InputError, match="format 0, this sira reads 1"):
        CategoryGraph.open(tmp_path / "graph")


@pytest.mark.data
@pytest.mark.skipif(not SAMPLE.is_file(), reason="SIRA_TEST_DATA names no folder with wikipedia-sample")
def test_the_sample_of_wikipedia(tmp_path: Path) -> None:
    facts = build_graph(Sources(xml=(SAMPLE,)), tmp_path / "graph")["facts"]["graph"]
    assert facts == {"categories": 823, "edges": 0, "articles": 99, "memberships": 878, "redirects": 0}
    graph = CategoryGraph.open(tmp_path / "graph")
    assert graph.members("Category:Far-left politics") == ["Anarchism"]
    assert graph.members("Vowel letters") == ["A"]
    assert "Articles_with_example_pseudocode" in [graph.name(n) for n in range(len(graph))]
    assert graph.is_maintenance("Articles_with_example_pseudocode")
    assert graph.nearest("States of the Gulf Coast of United States")[0] == (
        "States_of_the_Gulf_Coast_of_the_United_States"
    )
