"""`sira report`: the files it writes, what stands in them, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sira.cli.main import main
from sira.corpora.trec import read_run
from sira.corpora.trec_writer import write_qrels
from sira.evaluate.agents.judgments import Judge, response_hash, write_manifest, write_verdict
from sira.evaluate.agents.reading import read_agent_run
from sira.evaluate.agents.verdicts import Verdict
from sira.llm.settings import ModelSettings
from tests.evaluate.agents.run_folders import pi_serini, random_run, trajectory, write_run

Report = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two judged runs over the same 120 questions, and the qrels beside them."""
    folder = tmp_path_factory.mktemp("runs")
    for name, skill, price in (("plain", 0.4, 0.02), ("rich", 0.7, 0.05)):
        rows, qrels, answers = random_run(120, len(name), skill=skill, price=price)
        run = read_agent_run(write_run(folder / name, rows))
        for model in ("a-judge", "b-judge"):
            settings = ModelSettings(backend="openai", model=model)  # pyright: ignore[reportCallIssue]
            judge = Judge.of("gold", {"model": model}, settings)
            place = folder / name / "judgments" / judge.name
            write_manifest(place, judge, {})
            for qid, episode in run.episodes.items():
                if episode.answered:
                    right = answers[qid] in episode.answer
                    flipped = model == "b-judge" and random.Random(qid).random() < 0.2
                    verdict = Verdict(qid, right != flipped, confidence=70, response=response_hash(episode.answer))
                    write_verdict(place, verdict)
        write_qrels(folder / "evidence.qrels", qrels)
        write_qrels(folder / "gold.qrels", {qid: dict(list(grades.items())[:1]) for qid, grades in qrels.items()})
    return folder


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Report:
    def call(*arguments: object) -> tuple[int, str, str]:
        status = main(["report", *map(str, arguments)])
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


