"""Searching and reading one index: ties, limits, odd vocabulary, documents byte for byte."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sira.errors import IndexFault, InputError, NotFoundError, ProgramError
from sira.lucene.reader import Index
from sira.program import AnyOfClause, Clause, FacetClause, Occur, PhraseClause, Program, RangeClause, TermClause
from sira.records import Document

pytestmark = pytest.mark.java

MakeIndex = Callable[..., Path]
LONE = "\ud800"


def program(*clauses: Clause | str) -> Program:
    return Program("q", tuple(TermClause(clause) if isinstance(clause, str) else clause for clause in clauses))


# ------------------------------------------------------------------------------------------------------------- ties


def test_ties_are_ordered_by_code_point_also_at_the_cut(make_index: MakeIndex) -> None:
    """Hundreds of equal documents; U+FFFD sorts before U+1D518 by code point, after it in UTF-16."""
    docids = ["10", "2", "9#1", "\ufffdx", "𝔘x", "é", "a", "B", *(f"n{n}" for n in range(700))]
    with Index(make_index([Document(docid, "kiln wash") for docid in reversed(docids)], threads=4)) as index:
        expected = tuple(sorted(docids))
        for k in (1, 2, 7, 8, 9, 300, 707, 708, 5000, 2**31 - 1, 2**40):
            assert index.search(program("kiln"), k).docids == expected[:k]
        assert index.explain(program("kiln"), "é").rank == 1 + expected.index("é")
        assert expected[:3] == ("10", "2", "9#1")
        assert expected[-2:] == ("\ufffdx", "𝔘x")


def test_ties_below_better_hits(make_index: MakeIndex) -> None:
    texts = ["kiln kiln"] * 3 + ["kiln x"] * 40
    with Index(make_index([Document(f"{99 - n}", text) for n, text in enumerate(texts)])) as index:
        assert index.search(program("kiln"), 5).docids == ("97", "98", "99", "57", "58")


def test_identical_documents_rank_the_same_with_1_thread_and_with_8(
    make_index: MakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G13."""
    monkeypatch.setattr("sira.lucene.writer.BATCH_DOCUMENTS", 20)
    documents = [Document(str(n * 7919 % 1000), "kiln wash" if n % 20 == 0 else f"glaze {n % 31}") for n in range(1000)]
    rankings: list[object] = []
    for threads in (1, 8):
        with Index(make_index(documents, threads=threads)) as index:
            rankings.append([index.search(program(term, "wash"), k) for term in ("kiln", "glaze") for k in (10, 999)])
    assert rankings[0] == rankings[1]


# ----------------------------------------------------------------------------------------------- programs of all kinds


@pytest.fixture(scope="module")
def corpus(make_index: MakeIndex) -> Index:
    documents = [
        Document(
            "d1", "kiln wash for shelves", values={"year": 1999, "price": 1.5, "day": "2020-01-31"}, facets=("c:a",)
        ),
        Document("d2", "glaze on the kiln shelf", values={"year": 2005, "price": -0.0, "day": "2020-02-01T12:30:00Z"}),
        Document("d3", "raku firing", values={"year": -5, "price": 1e300, "day": "1969-07-20"}, facets=("c:a", "c:b")),
        Document("d4", "the of and", values={"year": 2**53 + 1}),
        Document("d5", "wash of glaze"),
    ]
    return Index(make_index(documents, value_fields={"year": "integer", "price": "number", "day": "date"}))


@pytest.mark.parametrize("clauses", [1500, 5000])
def test_every_clause_of_a_long_program_counts(corpus: Index, clauses: int) -> None:
    """G06."""
    absent = tuple(TermClause(f"absent{n}", 1.5 - n / clauses) for n in range(clauses - 2))
    long = corpus.search(program(TermClause("kiln", 0.001), *absent, TermClause("raku", 0.002)))
    assert long == corpus.search(program(TermClause("kiln", 0.001), TermClause("raku", 0.002)))
    assert set(long.docids) == {"d1", "d2", "d3"}


def test_weight_0_adds_nothing(corpus: Index) -> None:
    """G92."""
    assert corpus.search(program(TermClause("kiln", 0.0))).docids == ()
    assert corpus.search(program(TermClause("kiln", 0.0), "raku")).docids == ("d3",)
    required = corpus.search(program(TermClause("kiln", 0.0, "must"), "wash"))
    assert required == corpus.search(program(TermClause("kiln", occur="filter"), "wash"))
    assert required.docids == ("d1",)


