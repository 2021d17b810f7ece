"""The demonstration as a newcomer sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sira.cli.main import main
from sira.demo.data import RECORDINGS, load_demo

pytestmark = pytest.mark.java


@pytest.fixture(autouse=True, scope="module")
def _one_cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIRA_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def figures(out: str) -> dict[str, tuple[float, float]]:
    """System -> (nDCG@10, Recall@10), from the printed table."""
    labels = ("BM25", "+ document phrases", "+ query sketch", "both")
    rows = {
        label: line.removeprefix(label).split()
        for line in out.splitlines()
        for label in labels
        if line.startswith(label)
    }
    return {label: (float(cells[0]), float(cells[1])) for label, cells in rows.items()}


def test_the_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--quiet"]) == 0
    out = capsys.readouterr().out
    found = figures(out)
    assert found["BM25"] < found["+ document phrases"] < found["both"]
    assert found["BM25"] < found["+ query sketch"] < found["both"]
    assert "written for this demonstration" in out
    assert "sum of the clauses" in out
    assert "What to do next" in out


@pytest.mark.parametrize(
    ("question", "docid"),
    [("stop a program for a while", "time.sleep"), ("Copy a folder with  everything in it", "shutil.copytree")],
)
def test_a_question_of_ones_own(question: str, docid: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", question, "--quiet"]) == 0
    first = capsys.readouterr().out.splitlines()[2]
    assert docid in first.split()


def test_a_question_without_a_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "rm -rf", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert "shutil.rmtree" in captured.out
    assert "--phrase" in captured.out
    assert main(["demo", "zzzzz", "--quiet"]) == 0
    assert "nothing found" in capsys.readouterr().err
    assert main(["demo", "--phrase", "x"]) == 2


def test_recordings_belong_together() -> None:
    collection = load_demo()
    qids = {topic.qid for topic in collection.topics}
    assert len(collection.documents) >= 1000
    assert len(qids) >= 100
    assert qids == set(collection.qrels) == set(collection.sketches)
    hard = [line for line in (RECORDINGS / "difficulty.tsv").read_text(encoding="utf-8").splitlines() if "hard" in line]
    assert len(hard) >= 25
    names = {document.docid.rsplit(".", 1)[-1] for document in collection.documents if "." in document.docid}
    assert Path(RECORDINGS / "README.md").is_file()
    # Sketches must not name what answers: an exact name of a judged document would be an answer, not a sketch.
    for qid, sketch in collection.sketches.items():
        answers = {docid for docid, grade in collection.qrels[qid].items() if grade > 1}
        assert not answers & {phrase.text for phrase in sketch.phrases}
    assert names
