"""`sira inspect` as a command: text, JSON, page, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sira.corpora.df_table import write_df_table

from .conftest import Sira


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "df.tsv"
    write_df_table(path, lambda: [("agent", 2), ("releas", 1)], documents=5, analyzer="english", fingerprint="f")
    return path


def test_text_goes_to_stdout_and_the_page_to_its_file(sira: Sira, pottery: Path, table: Path) -> None:
    target = pottery / "page.html"
    answer = sira("inspect", pottery / "phrases.jsonl", "--df", table, "--html", target)
    assert answer.status == 0
    assert "3 rows in 1 file" in answer.out
    assert "6 distinct phrases" in answer.out
    assert "none of the 5 documents has" in answer.out
    assert "[not recorded] d1\n  release agent | shelf protection\n" in answer.out
    assert answer.err == f"sira: page in {target}\n"
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_json_is_one_object(sira: Sira, pottery: Path, table: Path) -> None:
    answer = sira("inspect", pottery / "phrases.jsonl", "--json", "--samples", 0, "--df", table)
    data = json.loads(answer.out)
    assert (data["documents"], data["distinct"], data["hubs"]) == (3, 6, 0)
    assert data["phrases"] == {"items": 3, "sum": 6, "mean": 2, "p5": 2, "median": 2, "p95": 2, "counts": {"2": 3}}
    assert data["rarest"]["df"]["counts"] == {"0": 5, "1": 1}
    assert data["samples"] == {"not recorded": []}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top", "-1"], "top = -1"),
        (["--hub-share", "1.5"], "hub_share = 1.5"),
        (["--df", "absent.tsv"], "there is no such file"),
        (["--html", "absent/page.html"], "there is no folder"),
    ],
)
def test_wrong_options_are_status_2_and_one_line(sira: Sira, pottery: Path, options: list[str], message: str) -> None:
    answer = sira("inspect", pottery / "phrases.jsonl", *options)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_a_failure_leaves_the_old_page(sira: Sira, pottery: Path) -> None:
    target = pottery / "page.html"
    target.write_text("old", encoding="utf-8")
    assert sira("inspect", pottery / "absent", "--html", target).status == 2
    assert target.read_text(encoding="utf-8") == "old"


def test_a_table_of_another_analyzer_is_refused(sira: Sira, pottery: Path) -> None:
    write_df_table(pottery / "df.tsv", lambda: [("ton", 2)], documents=5, analyzer="german", fingerprint="f")
    answer = sira("inspect", pottery / "phrases.jsonl", "--df", pottery / "df.tsv")
    assert answer.status == 2
    assert "'german', which only Java computes" in answer.err