def test_tiny_and_huge_weights_rank_as_any_other(corpus: Index) -> None:
    one = corpus.search(program("kiln", "wash"))
    for weight in (1e-30, 1e-6, 1e6, 1e30):
        other = corpus.search(program(TermClause("kiln", weight), TermClause("wash", weight)))
        assert other.docids == one.docids
        assert other.scores == pytest.approx([weight * score for score in one.scores], rel=1e-5, abs=0)
    assert corpus.search(program(TermClause("kiln", 1e-300))).docids == ()  # 0 in 32 bits


@pytest.mark.parametrize("weight", [-1, -1e-9, math.nan, math.inf, 1e31])
def test_weights_that_mean_nothing_are_refused_by_name(weight: float) -> None:
    with pytest.raises(ProgramError, match="kiln"):
        TermClause("kiln", weight)


def test_programs_that_choose_but_do_not_score(corpus: Index) -> None:
    assert corpus.search(program()).docids == ()
    assert corpus.search(program(TermClause("kiln", occur="must_not"))).docids == ()
    only_filter = corpus.search(program(TermClause("kiln", occur="filter")))
    assert only_filter.docids == ("d1", "d2")
    assert only_filter.scores == (0.0, 0.0)
    both = program(TermClause("kiln", occur="filter"), TermClause("wash", occur="must_not"))
    assert corpus.search(both).docids == ("d2",)
    assert corpus.search(program("kiln", TermClause("absent", occur="must"))).docids == ()
    assert corpus.search(program(PhraseClause(("kiln", "raku"), occur="must"), "kiln")).docids == ()
    assert corpus.search(program(PhraseClause(("kiln", "wash"), occur="must_not"), "kiln")).docids == ("d2",)
    assert corpus.search(program(AnyOfClause(("raku", "wash"), occur="filter"), "glaze")).docids == ("d5",)


@pytest.mark.parametrize("occur", ["must", "must_not", "filter"])
def test_post_filters_choose_as_clauses_do(make_index: MakeIndex, occur: Occur) -> None:
    """A selective clause goes to Lucene, a broad one is applied after scoring: the hits and scores are the same."""
    documents = [
        Document(
            f"{n:04}",
            f"kiln {'common ' * (n % 3)} {'rare' if n % 97 == 0 else ''} {'wash ' * (n % 5)}",
            facets=(f"m:{n % 2}",),
        )
        for n in range(600)
    ]
    with Index(make_index(documents)) as index:
        every = index.search(program("kiln", "wash"))
        free = dict(zip(every.docids, every.scores, strict=True))
        for clause, holds in (
            (TermClause("rare", 0.0, occur), lambda n: n % 97 == 0),
            (TermClause("common", 0.0, occur), lambda n: n % 3 > 0),
            (FacetClause("m:1", 0.0, occur), lambda n: n % 2 == 1),
        ):
            expected = {docid: score for docid, score in free.items() if holds(int(docid)) == (occur != "must_not")}
            ranking = index.search(program("kiln", clause, "wash"))
            assert dict(zip(ranking.docids, ranking.scores, strict=True)) == expected
            assert index.search(program("kiln", clause, "wash"), 5) == ranking.top(5)


