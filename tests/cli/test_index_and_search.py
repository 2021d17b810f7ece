"""index, search, compile and explain, as a user types them."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from sira.cli import index as cli_index
from sira.cli import options
from sira.compile import CompileSettings
from sira.corpora.trec import read_run
from sira.expand.gate import GateSettings
from sira.lucene.manifest import read_manifest
from sira.lucene.writer import build_index
from sira.program import Scoring, scoring_of

from .conftest import DOCUMENTS, Sira, write_rows

pytestmark = pytest.mark.java


@pytest.fixture
def index(sira: Sira, pottery: Path) -> Path:
    path = pottery / "ix"
    answer = sira(
        "index",
        pottery,
        "--index",
        path,
        "--expansions",
        pottery / "phrases.jsonl",
        "--field",
        "year:integer",
        "--quiet",
    )
    assert answer.status == 0, answer.err
    return path


def docids(out: str) -> list[str]:
    return [line.split()[2] for line in out.splitlines()]


def test_index_says_what_it_holds(sira: Sira, pottery: Path) -> None:
    answer = sira("index", pottery / "corpus.jsonl", "--index", pottery / "ix", "--quiet")
    assert answer.status == 0
    assert "read 5 = indexed 5 (of them empty: 1) + skipped 0" in answer.out
    manifest = read_manifest(pottery / "ix")
    assert manifest is not None
    assert (manifest.read, manifest.indexed, manifest.empty) == (5, 5, 1)


def test_a_build_with_expansions_leaves_one_folder(index: Path) -> None:
    assert [item.name for item in index.parent.iterdir() if item.name.startswith(".")] == []
    assert all(item.is_file() for item in index.iterdir())


def test_records_that_are_no_documents_are_named_and_counted(sira: Sira, pottery: Path) -> None:
    """G01: the second of three lines has no text."""
    path = write_rows(pottery / "c.jsonl", [{"id": "a1", "contents": "kiln"}, {"id": "a2", "title": "kiln"}])
    with path.open("a", encoding="utf-8") as stream:
        stream.write('{"id": "a3", ')
    answer = sira("index", path, "--index", pottery / "ix", "--quiet")
    assert answer.status == 0
    assert "read 3 = indexed 1 (of them empty: 0) + skipped 2" in answer.out
    assert f"{path}, line 2" in answer.err
    assert "a2" in answer.err
    assert "text" in answer.err


def test_a_bad_source_leaves_nothing_behind(sira: Sira, pottery: Path) -> None:
    """G03."""
    answer = sira("index", pottery / "absent.jsonl", "--index", pottery / "new", "--quiet")
    assert answer.status == 2
    assert answer.err.count("\n") == 1
    assert "absent.jsonl" in answer.err
    assert not (pottery / "new").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["corpus", "--input", "corpus"],
        ["corpus", "--add", "more"],
        ["--add", "a", "--update", "b"],
        ["corpus", "--analyzer", "klingon"],
        ["corpus", "--field", "year:roman"],
        ["corpus", "--threads", "0"],
        ["corpus", "--heap", "many"],
    ],
)
def test_wrong_usage_is_one_line(sira: Sira, pottery: Path, arguments: list[str]) -> None:
    given = [str(pottery / "corpus.jsonl") if argument == "corpus" else argument for argument in arguments]
    answer = sira("index", *given, "--index", pottery / "ix", "--quiet")
    assert answer.status in (1, 2)
    assert answer.err.startswith("sira: error: ")
    assert answer.err.count("\n") == 1
    assert not (pottery / "ix").exists()


def test_plain_search_and_the_sketch(sira: Sira, index: Path) -> None:
    assert docids(sira("search", "glaze", "--index", index).out) == ["d3", "d1"]
    plain = sira("search", "pots", "--index", index)
    assert (plain.status, plain.out) == (0, "")
    assert "warning" in plain.err
    assert docids(sira("search", "pots", "--index", index, "--phrase", "thermal shock").out) == ["d2"]


@pytest.mark.parametrize("query", ["the of and", "   ", '""', "!!!"])
def test_queries_without_terms_find_nothing(sira: Sira, index: Path, query: str) -> None:
    """G91: never everything."""
    answer = sira("search", query, "--index", index)
    assert (answer.status, answer.out) == (0, "")
    assert "warning: topic 'q'" in answer.err


def test_a_run_of_topics_with_sketches(sira: Sira, pottery: Path, index: Path) -> None:
    answer = sira(
        "search", "--index", index, "--topics", pottery / "topics.tsv", "--sketches", pottery / "sketches.jsonl",
        "--run", pottery / "out.trec", "--threads", "2",
    )  # fmt: skip
    assert answer.status == 0
    run = read_run(pottery / "out.trec")
    assert run.rankings["t1"].docids[0] == "d1"
    assert run.rankings["t2"].docids[0] == "d2"


def test_rollback_at_query_time(sira: Sira, index: Path) -> None:
    assert docids(sira("search", "Longquan", "--index", index).out) == ["d3"]
    assert sira("search", "Longquan", "--index", index, "--expansion-weight", "0").out == ""


def test_compile_prints_program_and_verdicts_and_its_json_runs(sira: Sira, pottery: Path, index: Path) -> None:
    base = ("--index", index, "--topics", pottery / "topics.tsv", "--sketches", pottery / "sketches.jsonl")
    table = sira("compile", *base, "--qid", "t1").out
    assert "release" in table
    assert "kept" in table
    assert "too_common" in table
    text = sira("compile", *base, "--qid", "t1", "--json").out
    (pottery / "p.json").write_text(text, encoding="utf-8")
    again = sira("search", "--program", pottery / "p.json", "--index", index, "--json")
    direct = sira("search", *base, "--json")
    first = json.loads(direct.out.splitlines()[0])
    assert json.loads(again.out) == first
    assert first["hits"][0]["docid"] == "d1"


def test_explain_sums_to_the_score_and_gives_both_ranks(sira: Sira, pottery: Path, index: Path) -> None:
    answer = sira(
        "explain", "t2", "d2", "--index", index, "--topics", pottery / "topics.tsv",
        "--sketches", pottery / "sketches.jsonl", "--json",
    )  # fmt: skip
    found = json.loads(answer.out)
    assert sum(item["score"] for item in found["contributions"]) == pytest.approx(found["score"], rel=1e-6)
    assert found["rank"] == 1
    assert found["plain_bm25"] == {"score": 0.0, "rank": None}
    assert "sum of the clauses" in sira("explain", "q", "d2", "--query", "kiln", "--index", index).out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["explain", "q", "d99", "--query", "kiln"], "d99"),
        (["explain", "t9", "d1", "--topics", "topics.tsv"], "t9"),
        (["search"], "--topics"),
        (["search", "kiln", "-k", "0"], "-k 0"),
        (["search", "kiln", "--lambda", "-1"], "-1"),
        (["search", "kiln", "--lambda", "nan"], "nan"),
        (["search", "kiln", "--k1", "-1"], "k1"),
        (["search", "--topics", "topics.tsv", "--phrase", "x"], "--phrase"),
        (["search", "kiln", "--sketches", "sketches.jsonl"], "'q'"),
        (["compile", "--topics", "topics.tsv"], "--qid"),
        (["search", "--program", "topics.tsv"], "JSON"),
        (["search", "--program", "topics.tsv", "--lambda", "2"], "--lambda"),
        (["search", "kiln", "--json", "--run", "topics.tsv"], "--json"),
        (["search", "kiln", "--name", "mine"], "--name"),
        (["search", "kiln", "--max-n", "2"], "--max-n"),
        (["search", "--topics", "topics.tsv", "--sketches", "phrases.jsonl"], "phrases.jsonl"),
        (["index", "--add", "corpus.jsonl", "--analyzer", "de"], "--analyzer"),
        (["index", "--add", "corpus.jsonl", "--max-n", "2"], "--max-n"),
        (["index", "--expansions", "phrases.jsonl", "--max-phrases", "-3"], "max_phrases"),
        (["search", "kiln", "--expansion-weight", "1e-9"], "expansion_weight"),
    ],
)
def test_nonsense_gets_one_line_that_names_it(
    sira: Sira, pottery: Path, index: Path, arguments: list[str], named: str
) -> None:
    given = [str(pottery / item) if item.endswith((".tsv", ".jsonl")) else item for item in arguments]
    answer = sira(*given, "--index", index)
    assert answer.status in (1, 2)
    assert answer.err.startswith("sira: error: ")
    assert answer.err.count("\n") == 1
    assert named in answer.err


def test_no_index_there(sira: Sira, tmp_path: Path) -> None:
    answer = sira("search", "kiln", "--index", tmp_path / "absent")
    assert answer.status == 1
    assert "sira index" in answer.err


def test_a_sketch_for_some_topics_only_is_said(sira: Sira, pottery: Path, index: Path) -> None:
    (pottery / "one.jsonl").write_text('{"qid": "t1", "phrases": ["kiln"]}\n', encoding="utf-8")
    answer = sira("search", "--topics", pottery / "topics.tsv", "--sketches", pottery / "one.jsonl", "--index", index)
    assert "1 of 2 topics have no sketch" in answer.err
    assert "topic t1" in answer.out


def test_a_constraint_that_cannot_be_met_is_named(sira: Sira, pottery: Path, index: Path) -> None:
    row = {"qid": "t1", "phrases": [{"text": "porcelain", "role": "must"}]}
    (pottery / "must.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    answer = sira("search", "--topics", pottery / "topics.tsv", "--sketches", pottery / "must.jsonl", "--index", index)
    assert "requires 'porcelain', which no document holds" in answer.err


def test_all_programs_at_once_and_one_explained(sira: Sira, pottery: Path, index: Path) -> None:
    base = ("--topics", pottery / "topics.tsv", "--sketches", pottery / "sketches.jsonl", "--index", index)
    lines = sira("compile", *base, "--json").out.splitlines()
    assert [json.loads(line)["qid"] for line in lines] == ["t1", "t2"]
    (pottery / "p.json").write_text(lines[1], encoding="utf-8")
    by_program = sira("explain", "t2", "d2", "--program", pottery / "p.json", "--index", index, "--json")
    assert by_program.out == sira("explain", "t2", "d2", *base, "--json").out
    assert json.loads(by_program.out)["documents"] == 5


def test_a_phrase_called_query_is_no_word_of_the_query(sira: Sira, tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "c.jsonl", [{"id": "a", "text": "query language"}, {"id": "b", "text": "glaze"}])
    sira("index", corpus, "--index", tmp_path / "ix", "--quiet")
    options = ("--query", "glaze", "--phrase", "query", "--index", tmp_path / "ix", "--json")
    found = json.loads(sira("explain", "q", "a", *options).out)
    assert found["plain_bm25"] == {"score": 0.0, "rank": None}


def test_the_defaults_of_the_options_are_those_of_the_library() -> None:
    assert {
        **{item.name: item.default for item in fields(CompileSettings) if item.name != "scoring"},
        "profile": "anserini",
        "k1": None,
        "b": None,
        "combine": Scoring().combine,
        "contents_weight": Scoring().contents_weight,
        "expansion_weight": Scoring().expansion_weight,
    } == options.SETTINGS
    assert scoring_of() == Scoring()
    assert asdict(GateSettings()) == cli_index.GATE
    parameters = inspect.signature(build_index).parameters
    assert cli_index.BUILDING["analyzer"] == parameters["analyzer"].default
    assert cli_index.BUILDING["duplicates"] == parameters["duplicates"].default


@pytest.mark.slow
def test_g17_no_environment_is_needed(index: Path) -> None:
    command = [sys.executable, "-m", "sira", "search", "glaze", "--index", str(index)]
    done = subprocess.run(command, env={}, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, docids(done.stdout)) == (0, ["d3", "d1"])


def test_ranges_filter_by_declared_fields(sira: Sira, pottery: Path, index: Path) -> None:
    program = {
        "qid": "q",
        "clauses": [
            {"kind": "any_of", "terms": ["kiln", "glaze"]},
            {"kind": "range", "field": "year", "gte": 2001},
        ],
    }
    (pottery / "p.json").write_text(json.dumps(program), encoding="utf-8")
    assert set(docids(sira("search", "--program", pottery / "p.json", "--index", index).out)) == {"d2", "d3"}


def test_changing_an_index(sira: Sira, pottery: Path, index: Path) -> None:
    more = write_rows(pottery / "more.jsonl", [{"id": "d6", "text": "Anagama kiln", "year": 1500}])
    assert sira("index", "--index", index, "--add", more, "--quiet").status == 0
    assert "d6" in docids(sira("search", "anagama", "--index", index).out)
    refused = sira("index", "--index", index, "--add", more, "--quiet")
    assert refused.status == 2
    assert "d6" in refused.err
    assert sira("index", "--index", index, "--update", more, "--quiet").status == 0
    (pottery / "gone.txt").write_text("d6\n", encoding="utf-8")
    assert sira("index", "--index", index, "--delete", pottery / "gone.txt", "--quiet").status == 0
    assert sira("search", "anagama", "--index", index).out == ""
    assert sira("index", "--index", index, "--drop-expansions", "--quiet").status == 0
    assert sira("search", "Longquan", "--index", index).out == ""
    assert sira("index", "--index", index, "--expansions", pottery / "phrases.jsonl", "--quiet").status == 0
    assert docids(sira("search", "Longquan", "--index", index).out) == ["d3"]


def test_rolled_back_is_never_expanded(sira: Sira, pottery: Path, index: Path) -> None:
    sira("index", pottery, "--index", pottery / "plain", "--field", "year:integer", "--quiet")
    sira("index", "--index", index, "--drop-expansions", "--quiet")
    topics = ("--topics", pottery / "topics.tsv", "--run")
    sira("search", "--index", index, *topics, pottery / "a.trec")
    sira("search", "--index", pottery / "plain", *topics, pottery / "b.trec")
    assert (pottery / "a.trec").read_bytes() == (pottery / "b.trec").read_bytes() != b""


def test_duplicates(sira: Sira, pottery: Path) -> None:
    """G04."""
    twice = write_rows(pottery / "twice.jsonl", [*DOCUMENTS, DOCUMENTS[0]])
    refused = sira("index", twice, "--index", pottery / "ix", "--quiet")
    assert refused.status == 2
    assert f"{twice}, line 1" in refused.err
    assert f"{twice}, line 6" in refused.err
    kept = sira("index", twice, "--index", pottery / "ix", "--duplicates", "keep-first", "--quiet")
    assert "read 6 = indexed 5 (of them empty: 1) + skipped 1" in kept.out
