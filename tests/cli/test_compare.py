"""`sira compare`: runs from files, in every format, and what is refused in one line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Sira

QRELS = "t1 0 a 1\nt2 0 c 1\nt3 0 d 2\n"
BM25 = "t1 Q0 x 1 9 bm25\nt1 Q0 a 2 8 bm25\nt2 Q0 c 1 7 bm25\n"
DENSE = "t1\tQ0\ta\t1\t0.9\tdense\r\nt3\tQ0\td\t1\t0.8\tdense\r\n"
TOPICS = "t1\tred kiln\nt2\twhite slip\nt3\tgreen glaze\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("qrels", QRELS), ("bm25.trec", BM25), ("dense.trec", DENSE), ("topics.tsv", TOPICS)):
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def test_tables_of_means_coverage_overlap_and_the_queries_that_differ_most(sira: Sira, files: Path) -> None:
    done = sira(
        "compare",
        files / "bm25.trec",
        files / "dense.trec",
        "--qrels",
        files / "qrels",
        "--measures",
        "MRR",
        "--topics",
        files / "topics.tsv",
    )
    assert (done.status, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["bm25", "0.5000", "3", "0", "1", "-", "-", "-", "-"] in lines
    dense = next(line for line in lines if line[:2] == ["dense", "0.6667"])
    assert dense[2:6] == ["3", "0", "1", "+0.1667"]
    assert dense[-5:] == ["2", "/", "0", "/", "1"]
    assert ["t3", "0.0000", "1.0000", "+1.0000", "green", "glaze"] in lines
    assert ["t2", "1.0000", "0.0000", "-1.0000", "white", "slip"] in lines


def test_json_holds_every_topic_and_test(sira: Sira, files: Path) -> None:
    done = sira(
        "compare",
        files / "bm25.trec",
        files / "dense.trec",
        "--qrels",
        files / "qrels",
        "--measures",
        "MRR",
        "nDCG@10",
        "--json",
    )
    told = json.loads(done.out)
    assert told["baseline"] == "bm25"
    assert told["runs"][1]["per_topic"]["MRR"] == {"t1": 1.0, "t2": 0.0, "t3": 1.0}
    assert told["runs"][0]["missing"] == ["t3"]
    assert [item["measure"] for item in told["comparisons"]] == ["MRR", "nDCG@10"]
    assert told["comparisons"][0]["randomisation"]["correction"] == "Holm"
    assert [item["qid"] for item in told["gains"]["dense"]] == ["t3", "t1"]


def test_csv_has_a_row_for_each_measure_and_run(sira: Sira, files: Path) -> None:
    done = sira(
        "compare",
        files / "bm25.trec",
        files / "dense.trec",
        "--qrels",
        files / "qrels",
        "--measures",
        "MRR",
        "MAP",
        "--csv",
    )
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(row["measure"], row["run"], row["baseline"]) for row in rows] == [
        ("MRR", "bm25", ""),
        ("MRR", "dense", "bm25"),
        ("MAP", "bm25", ""),
        ("MAP", "dense", "bm25"),
    ]
    assert (rows[1]["missing"], rows[1]["wins"], float(rows[1]["mean"])) == ("1", "2", pytest.approx(2 / 3))
    assert all(None not in row and None not in row.values() for row in rows)


def test_runs_of_one_tag_go_by_the_names_of_their_files(sira: Sira, files: Path) -> None:
    (files / "second.trec").write_text(BM25, encoding="utf-8")
    done = sira("compare", files / "bm25.trec", files / "second.trec", "--qrels", files / "qrels", "--json")
    told = json.loads(done.out)
    assert [item["run"] for item in told["runs"]] == ["bm25", "second"]
    assert told["overlap"][0]["rbo"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bm25.trec"], "is one run; give two or more"),
        (["bm25.trec", "bm25.trec"], "is given twice"),
        (["bm25.trec", "absent.trec"], "there is no such file"),
        (["bm25.trec", "qrels"], "4 columns; a run has 6"),
        (["bm25.trec", "dense.trec", "--measures", "P@10"], "measure 'P@10' is unknown"),
        (["bm25.trec", "dense.trec", "-k", "0"], "counts ranks from 1"),
        (["bm25.trec", "dense.trec", "--topics", "other.tsv"], "none of its 1 topics is judged"),
        (["bm25.trec", "far.trec"], "none of its 1 topics is judged"),
    ],
)
def test_what_cannot_be_compared_is_one_clear_line(
    sira: Sira, files: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    (files / "other.tsv").write_text("z\ttext\n", encoding="utf-8")
    (files / "far.trec").write_text("z Q0 a 1 1 far\n", encoding="utf-8")
    monkeypatch.chdir(files)
    done = sira("compare", *arguments, "--qrels", "qrels")
    assert done.status == 2
    assert done.out == ""
    assert words in done.err
    assert len(done.err.splitlines()) == 1