@pytest.mark.parametrize(
    ("clause", "hits"),
    [
        (RangeClause("year", 1999, 2005), {"d1", "d2"}),
        (RangeClause("year", None, 1999), {"d1", "d3"}),
        (RangeClause("year", 2**53 + 1, None), {"d4"}),
        (RangeClause("year", 2**53 + 2, None), set()),
        (RangeClause("year", 2005, 1999), set()),
        (RangeClause("price", 0.0, 2), {"d1", "d2"}),
        (RangeClause("price", 1.5), {"d1", "d3"}),
        (RangeClause("price", None, -1e-300), set()),
        (RangeClause("day", "2020-01-31", "2020-02-02"), {"d1", "d2"}),
        (RangeClause("day", None, "1969-12-31"), {"d3"}),
        (RangeClause("day", "2020-02-01T14:30:00+02:00"), {"d2"}),
    ],
)
def test_ranges(corpus: Index, clause: RangeClause, hits: set[str]) -> None:
    assert set(corpus.search(program(clause)).docids) == hits
    assert set(corpus.search(program(replace(clause, occur="should", weight=3.0))).scores) <= {3.0}


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        (RangeClause("colour", 1), "no such field; it has: year:integer, price:number, day:date"),
        (RangeClause("year", "soon"), "year"),
        (RangeClause("year", 1.5), "no whole number"),
        (RangeClause("year", 2**63), "64 bits"),
        (RangeClause("price", 10**400), "too large"),
        (RangeClause("day", 5), "no date"),
        (TermClause(LONE), "lone surrogate"),
        (FacetClause("c:" + LONE), "lone surrogate"),
    ],
)
def test_clauses_that_the_index_cannot_run_are_named(corpus: Index, clause: Clause, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        corpus.search(program(clause))


def test_nothing_is_asked_for(corpus: Index) -> None:
    with pytest.raises(InputError, match="k = 0"):
        corpus.search(program("kiln"), 0)
    assert corpus.analyze(["", "the of and", "!!!", '""', "  "]) == [[], [], [], [], []]  # G91
    assert corpus.analyze([]) == corpus.df([]) == corpus.documents([]) == corpus.window_df([]) == []


# ------------------------------------------------------------------------------------------------------- vocabulary

VOCABULARY = [
    "pottery 😞 queue",
    "𝔘nit",
    "界面 設計",
    'a "quoted" b',
    "line\nbreak",
    "tab\tand\x00null",
    "é̂",
    "a\x1eb\x1fc",
]


def test_any_unicode_is_a_term(make_index: MakeIndex) -> None:
    """G05: what goes in as a term is found as that term, and reads back equal."""
    documents = [Document(f"d{n}", "text") for n in range(len(VOCABULARY))]
    expansions = {f"d{n}": ([], [term]) for n, term in enumerate(VOCABULARY)}
    with Index(make_index(documents, expansions)) as index:
        assert index.df(VOCABULARY) == [1] * len(VOCABULARY)
        assert [term for term, _ in index.terms("expansion")] == sorted(VOCABULARY)
        assert [term for term, _ in index.terms("expansion", chunk=3)] == sorted(VOCABULARY)
        for n, term in enumerate(VOCABULARY):
            assert index.search(program(term)).docids == (f"d{n}",)
        assert index.window_df([("pottery", "😞", "queue"), ("界面", "設計"), ("設計", "界面")]) == [1, 1, 0]


def test_a_term_of_the_index_is_not_analysed_again(make_index: MakeIndex) -> None:
    """G12: Porter applied twice would turn `databas` into `databa`."""
    with Index(make_index([Document("d1", "database disease release")])) as index:
        assert index.analyze(["database disease release"]) == [["databas", "diseas", "releas"]]
        assert index.df(["databas", "diseas", "releas", "database", "databa"]) == [1, 1, 1, 0, 0]
        assert index.search(program("databas")).docids == ("d1",)


def test_lone_surrogates_are_in_no_index(corpus: Index) -> None:
    assert corpus.df([LONE, "kiln"]) == [0, 2]
    assert corpus.facet_df([LONE]) == corpus.id_df([LONE]) == corpus.window_df([(LONE, "kiln")]) == [0]
    assert corpus.documents([LONE, "d1"])[0] is None
    assert corpus.analyze([f"kiln {LONE} wash"]) == [["kiln", "wash"]]
    with pytest.raises(NotFoundError):
        corpus.document(LONE)
    with pytest.raises(NotFoundError):
        corpus.explain(program("kiln"), LONE)


def test_docids_of_any_characters(make_index: MakeIndex) -> None:
    docids = [
        "a b",
        "x\ty",
        "n\nl",
        "\x00",
        "r\x1es",
        "u\x1ft",
        "Treaty_of_Foo,_1901",
        "界😀",
        "'\"",
        "-1",
        "ÿ",
        "a" * 512,
    ]
    with Index(make_index([Document(docid, f"kiln {docid}") for docid in docids])) as index:
        assert sorted(index.search(program("kiln")).docids) == sorted(docids)
        assert [document and document.docid for document in index.documents(docids)] == docids
        for docid in docids:
            assert index.explain(program("kiln"), docid).rank


# -------------------------------------------------------------------------------------------------------- documents

TEXTS = [
    "",
    "one line",
    "unix\nlines\n",
    "crlf\r\nlines\r\n\r\n",
    "mixed\rold\n\nlast\u2028sep\x85nel\x0bvt\x0cff",
    "null \x00 and bell \x07",
    "  blanks kept  \n ",
    "😀 界 é \ufeff bom",
    "\n\n\n",
]


def test_documents_read_back_byte_for_byte(make_index: MakeIndex) -> None:
    """G02."""
    documents = [
        Document(
            f"d{n}", text, title=f"Title {n}" if n % 2 else "", facets=("c:a b", "x"), url=f"https://example.org/{n}"
        )
        for n, text in enumerate([*TEXTS, "界 line é\n" * 150_000])
    ]
    with Index(make_index(documents)) as index:
        for document in documents:
            assert index.document(document.docid) == document


@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_joined_line_ranges_are_the_text(make_index: MakeIndex, limit: int) -> None:
    """G83."""
    with Index(make_index([Document(f"d{n}", text) for n, text in enumerate(TEXTS)])) as index:
        for n, text in enumerate(TEXTS):
            pages, offset = [], 1
            while offset is not None:
                page = index.lines(f"d{n}", offset, limit)
                assert page.first == offset
                pages.append(page.text)
                offset = page.next_offset
            assert "".join(pages) == text
        beyond = index.lines("d2", 3, 5)
        assert (beyond.text, beyond.first, beyond.last, beyond.total, beyond.next_offset) == ("", 0, 0, 2, None)
        with pytest.raises(InputError, match="offset 0"):
            index.lines("d2", 0)


def test_values_read_back(corpus: Index) -> None:
    assert corpus.document("d1").values == {"year": 1999, "price": 1.5, "day": "2020-01-31"}
    assert corpus.document("d4").values == {"year": 2**53 + 1}


def test_an_index_without_stored_text_says_so(make_index: MakeIndex) -> None:
    with Index(make_index([Document("d1", "kiln")], store_text=False)) as index:
        assert index.search(program("kiln")).docids == ("d1",)
        with pytest.raises(IndexFault, match="does not store"):
            index.document("d1")


# ------------------------------------------------------------------------------------------------ opening and closing


def test_what_is_no_index_is_named(tmp_path: Path, make_index: MakeIndex) -> None:
    with pytest.raises(IndexFault, match="no such folder"):
        Index(tmp_path / "absent")
    with pytest.raises(IndexFault, match="holds no index"):
        Index(tmp_path)
    good = make_index([Document("d1", "kiln")])
    (tmp_path / "manifest.json").write_bytes((good / "manifest.json").read_bytes())
    with pytest.raises(IndexFault, match="cannot open it"):
        Index(tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema_version": 99}', encoding="utf-8")
    with pytest.raises(IndexFault, match="schema version 99"):
        Index(tmp_path)
    with pytest.raises(IndexFault, match="analyzer"):
        Index(good, analyzer="german")  # G11


def test_a_closed_index_says_so(make_index: MakeIndex) -> None:
    index = Index(make_index([Document("d1", "kiln")]))
    index.close()
    index.close()
    for call in (
        lambda: index.search(program("kiln")),
        lambda: index.df(["kiln"]),
        lambda: index.document("d1"),
        lambda: index.explain(program("kiln"), "d1"),
        lambda: list(index.terms("contents")),
    ):
        with pytest.raises(IndexFault, match="was closed: open it again"):
            call()


def test_df_and_windows_count_documents(make_index: MakeIndex) -> None:
    documents = [Document("a", "kiln wash kiln wash"), Document("b", "kiln"), Document("c", "wash"), Document("d", "")]
    expansions = {"b": (["wash"], ["kiln wash"]), "a": (["kiln"], []), "d": (["kiln"], ["wash kiln"])}
    with Index(make_index(documents, expansions)) as index:
        assert index.df(["kiln", "wash", "kiln wash", "absent"]) == [3, 3, 1, 0]
        assert index.field_df("contents", ["kiln", "wash"]) == [2, 2]
        assert index.field_df("expansion", ["kiln", "wash"]) == [2, 1]
        assert index.window_df([("kiln", "wash"), ("wash", "kiln")]) == [2, 2]
        assert index.contents_window_df([("kiln", "wash"), ("wash", "kiln"), ("kiln", "kiln")]) == [1, 1, 0]
        assert dict(index.terms("contents", least_df=2)) == {"kiln": 2, "wash": 2}
        assert index.average_length == 2.0
        assert (index.document_count, index.expanded_documents > 0, index.has_positions) == (4, True, True)
        with pytest.raises(InputError, match="two or more words"):
            index.window_df([("kiln",)])
        with pytest.raises(InputError, match="'title'"):
            index.field_df("title", ["kiln"])
