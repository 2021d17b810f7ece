"""Questions and labels of a benchmark: sets, the order of precedence, and what the manifest tells."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sira.agent.benchmark_files import read_benchmark
from sira.agent.benchmark_inputs import Inputs, Labels, file_facts
from sira.errors import InputError, NotFoundError

TEXT = """id = "own"
name = "Own"
[corpus]
source = "jsonl:corpus.jsonl"
[questions]
file = "questions.tsv"
default = "two"
[questions.sets.two]
first = 2
[questions.sets.named]
qids = ["c", "a"]
[questions.sets.listed]
file = "set.txt"
[questions.sets.absent]
qids = ["z"]
[questions.sets.every]
[labels]
qrels = "qrels.txt"
answers = "answers.jsonl"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.toml").write_text(TEXT)
    (tmp_path / "questions.tsv").write_text("a\tone?\nb\ttwo?\nc\tthree?\n")
    (tmp_path / "set.txt").write_text("b\tother columns\n\nc\n")
    (tmp_path / "qrels.txt").write_text("a 0 d1 1\n")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "one"}\n')
    return tmp_path


def inputs(folder: Path, name: str | None = None) -> Inputs:
    return Inputs.of(read_benchmark(folder / "own.toml"), name)


@pytest.mark.parametrize(
    ("name", "qids"), [(None, "ab"), ("two", "ab"), ("named", "ac"), ("listed", "bc"), ("every", "abc")]
)
def test_a_set_is_some_of_the_questions_in_their_order(folder: Path, name: str | None, qids: str) -> None:
    assert "".join(question.qid for question in inputs(folder, name).questions) == qids


def test_a_set_or_a_question_that_is_not_there_is_told(folder: Path) -> None:
    with pytest.raises(NotFoundError, match="no set 'q9' of questions: choose two, named, listed, absent, every"):
        inputs(folder, "q9")
    with pytest.raises(InputError, match="there is no question 'z' among its 3"):
        _ = inputs(folder, "absent").questions


def test_the_command_line_goes_before_the_manifest_and_that_before_the_benchmark(folder: Path) -> None:
    run = folder / "run"
    run.mkdir()
    for name in ("other.txt", "mine.txt"):
        (run / name).write_text("a 0 d1 1\n")
    own = inputs(folder)
    assert own.labels(Labels()).qrels == folder / "qrels.txt"
    manifest = {"qrels_path": "other.txt", "ground_truth_path": str(folder / "gone.jsonl")}
    assert own.labels(Labels(), manifest, run).qrels == run / "other.txt"
    assert own.labels(Labels(run / "mine.txt"), manifest, run).qrels == run / "mine.txt"
    assert own.labels(Labels(), manifest, run).answers == folder / "answers.jsonl"  # what the manifest names is gone


def test_the_manifest_has_paths_and_hashes(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    own = inputs(folder, "named")
    data = own.manifest(own.labels(Labels()), own.file.table.setup(), "somewhere", folder / "run")
    assert (data["benchmark_id"], data["benchmark_display_name"], data["query_set_id"]) == ("own", "Own", "named")
    assert data["query_path"] == str(folder / "questions.tsv")
    assert data["qrels_path"] == str(folder / "qrels.txt")
    wanted = hashlib.sha256(b"a 0 d1 1\n").hexdigest()
    assert data["input_hashes"]["qrels"] == {"exists": True, "algorithm": "sha256", "sha256": wanted, "bytes": 9}
    assert data["input_hashes"]["ground_truth"] == {"exists": False, "algorithm": "sha256"}
    assert "secondary_qrels" not in data["input_hashes"]
    assert "answers.jsonl: there is no such file" in caplog.text
    assert file_facts(folder)["exists"] is False  # a folder is no file


def test_judgments_of_a_source_are_kept_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "one"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "a", "text": "one?"}\n{"_id": "b", "text": "two?"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("a\td1\t1\nb\td1\t2\n")
    text = 'id = "own"\nname = "Own"\n[corpus]\nsource = "beir:."\n[questions]\ndefault = "one"\n'
    (tmp_path / "own.toml").write_text(text + "[questions.sets.one]\nfirst = 1\n")
    own, run = inputs(tmp_path), tmp_path / "run"
    labels = own.kept(own.labels(Labels()), run)
    assert labels.qrels == run / "benchmark" / "qrels.txt"
    assert (run / "benchmark" / "qrels.txt").read_text() == "a 0 d1 1\n"
    data = own.manifest(labels, own.file.table.setup(), "index", run)
    assert data["qrels_path"] == "benchmark/qrels.txt"
    assert own.judgments(labels) == {"qrels": {"a": {"d1": 1}}}
