"""`sira wikipedia` as a command, and what it makes as the input of `sira index`, `search` and `run`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from benchmarks._wiki import write_wiki
from sira.corpora import open_collection
from sira.records import Document

from .conftest import Sira

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """runs/browsecomp-wikipedia with dumps, questions and sketches of a small invented wiki."""
    folder = tmp_path_factory.mktemp("runs") / "browsecomp-wikipedia"
    write_wiki(folder, 600, questions=20)
    return folder


@pytest.fixture
def wiki(sira: Sira, written: Path) -> Path:
    dumps = sorted(written.glob("dump-*.xml.bz2"))
    assert sira("wikipedia", "prepare", *dumps, "--out", written / "wiki", "--quiet").status == 0
    return written / "wiki"


def test_a_preparation_says_what_it_kept_and_left_out(sira: Sira, written: Path, tmp_path: Path) -> None:
    dumps = sorted(written.glob("dump-*.xml.bz2"))
    answer = sira("wikipedia", "prepare", *dumps, "--out", tmp_path / "wiki")
    assert answer.status == 0
    assert answer.out.splitlines() == [
        f"{tmp_path / 'wiki'}: 180 documents (0 without text), 272 redirects, of 600 pages",
        "left out: other_namespace 148, redirect 272",
        "pages by namespace: 0: 452, 4: 22, 6: 22, 10: 44, 14: 60",
    ]
    assert "dumps: 100%" in answer.err
    assert "600 pages" in answer.err
    again = sira("wikipedia", "prepare", *dumps, "--out", tmp_path / "wiki", "--quiet")
    assert (again.out, again.err) == (answer.out, "")


def test_options_choose_namespaces_redirects_and_templates(sira: Sira, written: Path, tmp_path: Path) -> None:
    dump = written / "dump-1.xml.bz2"
    answer = sira("wikipedia", "prepare", dump, "--out", tmp_path / "a", "--namespaces", "all", "--quiet")
    assert "left out: redirect " in answer.out
    answer = sira(
        *("wikipedia", "prepare", dump, "--out", tmp_path / "b", "--namespaces", "0", "14", "--quiet"),
        *("--redirects", "documents", "--templates", "values"),
    )
    assert "other_namespace" in answer.out
    assert "redirect " not in answer.out.splitlines()[1]
    texts = [found.text for _, found in open_collection(str(tmp_path / "b")).documents() if isinstance(found, Document)]
    assert any("3 14" in text for text in texts)


def test_wrong_use_is_one_line_and_status_2(sira: Sira, written: Path, tmp_path: Path) -> None:
    dump = written / "dump-1.xml.bz2"
    answer = sira("wikipedia", "prepare", dump, "--out", tmp_path / "wiki", "--namespaces", "Talk")
    assert (answer.status, answer.err) == (2, "sira: error: --namespaces 'Talk': give numbers, such as 0 14, or all\n")
    answer = sira("wikipedia", "prepare", dump, "--out", tmp_path / "wiki", "--processes", "0")
    assert (answer.status, answer.err) == (2, "sira: error: processes = 0: give 1 or more\n")
    (tmp_path / "bad.xml").write_text("<mediawiki><page>\n<title>A & B</title></page></mediawiki>")
    answer = sira("wikipedia", "prepare", tmp_path / "bad.xml", "--out", tmp_path / "wiki", "--quiet")
    assert answer.status == 2
    assert answer.err == (
        f"sira: error: {tmp_path / 'bad.xml'}, line 2, column 11, near byte 57 of the file: damaged or cut XML "
        "(not well-formed (invalid token)); fetch it again\n"
    )


def test_questions_are_checked_against_the_corpus(sira: Sira, written: Path, wiki: Path, tmp_path: Path) -> None:
    files = ["--topics", tmp_path / "topics.tsv", "--qrels", tmp_path / "qrels.txt"]
    answer = sira("wikipedia", "questions", written / "questions.jsonl", "--corpus", wiki, *files)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == "60 gold pages, 40 unique by question: found 40, redirected 20, absent 0, other_site 0\n"
    assert len((tmp_path / "qrels.txt").read_text(encoding="utf-8").splitlines()) == 40
    assert (tmp_path / "topics.tsv").read_text(encoding="utf-8").startswith("100\tA ")
    rows = [json.loads(line) for line in (written / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    rows[0]["wiki_gold_urls"]["1"] = "https://en.wikipedia.org/wiki/No_such_page_at_all"
    rows[0]["wiki_gold_titles"]["1"] = ""
    (tmp_path / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    answer = sira("wikipedia", "questions", tmp_path / "other.jsonl", "--corpus", wiki)
    assert answer.out.splitlines()[1:] == [
        "question 100: the gold page 'No_such_page_at_all' is not in the corpus; near it: no title is"
    ]


@pytest.mark.java
def test_the_corpus_is_indexed_with_categories_as_atoms_and_words(sira: Sira, wiki: Path, tmp_path: Path) -> None:
    answer = sira("index", f"wikipedia:{wiki}", "--index", tmp_path / "index", "--facet-words", "--quiet")
    assert answer.status == 0, answer.err
    assert "read 180 = indexed 180 (of them empty: 0) + skipped 0" in answer.out
    from sira.lucene.reader import Index

    with Index(tmp_path / "index") as index:
        stub = index.facet_df(["category:All_stub_articles"])
    assert list(stub) == [180]


@pytest.mark.java
def test_the_experiment_runs_end_to_end(
    sira: Sira, written: Path, wiki: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wiki.is_dir()
    monkeypatch.setenv("SIRA_TEST_DATA", str(written.parent))
    config = ROOT / "eval_configs" / "browsecomp-wikipedia.toml"
    answer = sira("run", config, "--out", tmp_path / "results", "--quiet")
    assert answer.status == 0, answer.err
    with (tmp_path / "results" / "per_query.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    recall = {
        (row["system"], row["measure"]): [
            float(r["value"]) for r in rows if (r["system"], r["measure"]) == (row["system"], row["measure"])
        ]
        for row in rows
    }
    systems = ("bm25", "sira", "sira-words", "sira-several", "sira-several-2")
    assert set(recall) == {(s, m) for s in systems for m in ("Recall@1", "Recall@10", "Recall@100", "nDCG@10")}
    # Two unique gold pages a question, although three addresses lead to them.
    assert set(recall["bm25", "Recall@1"]) <= {0.0, 0.5}
    assert all(len(values) == 20 for values in recall.values())
    assert sum(recall["sira", "Recall@100"]) >= sum(recall["sira", "Recall@1"]) > 0
    assert "documents 180, topics 20, judgments 40, relevant 40" in answer.out
    notes = tmp_path / "results" / "runs" / "browsecomp-wikipedia" / "sira-several.notes.jsonl"
    told = [json.loads(line)["several"] for line in notes.read_text(encoding="utf-8").splitlines()]
    # 100 distinct pages a question whatever they bring, and what each search found anew adds up to what was found.
    assert all(one["pages"] <= 100 and len(one["searches"]) == 5 for one in told)
    assert all(sum(search["new"] for search in one["searches"]) == one["unique"] for one in told)
