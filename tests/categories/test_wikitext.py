"""Category links, marks and redirects in the text of pages."""

from __future__ import annotations

import pytest

from sira.categories.rules import read_rules
from sira.corpora.wikipedia.names import NameForm
from sira.corpora.wikipedia.wikitext import CategoryPage, WikitextReader, visible

RULES = read_rules().file
READER = WikitextReader(NameForm(["Kategorie"]), RULES.hidden_templates, RULES.redirect_templates)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[[Category:Alabama| ]]\n[[Category:U.S. states]]", ("Alabama", "U.S._states")),
        ("[[ category :  heart attack |key]]", ("Heart_attack",)),
        ("[[KATEGORIE:Herz]] [[Category:Herz]]", ("Herz",)),
        ("[[Category:A|{{PAGENAME}}\nB]]", ("A",)),
        ("[[:Category:Not a member]] [[de:Category:X]] [[Categories:X]]", ()),
        ("<!-- [[Category:No]] -->[[Category:Yes]]<!-- open [[Category:No]]", ("Yes",)),
        ("[[Cat<!-- -->egory:Yes]]", ("Yes",)),
        ("<nowiki>[[Category:No]]</nowiki><NoWiki >[[Category:No]]</nowiki >[[Category:Yes]]", ("Yes",)),
        ("<nowiki>[[Category:Unclosed is text]]", ("Unclosed_is_text",)),
        ("<nowiki/>[[Category:Yes]]</nowiki>", ("Yes",)),
        ("<nowiki><!--</nowiki>[[Category:Yes]]-->", ("Yes",)),
        ("<!--<nowiki>-->[[Category:Yes]]</nowiki>", ("Yes",)),
        ("<pre>[[Category:No]]</pre><includeonly>[[Category:No]]</includeonly>[[Category:Yes]]", ("Yes",)),
        ("[[Category<nowiki></nowiki>:No]]", ()),
        ("[[Category:{{{1}}} births]] [[Category:A[b]] [[Category:]] [[Category:A\nb]]", ()),
        ("#REDIRECT [[Category:Target]]\n[[Category:Yes]]", ("Yes",)),
        ("[[Category:AT&amp;T]]", ("AT&T",)),
    ],
)
def test_links_are_those_that_categorise_the_page(text: str, names: tuple[str, ...]) -> None:
    assert READER.links(text) == names


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("__HIDDENCAT__ [[Category:Upkeep]]", CategoryPage(("Upkeep",), True, None)),
        ("{{Tracking category}}", CategoryPage((), True, None)),
        ("{{hidden  category|x}}", CategoryPage((), True, None)),
        ("{{Tracking category list}}", CategoryPage((), False, None)),
        ("<!-- __HIDDENCAT__ -->", CategoryPage((), False, None)),
        ("{{Category redirect|Heart attacks}}", CategoryPage((), False, "Heart_attacks")),
        ("{{cat redirect|1=:Category:heart attacks|x}}", CategoryPage((), False, "Heart_attacks")),
    ],
)
def test_a_category_page_says_whether_it_is_hidden_or_redirects(text: str, page: CategoryPage) -> None:
    assert READER.category_page(text) == page


def test_a_text_of_nothing_but_open_tags_takes_one_pass() -> None:
    text = "<nowiki>" * 200_000
    assert visible(text) == text
