"""Identifiers: which runs of a phrase are some, and that they survive analysis and gate on real indexes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.compile import CompileSettings, TableStatistics, compile_sketch
from sira.compile.identifiers import identifiers
from sira.lucene.reader import Index
from sira.program import PhraseClause, Program, TermClause
from sira.records import Document, Outcome, Sketch, SketchPhrase, Topic

MakeIndex = Callable[..., Path]
QUERY = Topic("q", "memory fault")


@pytest.mark.parametrize(
    "text",
    [
        *("CWE-79", "IL-6", "5-HT2A", "A-1234/B", "HLA-B27", "COVID-19", "COVID‑19", "CVE-2021-44228", "PD-L1", "5-FU"),
        *("UTF-8", "SHA-256", "caspase-3", "il-6", "miR-21a", "v1.2.3", "CDK4/6", "BRCA1/2", "mRNA-1273", "BCR-ABL1"),
        *("IFN-γ1", "3-D", "x_2", "F-16", "K-12"),
    ],
)
def test_an_identifier_is_one_run(text: str) -> None:
    assert list(identifiers(text)) == [text]
    assert list(identifiers(f"the ({text}), and {text}.")) == [text, text]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("IL-6-induced", ["IL-6"]),
        ("anti-CD20-1 therapy", ["CD20-1"]),
        ("caspase-3-mediated", ["caspase-3"]),
        ("non-HLA-B27", ["HLA-B27"]),
        ("anti-PD-1", ["PD-1"]),
        ("IL-6/IL-8 ratio", ["IL-6", "IL-8"]),
        ("TNF/IL-1", ["TNF/IL-1"]),
    ],
)
def test_plain_words_around_an_identifier_are_none_of_it(text: str, found: list[str]) -> None:
    assert list(identifiers(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        *(
            "state-of-the-art",
            "TCP/IP",
            "T-cell",
            "Wi-Fi",
            "and/or",
            "u.s.",
            "HER2/neu",
            "p53-mediated",
            "BRCA1",
            "p53",
        ),
        *("20-year-old", "5mg/kg", "19th-century", "mid-1990s", "pre-2000", "2019/20", "9/11", "24/7", "16-bit"),
        *("ISO 9001", "WWII 1945", "BRCA1/BRCA2", "1990-1995", "", "-", "--1"),
    ],
)
def test_words_measures_and_times_are_none(text: str) -> None:
    assert list(identifiers(text)) == []


@given(st.text(st.sampled_from("aZ1-/._ é²߀"), max_size=60))
def test_every_identifier_stands_in_its_text_in_order(text: str) -> None:
    at = 0
    for found in identifiers(text):
        assert len(found) > 2
        assert any(letter.isdigit() for letter in found)
        at = text.index(found, at) + len(found)


def test_a_giant_run_takes_no_time() -> None:
    assert sum(1 for _ in identifiers("A-1/" * 25_000)) == 25_000
    assert sum(1 for _ in identifiers("a-" * 50_000 + "1")) == 1
    assert sum(1 for _ in identifiers("a" * 200_000)) == 0


# On indexes

WEAKNESSES = [
    *(Document(f"o{n:02}", f"weakness CWE-{100 + n} of a program, report {n}") for n in range(50)),
    *(Document(f"p{n:02}", f"page {n} of a report on programs") for n in range(48)),
    Document("xss", "weakness CWE-79 in a page of scripts"),
    Document("seventy-nine", "page 79 of the report"),
]
STRICT = CompileSettings(gate="window")


@pytest.fixture(scope="module")
def weaknesses(make_index: MakeIndex) -> Path:
    """In a hundred documents `cwe` stands in 51; the bound is 5."""
    return make_index(WEAKNESSES, {"p07": (["cwe", "79"], ["cwe 79"])})


def compiled(path: Path, *phrases: str, settings: CompileSettings = STRICT) -> tuple[Program, list[str]]:
    sketch = Sketch("q", tuple(SketchPhrase(text) for text in phrases))
    with Index(path) as index:
        program = compile_sketch(QUERY, sketch, index, settings)
        return program, list(index.search(program, 10).docids)


@pytest.mark.java
def test_a_common_part_does_not_sink_an_identifier(weaknesses: Path) -> None:
    program, hits = compiled(weaknesses, "CWE-79")
    assert [(item.term, item.outcome, item.df, item.weight) for item in program.verdicts] == [
        ("cwe 79", Outcome.KEPT, 2, 0.5),
        ("cwe", Outcome.TOO_COMMON, 52, None),
        ("79", Outcome.KEPT, 3, 0.5),
    ]
    assert program.clauses[2:] == (
        TermClause("cwe 79", 0.25, "should", "CWE-79", 2),
        PhraseClause(("cwe", "79"), 0.25, "should", "CWE-79", 2),
        TermClause("79", 0.5, "should", "CWE-79", 3),
    )
    assert set(hits[:2]) == {"xss", "p07"}
    assert hits[2:] == ["seventy-nine"]


@pytest.mark.java
def test_an_identifier_of_common_parts_alone_is_found(make_index: MakeIndex) -> None:
    texts = [f"il {n % 3 + 1} and the number {n % 2 + 6} of cells" for n in range(97)]
    path = make_index([*(Document(f"d{n}", text) for n, text in enumerate(texts)), Document("x", "level of IL-6")])
    program, hits = compiled(path, "IL-6 level")
    assert [(item.term, item.outcome) for item in program.verdicts] == [
        ("il 6", Outcome.KEPT),
        ("il", Outcome.TOO_COMMON),
        ("6", Outcome.TOO_COMMON),
        ("level", Outcome.KEPT),
    ]
    assert hits == ["x"]


@pytest.mark.java
@pytest.mark.parametrize(
    ("text", "terms"), [("BRCA1", ["brca1"]), ("HLA-B27", ["hla", "b27"]), ("5-HT2A", ["5", "ht2a"])]
)
def test_an_identifier_whose_words_all_pass_is_found_by_them(
    make_index: MakeIndex, text: str, terms: list[str]
) -> None:
    path = make_index([Document("x", f"the gene {text}"), *(Document(f"d{n}", "a gene") for n in range(40))])
    program, hits = compiled(path, text)
    assert [clause.label for clause in program.clauses[2:]] == terms
    assert [item.outcome for item in program.verdicts] == [Outcome.KEPT] * len(terms)
    assert hits == ["x"]


@pytest.mark.java
def test_an_identifier_that_no_document_holds_leaves_its_words(weaknesses: Path) -> None:
    program, _ = compiled(weaknesses, "CWE-48")
    assert [(item.term, item.outcome) for item in program.verdicts] == [
        ("cwe 48", Outcome.UNSEEN),
        ("cwe", Outcome.TOO_COMMON),
        ("48", Outcome.KEPT),
    ]


@pytest.mark.java
def test_an_identifier_of_the_query_is_there_already(weaknesses: Path) -> None:
    with Index(weaknesses) as index:
        sketch = Sketch("q", (SketchPhrase("CWE-79 fault"),))
        program = compile_sketch(Topic("q", "what is CWE-79"), sketch, index, STRICT)
    assert all(isinstance(clause, TermClause) and " " not in clause.term for clause in program.clauses)
    assert {item.outcome for item in program.verdicts if item.term != "fault"} == {Outcome.ALREADY_PRESENT}


@pytest.mark.java
@pytest.mark.parametrize("ngrams", ["off", "atoms", "atoms+phrases"])
def test_an_identifier_counts_once_whatever_n_grams_do(weaknesses: Path, ngrams: str) -> None:
    chosen = replace(STRICT, ngrams=ngrams)  # pyright: ignore[reportArgumentType]
    program, hits = compiled(weaknesses, "CWE-79", "CWE-79 scripts", settings=chosen)
    labels = [clause.label for clause in program.clauses]
    assert len(labels) == len(set(labels))
    assert {"cwe 79", '"cwe 79"', "79"} <= set(labels)
    assert hits[0] == "xss"


@pytest.mark.java
def test_without_positions_an_identifier_is_an_atom(weaknesses: Path) -> None:
    class Bare:
        """The same statistics of an index that cannot search phrases."""

        has_positions = False

        def __init__(self, index: Index) -> None:
            self.document_count = index.document_count
            self.analyze, self.df, self.facet_df = index.analyze, index.df, index.facet_df
            self.window_df = index.window_df

    with Index(weaknesses) as index:
        program = compile_sketch(QUERY, Sketch("q", (SketchPhrase("CWE-79"),)), Bare(index), STRICT)
    assert program.clauses[2] == TermClause("cwe 79", 0.5, "should", "CWE-79", 2)
    assert not any(isinstance(clause, PhraseClause) for clause in program.clauses)


def test_a_required_or_excluded_identifier_is_what_any_phrase_is() -> None:
    statistics = TableStatistics(
        100,
        {"cwe": 50, "79": 2, "cwe 79": 2},
        analyzer=lambda texts: [t.lower().replace("-", " ").split() for t in texts],
    )
    phrases = (SketchPhrase("CWE-79", "must"), SketchPhrase("CWE-79", "must_not"))
    program = compile_sketch(Topic("q", "fault"), Sketch("q", phrases), statistics, STRICT)
    assert [(clause.label, clause.occur) for clause in program.clauses[1:]] == [
        ("cwe", "must"),
        ("79", "must"),
        ('"cwe 79"', "must_not"),
    ]