class Page(HTMLParser):
    """Checks that tags close in order and counts figures; keeps what is loaded from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.titles: list[str] = []
        self.outside: list[str] = []
        self.marks: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "br", "img"):
            self.open.append(tag)
        given = dict(attrs)
        self.outside += [value for name in ("src", "href") if (value := given.get(name)) and not value.startswith("#")]
        self.marks |= set((given.get("class") or "").split())

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "figcaption":
            self.titles.append(data)


def test_two_runs(runs: Path, report: Report, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = (runs / "plain", runs / "rich", "--evidence", runs / "evidence.qrels", "--gold", runs / "gold.qrels")
    status, said, err = report(*arguments, "--out", out)
    assert status == 0, err
    assert {"plain", "rich"} <= {line.split()[0] for line in said.splitlines()[2:]}
    assert {path.name for path in out.iterdir()} == {"report.md", "report.html", "tables", "surfaced"}
    page = Page((out / "report.html").read_text())
    assert page.open == []
    assert page.outside == []
    assert "accuracy over all, % against price a question, USD" in page.titles
    assert "Where labels were lost: evidence" in page.titles
    assert page.titles.count("Tool calls a question") == 2
    assert {"part0", "part1", "part2", "part3", "part4", "frontier"} <= page.marks
    text = (out / "report.md").read_text()
    for heading in ("rich against plain", "Recall by layer", "Where labels were lost", "Agreement of judges",
                    "Answers", "Worst questions", "Judged wrong, least recall first", "Where it is from"):  # fmt: skip
        assert f"# {heading}" in text
    assert "McNemar's exact test" in text
    rows = list(csv.DictReader(io.StringIO((out / "tables" / "comparisons.csv").read_text())))
    assert [row["measure"] for row in rows].count("accuracy") == 2
    assert {row["baseline"] for row in rows} == {"plain"}
    assert read_run(out / "surfaced" / "rich.trec").name == "rich"
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert report(*arguments, "--out", out)[0] == 0
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_the_tables_hold_each_question_and_each_label(runs: Path, report: Report, tmp_path: Path) -> None:
    report(runs / "rich", "--evidence", runs / "evidence.qrels", "--out", tmp_path)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "tables" / "questions.csv").read_text())))
    assert len(rows) == 120
    run = read_agent_run(runs / "rich")
    assert {row["qid"] for row in rows if row["answered"] == "1"} == {
        qid for qid, episode in run.episodes.items() if episode.answered
    }
    recall = [float(row["surfaced evidence"]) for row in rows]
    summary = list(csv.DictReader(io.StringIO((tmp_path / "tables" / "recall.csv").read_text())))
    macro = {row["layer"]: float(row["macro"]) for row in summary}
    assert macro["surfaced"] == pytest.approx(sum(recall) / 120)
    labels = list(csv.DictReader(io.StringIO((tmp_path / "tables" / "labels.csv").read_text())))
    assert {row["fate"] for row in labels} == {
        "cited", "opened, not cited", "previewed, not opened", "retrieved, not previewed", "not retrieved",
    }  # fmt: skip
    judge = next(name.removeprefix("correct ") for name in rows[0] if name.startswith("correct a-judge"))
    assert {row[f"unjudged {judge}"] for row in rows if row["answered"] == "0"} == {"not_answered"}


def test_figures_as_json_and_the_judge_that_comes_first(runs: Path, report: Report, tmp_path: Path) -> None:
    names = sorted(path.name for path in (runs / "rich" / "judgments").iterdir())
    _, said, _ = report(
        runs / "rich", "--evidence", runs / "evidence.qrels", "--out", tmp_path, "--json", "--judge", names[1]
    )
    found = json.loads(said)["runs"][0]
    assert [item["judge"] for item in found["judges"]] == [names[1], names[0]]
    assert found["recall"]["evidence"]["behaviour"]["questions"] == 120
    assert found["judges"][0]["calibration_error"]["pi-serini"] is not None
    status, _, err = report(runs / "rich", "--out", tmp_path, "--judge", "nobody")
    assert status == 2
    assert f"no judge 'nobody'; there are {names[0]}, {names[1]}" in err


def test_a_run_without_labels_and_judges_says_what_it_can(report: Report, tmp_path: Path) -> None:
    run = write_run(tmp_path / "bare", [pi_serini("1", surfaced=["a"]), pi_serini("2", None)])
    (run / "3.json").write_text("{")
    status, said, err = report(run)
    assert status == 0
    assert "3.json: cannot be read, and is in no figure" in err
    assert "bare" in said
    text = (run / "report.md").read_text()
    assert "1 file(s) could not be read" in text
    assert "| timeout   |" in text
    assert "Recall by layer" not in text
    Page((run / "report.html").read_text())
    assert report(run)[0] == 0  # its own files are no questions


def test_by_difficulty(runs: Path, report: Report, tmp_path: Path) -> None:
    report(runs / "plain", "--evidence", runs / "evidence.qrels", "--out", tmp_path / "first")
    plain = tmp_path / "first" / "surfaced" / "plain.trec"
    arguments = ("--evidence", runs / "evidence.qrels", "--out", tmp_path, "--baseline-run", plain)
    assert report(runs / "rich", *arguments)[0] == 0
    text = (tmp_path / "report.md").read_text()
    assert "By difficulty and number of labels" in text
    assert "| high_large " in text
    assert "give --evidence FILE" in report(runs / "rich", "--out", tmp_path, "--baseline-run", plain)[2]


def test_missing_questions_count_as_not_answered(report: Report, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [trajectory("q1", surfaced=["a"]), trajectory("q7")])
    (tmp_path / "questions.tsv").write_text("q1\tone\nq2\ttwo\n")
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    _, said, _ = report(run, "--questions", tmp_path / "questions.tsv", "--evidence", tmp_path / "qrels.txt", "--json")
    assert json.loads(said)["runs"][0]["recall"]["evidence"]["surfaced"]["macro"] == 0.5
    text = (run / "report.md").read_text()
    assert "1 question(s) have no file in the run and count as not answered: q2." in text
    assert "1 question(s) of the run were not asked for, left out: q7." in text


def test_zero_labels_and_the_manifest(report: Report, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [trajectory("q1", surfaced=["a"]), trajectory("q2")])
    (run / "qrels.txt").write_text("q1 0 a 1\n")
    (run / "benchmark_manifest_snapshot.json").write_text('{"qrels_path": "qrels.txt"}')
    _, said, err = report(run, "--json")
    assert "qrels.txt, as the manifest of run says" in err
    assert json.loads(said)["runs"][0]["recall"]["evidence"]["surfaced"]["macro"] == 1.0
    _, said, _ = report(run, "--json", "--zero-labels", "pi-serini")
    assert json.loads(said)["runs"][0]["recall"]["evidence"]["surfaced"]["macro"] == 0.5
    assert "A question without a label counts as 0" in (run / "report.md").read_text()


def test_what_is_refused(runs: Path, report: Report, tmp_path: Path) -> None:
    assert "several runs: give --out DIR" in report(runs / "plain", runs / "rich")[2]
    assert "is given twice" in report(runs / "plain", runs / "plain", "--out", tmp_path)[2]
    assert "is no folder" in report(tmp_path / "none")[2]
    (tmp_path / "report.md").write_text("# A report of another tool\n")
    status, _, err = report(runs / "plain", "--out", tmp_path)
    assert status == 2
    assert "was not written by sira and is not overwritten" in err
    assert (tmp_path / "report.md").read_text() == "# A report of another tool\n"


def test_texts_of_others_do_nothing_in_the_page(report: Report, tmp_path: Path) -> None:
    row = trajectory("q<script>", query="<script>alert(1)</script> \x1b[31m | x", surfaced=["<b>"], cited=["<b>"])
    run = write_run(tmp_path / "run", [row])
    (tmp_path / "qrels.txt").write_text("q<script> 0 <b> 1\n")
    assert report(run, "--evidence", tmp_path / "qrels.txt")[0] == 0
    text = (run / "report.html").read_text()
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "\x1b" not in text + (run / "report.md").read_text()


def test_half_a_surrogate_pair_stops_nothing(report: Report, tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "run", [trajectory("q1", surfaced=["a\ud800", "b"], query="why \ud83d"), trajectory("\udc00")]
    )
    (tmp_path / "qrels.txt").write_text("q1 0 b 1\n")
    status, _, err = report(run, "--evidence", tmp_path / "qrels.txt")
    assert status == 0, err
    assert "the TREC run lacks ids" in err
    assert read_run(run / "surfaced" / "run.trec").rankings["q1"].docids == ("b",)
    assert "\\ud83d" in (run / "report.html").read_text()


def test_the_manifest_says_how_labels_count_and_an_option_says_otherwise(report: Report, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [trajectory("q1", surfaced=["a", "b"])])
    write_qrels(tmp_path / "graded.qrels", {"q1": {"a": 1, "b": 2}})
    labels = ("--evidence", tmp_path / "graded.qrels", "--json")

    def settings(*more: object) -> tuple[int, str, int]:
        _, out, _ = report(run, *labels, *more)
        figures = json.loads(out)
        return (*(figures["settings"][name] for name in ("level", "gain")),
                figures["runs"][0]["recall"]["evidence"]["surfaced"]["labels"])  # fmt: skip

    assert settings() == (1, "exponential", 2)
    manifest = {"metric_semantics": {"gain": "linear", "recall_level": 2}}
    (run / "benchmark_manifest_snapshot.json").write_text(json.dumps(manifest))
    assert settings() == (2, "linear", 1)
    assert settings("--level", 1, "--gain", "exponential") == (1, "exponential", 2)
    for odd in ({"gain": "big", "recall_level": 0}, {"recall_level": True}, ["linear"]):
        (run / "benchmark_manifest_snapshot.json").write_text(json.dumps({"metric_semantics": odd}))
        assert settings() == (1, "exponential", 2)
