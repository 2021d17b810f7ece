"""`sira explain` of a whole search, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Sira

pytestmark = pytest.mark.java


@pytest.fixture
def index(sira: Sira, pottery: Path) -> Path:
    path = pottery / "ix"
    assert sira("index", pottery, "--index", path, "--expansions", pottery / "phrases.jsonl", "--quiet").status == 0
    return path


@pytest.fixture
def topics(pottery: Path, index: Path) -> tuple[str | Path, ...]:
    return ("--topics", pottery / "topics.tsv", "--sketches", pottery / "sketches.jsonl", "--index", index)


def test_the_terminal_shows_every_part(sira: Sira, pottery: Path, topics: tuple[str | Path, ...]) -> None:
    (pottery / "judged.tsv").write_text("t1 0 d1 1\nt1 0 d4 2\nt1 0 d5 0\n", encoding="utf-8")
    answer = sira("explain", "t1", *topics, "--qrels", pottery / "judged.tsv", "--missed", "d2", "d77")
    assert answer.status == 0, answer.err
    for line in (
        "topic t1: stop pots sticking to shelves",
        "sketch: 2 phrases, 0 facets",
        "verdicts: ",
        "program: ",
        "missed: d77",
        "  the index has no such document",
        "missed: d4  (grade 2)  Slip",
    ):
        assert any(found.startswith(line) for found in answer.out.splitlines()), line
    (line,) = [line for line in answer.out.splitlines() if line.startswith("   1  ")]
    assert line.split() == ["1", line.split()[1], "same", "rank", "d1", "(grade", "1)", "Kiln", "wash"]


def test_json_and_page_say_the_same(sira: Sira, pottery: Path, topics: tuple[str | Path, ...]) -> None:
    answer = sira("explain", "t2", *topics, "--json", "--html", pottery / "t2.html", "-k", "1", "--missed", "d3")
    found = json.loads(answer.out)
    (hit,) = found["hits"]
    assert hit["docid"] == "d2"
    assert sum(part["score"] for part in hit["contributions"]) == pytest.approx(hit["score"], rel=1e-6)
    page = (pottery / "t2.html").read_text(encoding="utf-8")
    assert f"{hit['score']:.4f}" in page
    assert all(f"{part['score']:.4f}" in page for part in hit["contributions"])
    assert found["missed"][0]["docid"] == "d3"
    assert "t2.html" in answer.err


def test_the_hits_are_those_of_search(sira: Sira, topics: tuple[str | Path, ...]) -> None:
    found = json.loads(sira("explain", "t1", *topics, "--json").out)
    searched = json.loads(sira("search", *topics, "--json").out.splitlines()[0])
    assert [(hit["docid"], hit["score"]) for hit in found["hits"]] == [
        (hit["docid"], hit["score"]) for hit in searched["hits"]
    ]


def test_a_named_document_that_is_a_hit_is_said(sira: Sira, topics: tuple[str | Path, ...]) -> None:
    answer = sira("explain", "t1", *topics, "--missed", "d1")
    assert "d1 is not missed: it has rank 1" in answer.err
    assert "missed: d1" not in answer.out


def test_a_program_and_a_written_query_are_explained(sira: Sira, pottery: Path, index: Path) -> None:
    (pottery / "p.txt").write_text("kiln +glaze -raku\n", encoding="utf-8")
    by_file = sira("explain", "q", "--program", pottery / "p.txt", "--index", index, "--json")
    by_query = sira("explain", "q", "--query", "kiln +glaze -raku", "--syntax", "program", "--index", index, "--json")
    first, second = json.loads(by_file.out), json.loads(by_query.out)
    assert first["hits"] == second["hits"]
    assert [hit["docid"] for hit in first["hits"]] == ["d1", "d3"]
    assert [clause["occur"] for clause in first["program"]["clauses"]] == ["should", "must", "must_not"]


def test_nothing_found_is_explained_too(sira: Sira, pottery: Path, index: Path) -> None:
    answer = sira("explain", "q", "--query", "+porcelain", "--syntax", "program", "--index", index,
                  "--html", pottery / "none.html", "--missed", "d1")  # fmt: skip
    assert answer.status == 0
    assert "no hits: it requires porcelain, which no document holds" in answer.out
    assert "kept out: it lacks the required porcelain" in answer.out
    assert "No hits: it requires porcelain" in (pottery / "none.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["q", "d1", "--query", "kiln", "--html", "x.html"], "--html"),
        (["q", "d1", "--query", "kiln", "-k", "3"], " -k: "),
        (["q", "d1", "--query", "kiln", "--missed", "d2"], "--missed"),
        (["q", "--query", "kiln", "-k", "0"], "-k 0"),
        (["q", "--query", "kiln", "--qrels", "qrels/test.tsv"], "qid 'q'"),
        (["q", "--query", "kiln", "--html", "absent/x.html"], "absent"),
        (["t9", "--topics", "topics.tsv"], "t9"),
        (["q", "--query", "heart +-x", "--syntax", "program"], "column 8"),
        (["q", "--query", "kiln", "--syntax", "program", "--phrase", "x"], "--phrase"),
        (["q", "--query", "kiln", "--syntax", "program", "--lambda", "2"], "--lambda"),
    ],
)
def test_nonsense_gets_one_line(sira: Sira, pottery: Path, index: Path, arguments: list[str], named: str) -> None:
    given = [str(pottery / item) if item.endswith((".tsv", ".html")) else item for item in arguments]
    answer = sira("explain", *given, "--index", index)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.startswith("sira: error: ")
    assert answer.err.count("\n") == 1
    assert named in answer.err
    assert not (pottery / "x.html").exists()
