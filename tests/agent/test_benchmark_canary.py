"""Obfuscated questions put into the clear: the published form, wrong canaries, and that nothing leaks."""

from __future__ import annotations

import base64
import hashlib
import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from sira.agent.benchmark_canary import clear_text, prepare
from sira.corpora.browsecomp_plus import BrowseCompPlus
from sira.corpora.trec import read_qrels, read_topics
from sira.errors import InputError
from sira.evaluate.agents.gold_answers import read_answers

VARIABLE = "A_CANARY_OF_TESTS"
CANARY = "a canary that is none"
SECRET = "Which potter, ωhose kiln burnt down, wrote a novel?"


def hidden(text: str, canary: str = CANARY) -> str:
    """As the data set has it, letter by letter."""
    key = hashlib.sha256(canary.encode()).digest()
    return base64.b64encode(bytes(one ^ two for one, two in zip(text.encode(), cycle(key), strict=False))).decode()


def row(qid: str = "7") -> dict[str, Any]:
    def documents(*docids: str) -> list[dict[str, str]]:
        return [{"docid": hidden(docid), "text": hidden("a page"), "url": hidden("https://x")} for docid in docids]

    return {
        "query_id": qid,
        "query": hidden(SECRET),
        "answer": hidden("Ada Stone"),
        "gold_docs": documents("11"),
        "evidence_docs": documents("11", "12"),
        "negative_docs": documents("99"),
    }


@pytest.fixture(autouse=True)
def _canary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, CANARY)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    path = tmp_path / "published.jsonl"
    path.write_text(json.dumps(row()) + "\n")
    return path


@pytest.mark.parametrize("text", ["", "a", "x" * 31, "y" * 32, "z" * 1000, "\0 leading zero", "日本語"])
def test_each_length_comes_back(text: str) -> None:
    assert clear_text(hidden(text), hashlib.sha256(CANARY.encode()).digest()) == text


def test_questions_answers_and_judgments_are_what_the_rest_of_sira_reads(published: Path, tmp_path: Path) -> None:
    target = tmp_path / "clear"
    count, written = prepare(published, VARIABLE, target)
    assert count == 1
    assert {path.name for path in written} == {path.name for path in target.iterdir()}
    questions = target / "browsecomp_plus_decrypted.jsonl"
    assert read_topics(questions)[0].text == SECRET
    assert read_answers(questions) == {"7": ("Ada Stone",)}
    assert read_qrels(target / "qrel_evidence.txt") == {"7": {"11": 1, "12": 1}}
    assert read_qrels(target / "qrel_golds.txt") == {"7": {"11": 1}}
    (target / "corpus.jsonl").write_text('{"docid": "11", "text": "a page"}\n')
    folder = BrowseCompPlus.open(target)
    assert folder.topics()[0].qid == "7"
    assert folder.qrels("gold") == {"7": {"11": 1}}


def test_parquet_is_read_without_the_texts_of_documents(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "published"
    folder.mkdir()
    for number, qid in enumerate(("7", "8")):
        parquet.write_table(arrow.Table.from_pylist([row(qid)]), folder / f"test-{number}.parquet")
    count, (questions, *_) = prepare(folder, VARIABLE, tmp_path / "clear")
    assert count == 2
    assert [topic.qid for topic in read_topics(questions)] == ["7", "8"]
    assert "a page" not in questions.read_text()
    (folder / "broken.parquet").write_bytes(b"not parquet")
    with pytest.raises(InputError, match=r"broken.parquet: not Parquet"):
        prepare(folder, VARIABLE, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_judgments_that_are_there_stay(published: Path, tmp_path: Path) -> None:
    (tmp_path / "clear").mkdir()
    (tmp_path / "clear" / "qrel_evidence.txt").write_text("7 Q0 5 1\n")
    _, written = prepare(published, VARIABLE, tmp_path / "clear")
    assert [path.name for path in written] == ["browsecomp_plus_decrypted.jsonl", "qrel_golds.txt"]
    assert read_qrels(tmp_path / "clear" / "qrel_evidence.txt") == {"7": {"5": 1}}


@pytest.mark.parametrize("canary", ["another one", CANARY + " "])
def test_another_canary_is_told_without_a_word_of_the_text(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, canary: str
) -> None:
    monkeypatch.setenv(VARIABLE, canary)
    with pytest.raises(InputError, match="another canary") as error:
        prepare(published, VARIABLE, tmp_path / "clear")
    assert not (tmp_path / "clear").exists()
    for secret in (canary, row()["query"][:12], SECRET[:12]):
        assert f"{secret} " not in str(error.value)


def test_a_file_in_the_clear_or_of_another_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"query_id": "7", "query": SECRET, "answer": "x"}) + "\n")
    with pytest.raises(InputError, match="in the clear already") as error:
        prepare(path, VARIABLE, tmp_path / "clear")
    assert "potter" not in str(error.value)
    path.write_text('{"query_id": "7"}\n')
    with pytest.raises(InputError, match="give query_id, query and answer"):
        prepare(path, VARIABLE, tmp_path / "clear")
    path.write_text("")
    with pytest.raises(InputError, match="no question in this file"):
        prepare(path, VARIABLE, tmp_path / "clear")
    assert not (tmp_path / "clear").exists()


def test_a_repository_is_no_place_for_them(published: Path, tmp_path: Path) -> None:
    (tmp_path / "checkout" / ".git").mkdir(parents=True)
    with pytest.raises(InputError, match="lies in the Git repository"):
        prepare(published, VARIABLE, tmp_path / "checkout" / "data")
    assert not (tmp_path / "checkout" / "data").exists()
