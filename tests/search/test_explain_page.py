"""The page of a search explained: nothing in it acts, nothing is fetched, and it says what the values say."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

from sira.program import FacetClause, Program, RangeClause, TermClause
from sira.records import Outcome, Sketch, SketchPhrase, Verdict
from sira.search.explanation.page import page
from sira.search.explanation.values import (
    DroppedWindow,
    ExplainedHit,
    LostHit,
    MissedDocument,
    Part,
    Piece,
    SearchExplanation,
    Standing,
)

SCRIPT = "<script>alert(1)</script>"
ATTRIBUTE = "\"><img src=x onerror='f()'>"
BIDI = "a\u202eb\x1b[31m"

PROGRAM = Program(
    "t1",
    (
        TermClause("kiln", df=3),
        TermClause("raku", 0.5, source="raku ware", df=1),
        TermClause("clay", occur="must", df=2),
    ),
    verdicts=(
        Verdict("raku ware", "raku", Outcome.KEPT, 1, 0.5),
        Verdict("raku ware", "ware", Outcome.TOO_COMMON, 9),
    ),
    text="kiln and clay",
)
HIT = ExplainedHit(
    "d1",
    1,
    3.0,
    Standing(2, 1.0),
    "up",
    1,
    (Piece("Kiln", (0,)), Piece(" wash")),
    ((Piece("… the "), Piece("raku", (1,)), Piece(" …")),),
    (Part(0, 2.0, "contents"), Part(1, 1.0, "expansion")),
)
FOUND = SearchExplanation(PROGRAM, PROGRAM, Sketch("t1", (SketchPhrase("raku ware"),)), 20, 10, (HIT,))


class Reader(HTMLParser):
    """Collects tags, attributes and texts, and checks that tags nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def hostile(text: str) -> SearchExplanation:
    """An explanation with this text wherever a text of others can stand."""
    program = Program(
        text,
        (
            TermClause(text, source=text, df=1),
            FacetClause(f"f:{text}", occur="must"),
            RangeClause(text, gte=text),
            TermClause("x", occur="must_not", source=text),
        ),
        verdicts=(Verdict(text, text, Outcome.FORBIDDEN),),
        text=text,
    )
    hit = replace(HIT, docid=text, title=(Piece(text, (0,)), Piece(text)), passages=((Piece(text), Piece(text, (0,))),))
    missed = MissedDocument(
        text,
        title=text,
        parts=(Part(0, 1.0, "contents"),),
        lacks=(1, 2),
        kept_out_by=(1, 3),
        dropped=(DroppedWindow(program.verdicts[0], (text,), 1.0),),
    )
    sketch = Sketch(text, (SketchPhrase(text),), (text,), searches=(Sketch(text, (SketchPhrase(text),), (text,)),))
    return SearchExplanation(
        program,
        program,
        sketch,
        20,
        10,
        (replace(hit, parts=(Part(0, 2.0, "expansion"), Part(1, 1.0, "facet"))),),
        (LostHit(text, text, 0, Standing(3, 1.0), Standing(None, 0.0)),),
        (missed, replace(missed, found=False, title="")),
        3,
    )


def test_hostile_texts_are_texts_and_nothing_is_fetched() -> None:
    for text in (SCRIPT, ATTRIBUTE, BIDI):
        written = page(hostile(text))
        read = Reader(written)
        assert not {"script", "img", "link", "iframe", "object", "image", "use", "base", "form"} & set(read.tags)
        names = {name for name, _ in read.attributes}
        assert names <= {
            *("lang", "charset", "http-equiv", "content", "name", "dir", "class", "id", "style", "title", "tabindex"),
            *("href", "aria-label"),
        }
        assert {value for name, value in read.attributes if name == "href"} == {
            f"#{anchor}" for anchor in ("hits", "lost", "missed", "sketch", "verdicts", "program")
        }
        styles = {value for name, value in read.attributes if name == "style"}
        assert all(value and re.fullmatch(r"width:\d+\.\d%", value) for value in styles)
        assert "url(" not in written
        assert "://" not in written
        assert "\u202e" not in written
        assert "\x1b" not in written
        shown = text.replace("\u202e", r"\u202e").replace("\x1b", r"\x1b")
        assert read.text.count(shown) >= 20


def test_it_is_readable_in_the_dark_on_a_phone_and_by_keyboard() -> None:
    written = page(FOUND)
    read = Reader(written)
    assert "prefers-color-scheme: dark" in written
    assert ("name", "viewport") in read.attributes
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in read.attributes
    anchors = [value for name, value in read.attributes if name == "href"]
    ids = {f"#{value}" for name, value in read.attributes if name == "id"}
    assert set(anchors) == ids == {"#hits", "#sketch", "#verdicts", "#program"}
    assert read.attributes.count(("class", "scroll")) == read.attributes.count(("tabindex", "0")) == 3


def test_bars_carry_their_numbers_and_tell_origins_apart_by_more_than_colour() -> None:
    written = page(FOUND)
    assert re.findall(r'<dd><div><i class="([a-z ]+)" style="width:([\d.]+)%"></i><span>([\d.]+)</span>', written) == [
        ("bar", "100.0", "2.0000"),
        ("bar sketch", "50.0", "1.0000"),
    ]
    assert "repeating-linear-gradient" in written
    assert '<mark title="kiln">Kiln</mark> wash' in written
    assert '… the <mark class="sketch" title="raku">raku</mark> …' in written
    assert "up from 2" in written
    assert "1 (relevant)" in written
    assert '<span class="soft">expansion</span>' in written


def test_joiners_stay_and_other_invisible_characters_show() -> None:
    passage = (Piece("کتاب\u200cها \u00adso\u00adft 👩\u200d🚀 a\u200bb"),)
    written = page(replace(FOUND, hits=(replace(HIT, passages=(passage,)),)))
    assert "کتاب\u200cها soft 👩\u200d🚀 a\\u200bb" in written


def test_many_clauses_unfold_and_long_texts_are_cut() -> None:
    clauses = tuple(TermClause(f"word{n}", df=1, source="long " * 100) for n in range(60))
    program = Program("t", clauses, text="topic " * 500)
    parts = tuple(Part(n, 1 - n / 100, "contents") for n in range(60))
    found = SearchExplanation(program, program, None, 20, 10, (replace(HIT, title=(), passages=(), parts=parts),))
    read = Reader(page(found))
    assert read.tags["details"] == 1
    assert f"52 more, together {sum(part.score for part in parts[8:]):.4f}" in read.texts
    assert read.tags["dt"] == 60
    assert max(map(len, read.texts[4:])) < 700
    assert any(len(text) == 600 and text.endswith("…") for text in read.texts)


def test_an_empty_result_says_why() -> None:
    program = replace(PROGRAM, clauses=(TermClause("porcelain", occur="must", df=0),), verdicts=())
    read = Reader(page(SearchExplanation(program, program, None, 20, 10, ())))
    assert "No hits: it requires porcelain, which no document holds." in read.texts
    assert "Nothing was proposed." in read.texts
    assert "0 hits of at most 10, 0 new against plain BM25, 0 lost; N = 20 documents." in read.texts


def test_equal_explanations_give_equal_pages() -> None:
    assert page(FOUND) == page(replace(FOUND))


def test_half_a_character_breaks_no_page() -> None:
    assert "a\\ud800" in page(hostile("a\ud800")).encode("utf-8").decode("utf-8")
