"""Wikitext made plain."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.corpora.wikipedia.plain_text import PlainText

plain = PlainText()


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("'''Bold''' and ''it'' in H<sub>2</sub>O", "Bold and it in H2O"),
        (
            "[[Kiln]]s of [[Peru|the Andes]], [[#Use|use]], [[:Category:Kilns]]",
            "Kilns of the Andes, use, Category:Kilns",
        ),
        ("[[File:A.jpg|thumb|a [[kiln]] in {{lang|fr|four}}]]After", "After"),
        ("[[image:A.jpg]] x [[Category:Kilns|k]] [[de:Ofen]] [[zh-yue:窯]]", "x"),
        ("a{{b|{{c|{{d}}}}}} e", "a e"),
        ("{{Infobox\n| a = [[b]]\n}}\nText", "Text"),
        ("Kiln ({{lang-el|x}}; ) burns", "Kiln burns"),
        ("said.<ref name=a>{{cite|x=y}} [[z]]</ref><ref name=a /> More<REF>q</REF>.", "said. More."),
        ("{| class=x\n|+ Title\n|-\n! A !! B\n|-\n| a || style=s | [[b|c]]\n| d\n|}", "Title\nA B\na c\nd"),
        ("{|\n| outer\n{|\n| inner\n|}\n| last\n|}", "outer\n\ninner\n\nlast"),
        (
            "== Head ==\n=== Next===\n* one\n** two\n#three\n; term\n: meaning\n----\nend",
            "Head\nNext\none\ntwo\nthree\nterm\nmeaning\n\nend",
        ),
        ("[https://e.org/x a label] [http://e.org] [//e.org b] [mailto:a@e.org write]", "a label b write"),
        ("AT&amp;T &ndash; 5&nbsp;km &lt;ref&gt; a&copy=b &#x41;&nosuch;", "AT&T – 5 km <ref> a&copy=b A&nosuch;"),
        ("a<!-- [[b]] {{ -->c <!-- open", "ac"),
        ("<nowiki>[[a]] ''b'' {{c}}</nowiki>, <pre>* d</pre>", "[[a]] ''b'' {{c}}, * d"),
        ("<math>\\sum{{</math>x<syntaxhighlight lang=c>[[y</syntaxhighlight><gallery>\nA.jpg|b\n</gallery>z", "x z"),
        ("a<br>b<br />c<div class='x'>d</div>", "a\nb\nc\nd"),
        ("__NOTOC__x __NOEDITSECTION__ snake_case a__b", "x snake_case a__b"),
        ("one  \n\n\n\n two\t three", "one\n\ntwo three"),
        ("a\x01b&#7;c\x7fd\u200ee", "abcde"),
        ("", ""),
        ("   \n{{only}}\n ", ""),
        ("#REDIRECT [[X]]", "REDIRECT X"),
    ],
)
def test_markup_becomes_plain_text(wikitext: str, text: str) -> None:
    assert plain(wikitext) == text


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("an {{open template [[link|t]] stays", "an open template t stays"),
        ("a }} b ]] c", "a b c"),
        ("{{a [[b }} c ]] d", "c d"),
        ("[[a {{b ]] c }} d", "a b c d"),
        ("x <ref>never closed. [[y]]", "x never closed. y"),
        ("t\n{| open\n| row\nend", "t\nopen\n| row\nend"),
        ("<nowiki>open [[a|b]]", "open b"),
        ("a [http://e.org open\nnext", "a [http://e.org open\nnext"),
    ],
)
def test_a_bracket_without_its_partner_loses_nothing_after_it(wikitext: str, text: str) -> None:
    assert plain(wikitext) == text


def test_a_wiki_has_its_own_names_for_files_and_categories() -> None:
    german = PlainText(["Datei", "Kategorie"])
    assert german("[[Datei:A.jpg|mini|x]]a[[Kategorie:B]][[File:C.jpg]]") == "a"
    assert plain("[[Datei:A.jpg|x]]") == "x"


def test_the_values_of_templates_can_stay() -> None:
    values = PlainText(templates="values")
    infobox = (
        "{{Infobox person\n| name = Ann\n| born = {{birth date|1927|3|4}}\n| image =\n}}\nAnn ran {{convert|5|km}}."
    )
    assert values(infobox) == "Ann\n1927 3 4\nAnn ran 5 km."
    assert plain(infobox) == "Ann ran ."


MARKS = ["[[", "]]", "{{", "}}", "{|", "|}", "|-", "|", "\n", "<ref>", "</ref>", "<nowiki>", "</nowiki>", "<!--", "-->"]


@given(
    st.lists(
        st.one_of(st.sampled_from([*MARKS, "''", "==", "&lt;", "<br>", "File:", "[http://x"]), st.text("ab ")),
        max_size=60,
    )
)
def test_whatever_is_nested_gives_text_with_tidy_lines(pieces: list[str]) -> None:
    text = plain("".join(pieces))
    assert text == text.strip()
    assert "\n\n\n" not in text
    assert all(line == line.strip(" ") for line in text.split("\n"))


def test_words_outside_of_brackets_survive() -> None:
    assert plain("alpha " + "{{x}} [[y]] " * 50 + "omega").split() == ["alpha", *["y"] * 50, "omega"]


SIZE = 400_000


@pytest.mark.parametrize(
    "unit",
    [
        "[[",
        "{{",
        "{|\n",
        "<ref>",
        "<!--",
        "[[{{",
        "[[a|",
        "'",
        "<",
        "<a",
        "[http://",
        " ",
        "=",
        "(",
        "(,",
        "_",
        "__A",
        "&a",
        ":",
    ],
)
def test_time_is_linear_in_the_length(unit: str) -> None:
    closing = {"[[": "]]", "{{": "}}", "[[{{": "}}]]", "[[a|": "]]", "<ref>": "</ref>"}.get(unit, "x")
    half = SIZE // len(unit) // 2
    start = time.process_time()
    plain("a" + unit * half + closing * half)
    plain("\n" + unit * half * 2 + "b")
    plain(unit + " " * half + unit + "x " * half + unit + "x" * half)
    # Quadratic work on this length takes minutes; linear work a fraction of a second.
    assert time.process_time() - start < 3
