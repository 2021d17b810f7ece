"""Pi-Serini's behaviour in evaluation, case by case (40 to 50, 53, 56), and where ours is another on purpose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sira.agent.answer import parse_answer
from sira.agent.citations import cited_docids
from sira.errors import InputError
from sira.evaluate.agents.accuracy import accuracy
from sira.evaluate.agents.calibration import Stated, calibration_error
from sira.evaluate.agents.citations import citation_quality
from sira.evaluate.agents.evaluation import EvaluateSettings, evaluate_run
from sira.evaluate.agents.judge_prompt import prompt_digest
from sira.evaluate.agents.judging import judge_run
from sira.evaluate.agents.judgments import Judge, Judged, read_judged, response_hash, write_manifest, write_verdict
from sira.evaluate.agents.prefix import prefix_metrics, surfaced_run
from sira.evaluate.agents.reading import read_agent_run
from sira.evaluate.agents.reporting.content import content_of, markdown
from sira.evaluate.agents.strata import difficulty, size, strata
from sira.evaluate.agents.verdicts import Said, Unjudged, Verdict, parse_verdict
from sira.llm.settings import ModelSettings
from sira.records import Ranking, Run
from tests.evaluate.agents.run_folders import final, pi_serini, trajectory, write_run

MODEL = ModelSettings(backend="openai", model="judge-model", temperature=0)  # pyright: ignore[reportCallIssue]
QRELS = {"q": {"a": 1, "b": 2}}
AB = Run("x", {"q": Ranking(("a", "b"), (2.0, 1.0))})


def judged(folder: Path, answers: dict[str, bool | None], mode: str = "gold") -> Judged:
    """Verdicts on the answers of a run, None: unparsable."""
    judge = Judge.of(mode, {"model": "judge-model"}, MODEL)  # pyright: ignore[reportArgumentType]
    place = folder / "judgments" / judge.name
    write_manifest(place, judge, {})
    run = read_agent_run(folder)
    for qid, correct in answers.items():
        reason = Unjudged.UNPARSABLE if correct is None else None
        response = response_hash(run.episodes[qid].answer)
        write_verdict(place, Verdict(qid, correct, reason, confidence=100, asked="x", response=response))
    return read_judged(place)


def test_case_40_gain_of_ndcg() -> None:
    assert prefix_metrics(AB, QRELS, ["nDCG@2"])["nDCG@2"]["q"] == pytest.approx(0.7967, abs=5e-5)
    assert prefix_metrics(AB, QRELS, ["nDCG@2"], gain="linear")["nDCG@2"]["q"] == pytest.approx(0.8597, abs=5e-5)


def test_case_41_threshold_of_recall_alone() -> None:
    names = ["Recall@1", "Recall@2", "MRR@10", "MAP"]
    plain = {name: values["q"] for name, values in prefix_metrics(AB, QRELS, names).items()}
    assert plain == {"Recall@1": 0.5, "Recall@2": 1.0, "MRR@10": 1.0, "MAP": 1.0}
    strict = {name: values["q"] for name, values in prefix_metrics(AB, QRELS, names, recall_level=2).items()}
    assert strict == {"Recall@1": 0.0, "Recall@2": 1.0, "MRR@10": 1.0, "MAP": 1.0}


def test_case_42_buckets() -> None:
    assert strata(AB, QRELS, cutoff=1) == {"q": "medium_small"}
    assert strata(AB, QRELS, cutoff=1, level=2) == {"q": "zero_small"}
    assert [difficulty(value) for value in (0, 0.1, 0.11, 0.25, 0.5, 0.51, 1)] == [
        "zero", "tiny", "low", "low", "medium", "high", "high",
    ]  # fmt: skip
    assert (size(5), size(6)) == ("small", "large")


def test_case_43_the_last_confidence_line_and_100_where_there_is_none(tmp_path: Path) -> None:
    assert parse_answer("Confidence: 72%").confidence == 72
    assert parse_answer("no line").confidence is None
    assert parse_answer("Confidence: 10%\n**Confidence:** 30").confidence == 30
    rows = [trajectory(f"q{n}", confidence=None if n < 50 else 100) for n in range(100)]
    run = read_agent_run(write_run(tmp_path, rows))
    found = accuracy(run.episodes.values(), judged(tmp_path, dict.fromkeys(run.episodes, True)))
    assert found.stating == 50
    assert found.calibration["pi-serini"] == 0  # the silent half counts as 100


def test_case_44_the_last_bin() -> None:
    answers = [Stated(100, number < 100) for number in range(150)]
    assert calibration_error(answers, "pi-serini") == pytest.approx(57.735026918962575, abs=1e-12)
    assert calibration_error(answers, "hle") == 0
    # Two bins, of 100 and of 150 answers; the second, more confident one is not looked at by `hle`.
    more = [Stated(50, number % 2 == 0) for number in range(100)] + [Stated(90, False) for _ in range(150)]
    assert calibration_error(more, "hle") == 0
    assert calibration_error(more, "pi-serini") == pytest.approx(100 * (150 / 250 * 0.81) ** 0.5)


def test_case_45_fewer_than_100_answers_say_nothing() -> None:
    answers = [Stated(100, False)] * 99
    assert calibration_error(answers, "pi-serini") is None
    assert calibration_error(answers, "hle") is None
    with pytest.raises(InputError, match="choose pi-serini or hle"):
        calibration_error(answers, "ece")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"correct": true, "reasoning": "same", "confidence": 85}\n```',
        'Sure: {"correct": true, "reasoning": "same", "confidence": 85} - done.',
        '{"correct": "yes", "reasoning": "same", "confidence": "85%", "correct_answer": "Oslo"}',
    ],
)
def test_case_46_forms_of_a_verdict(text: str) -> None:
    said = parse_verdict(text)
    assert isinstance(said, Said)
    assert (said.correct, said.confidence, said.reasoning) == (True, 85, "same")


@pytest.mark.parametrize(
    "text", ["", "[]", '[{"correct": true, "reasoning": 1}]', '{"correct": true, "confidence": 85}']
)
def test_case_46_what_is_no_verdict(text: str, tmp_path: Path) -> None:
    """Ours differs: Pi-Serini counts the `correct` of a reply that it could not parse; here it is unjudged."""
    assert parse_verdict(text) is Unjudged.UNPARSABLE
    run = read_agent_run(write_run(tmp_path, [trajectory("q1"), trajectory("q2")]))
    found = accuracy(run.episodes.values(), judged(tmp_path, {"q1": None, "q2": True}))
    assert (found.over_all, found.over_completed, found.bounds) == (1.0, 1.0, (0.5, 1.0))


def test_reported_fault_braces_behind_a_verdict() -> None:
    said = parse_verdict(
        '{"correct":"yes","reasoning":"same place","confidence":"80%","correct_answer":"Oslo"} Note {see log}'
    )
    assert isinstance(said, Said)
    assert (said.correct, said.confidence) == (True, 80)


def test_reported_fault_lines_in_which_a_reason_says_no() -> None:
    said = parse_verdict("reasoning: parts that are incorrect: no\ncorrect: yes")
    assert isinstance(said, Said)
    assert said.correct is True


def test_case_47_citations(tmp_path: Path) -> None:
    assert cited_docids("[12, 34] 【56】 [x]") == ("12", "34", "56")
    # Ours also cites docids of any form; what is in the files decides here.
    row = trajectory("q1", surfaced=["d-77", "12"], opened=["d-77"], cited=["d-77", "12"])
    found = citation_quality(read_agent_run(write_run(tmp_path, [row])).episodes.values(), {"q1": {"d-77": 1}})
    assert (found.precision, found.recall, found.unopened) == (0.5, 1.0, 1)


def test_case_48_gold_needs_answers_and_reference_free_says_so(tmp_path: Path) -> None:
    run = read_agent_run(write_run(tmp_path, [trajectory("q1")]))
    judge = Judge.of("gold", {"model": "m"}, MODEL)
    with pytest.raises(InputError, match="give --answers FILE, or --mode reference-free"):
        judge_run(run.episodes.values(), judge, None, None, tmp_path)  # pyright: ignore[reportArgumentType]
    free = judged(tmp_path, {"q1": True}, "reference-free")
    assert free.mode == "reference-free"
    assert "reference-free judge" in free.label
    assert prompt_digest("gold") != prompt_digest("reference-free")
    text = markdown(content_of([evaluate_run(run, {}, [free])], [], [{}], []))
    assert "reference-free; no known answer was compared" in text


def test_case_50_a_merged_folder_stands_for_its_run(tmp_path: Path) -> None:
    write_run(tmp_path / "run" / "merged", [trajectory("q1")])
    (tmp_path / "run" / "run_setup.json").write_text("{}")
    run = read_agent_run(tmp_path / "run")
    assert (run.name, run.folder.name, list(run.episodes)) == ("run", "merged", ["q1"])


def test_case_53_recall_is_shown_in_per_cent(tmp_path: Path) -> None:
    run = read_agent_run(write_run(tmp_path, [trajectory("q1", surfaced=["a", "x", "y"])]))
    found = evaluate_run(run, {"evidence": {"q1": {"a": 1, "b": 1, "c": 1}}}, settings=EvaluateSettings())
    assert "33.3% [33.3, 33.3]" in markdown(content_of([found], [], [{}], []))


def test_case_56_manifests_beside_judgments_and_runs_are_no_questions(tmp_path: Path) -> None:
    write_run(tmp_path, [pi_serini("25")])
    found = judged(tmp_path, {"25": True})
    assert list(found.verdicts) == ["25"]
    assert list(read_agent_run(tmp_path).episodes) == ["25"]


def test_docids_and_qids_that_are_no_numbers_count(tmp_path: Path) -> None:
    """Ours differs: Pi-Serini finds only files named by digits, and only digits as citations."""
    row = trajectory("q-ü/1", surfaced=["doc/a b", "d2"], cited=["doc/a b"])
    run = read_agent_run(write_run(tmp_path, [row]))
    found = evaluate_run(run, {"evidence": {"q-ü/1": {"doc/a b": 1}}}, [judged(tmp_path, {"q-ü/1": True})])
    assert found.labels["evidence"].recall["cited"].macro == 1
    assert found.judge is not None
    assert found.judge.over_all == 1


def test_an_answer_in_time_counts_and_one_after_it_does_not(tmp_path: Path) -> None:
    """A timed-out question is not judged and counts as wrong, as in Pi-Serini, whatever text its file ends with."""
    late: dict[str, Any] = pi_serini("30") | {"status": "timeout"}
    assert late["result"][-1]["output"] == final("Oslo")
    run = read_agent_run(write_run(tmp_path, [pi_serini("25"), late]))
    found = accuracy(run.episodes.values(), judged(tmp_path, {"25": True}))
    assert (found.questions, found.answered, found.judged) == (2, 1, 1)
    assert (found.over_all, found.over_completed) == (0.5, 1.0)


def test_the_sums_of_layers_come_from_the_docid_lists_of_the_files(tmp_path: Path) -> None:
    """Case 31's file: a citation of a document by its number is behaviour beside what was opened."""
    row = pi_serini("1", surfaced=["d1", "d2"], previewed=["d1", "d2"], opened=["d2"], cited=["2"])
    run = read_agent_run(write_run(tmp_path, [row]))
    assert run.episodes["1"].docids("behaviour") == ("d2", "2")
    assert surfaced_run(run.episodes.values(), "pi-serini").rankings["1"].scores == (2.0, 1.0)
    assert json.loads((tmp_path / "1.json").read_text())["agent_docids"]
