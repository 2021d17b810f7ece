"""Runs of many questions: resume, retries, one owner, merging and importing."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agent_kills import compare_runs
from sira.agent.base import StopReason
from sira.agent.loop import run_episode
from sira.agent.loop_settings import Sink
from sira.agent.questions import check_questions, chosen, read_questions, shard
from sira.agent.run_folder import RunFolder, differences, file_name, questions_facts
from sira.agent.runs import RunOptions, run_questions
from sira.agent.runs_import import import_run
from sira.agent.runs_merge import merge_runs
from sira.agent.trajectory import Recorder, Trajectory
from sira.errors import EnvironmentFault, InputError
from sira.llm.base import Finish, Reply, Request
from sira.records import Topic

from .scripted import FINAL, ScriptedModel, ScriptedTools, call, calls, read, says, settings

QUESTIONS = [Topic(f"q{number}", f"what is {number}?") for number in range(6)]


class Job:
    """Episodes of a scripted model; `begun` are the qids and what was added to the seed, in order."""

    def __init__(self, model: Callable[[Topic], ScriptedModel] | None = None) -> None:
        self._model = model or (lambda question: ScriptedModel(calls(call("search", query="q")), says(FINAL)))
        self.begun: list[tuple[str, int]] = []

    def __call__(self, question: Topic, seed: int, sink: Sink, cancelled: Callable[[], bool]) -> Trajectory:
        self.begun.append((question.qid, seed))
        return run_episode(question, ScriptedTools(), self._model(question), settings(), sink=sink, cancelled=cancelled)


def begun(folder: Path, **changes: Any) -> RunFolder:
    folder.mkdir(exist_ok=True)
    made = RunFolder(folder)
    given = {"model": {"model": "scripted"}, "budget": {"time_s": 300.0, "turns": None}, **changes}
    made.begin({"sira": "0", "questions": questions_facts(QUESTIONS), "settings": given})
    return made


# Running


def test_finished_questions_are_kept_and_the_others_begun_anew(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    job = Job()
    report = run_questions(QUESTIONS[:3], job, folder, RunOptions(concurrency=2))
    assert (dict(report.stops), report.kept, report.tokens) == ({"answered": 3}, 0, 660)
    running = read(folder.file_of("q1"))
    (folder.path / "q1.json").write_text(json.dumps({**running, "status": "running", "stop_reason": None}))
    (folder.path / "q2.json").write_text('{"torn')
    left = folder.path / ".q9.json.123.tmp"
    left.write_text("x")
    begun(tmp_path / "run")
    assert not left.exists()
    job = Job()
    report = run_questions(QUESTIONS, job, folder, RunOptions(concurrency=1))
    assert [qid for qid, _ in job.begun] == ["q1", "q2", "q3", "q4", "q5"]
    assert (dict(report.stops), report.kept) == ({"answered": 6}, 1)
    assert sorted(path.name for path in folder.files()) == [f"q{number}.json" for number in range(6)]


def test_questions_are_worked_on_at_once(tmp_path: Path) -> None:
    together = threading.Barrier(6, timeout=30)

    def meet(question: Topic) -> ScriptedModel:
        def wait(request: Request) -> Reply:
            together.wait()
            return says(FINAL)

        return ScriptedModel(wait)

    report = run_questions(QUESTIONS, Job(meet), begun(tmp_path / "run"), RunOptions(concurrency=6))
    assert dict(report.stops) == {"answered": 6}


def test_which_ends_are_begun_anew_is_an_option(tmp_path: Path) -> None:
    ends = {"q0": says("", Finish.ERROR), "q1": says("cut", Finish.LENGTH), "q2": says("no", Finish.REFUSED)}

    def model(question: Topic) -> ScriptedModel:
        return ScriptedModel(ends.get(question.qid, says(FINAL)))

    folder, job = begun(tmp_path / "run"), Job(model)
    report = run_questions(QUESTIONS[:4], job, folder, RunOptions(concurrency=1))
    assert job.begun == [("q0", 0), ("q1", 0), ("q2", 0), ("q3", 0), ("q0", 0)]
    assert (dict(report.stops), report.retried) == ({"truncated": 1, "refused": 1, "answered": 1, "error": 1}, 1)
    job = Job(model)
    retry = frozenset({StopReason.TRUNCATED, StopReason.ERROR})
    run_questions(QUESTIONS[:4], job, folder, RunOptions(1, attempts=3, retry=retry))
    # the cache would give a cut reply again, so that the seed moves; after an error the conversation goes on from it
    assert job.begun == [("q0", 0), ("q1", 0), ("q0", 0), ("q1", 1), ("q0", 0), ("q1", 2)]
    with pytest.raises(InputError, match="an answered question is not asked again"):
        RunOptions(retry=frozenset({StopReason.ANSWERED}))
    with pytest.raises(InputError, match="concurrency = 0: give 1 or more"):
        RunOptions(0)


def test_an_endpoint_that_is_gone_ends_the_run_and_keeps_what_was_finished(tmp_path: Path) -> None:
    def model(question: Topic) -> ScriptedModel:
        return ScriptedModel(EnvironmentFault("the key is refused") if question.qid == "q2" else says(FINAL))

    folder, job = begun(tmp_path / "run"), Job(model)
    with pytest.raises(EnvironmentFault, match="the key is refused"):
        run_questions(QUESTIONS, job, folder, RunOptions(concurrency=1))
    assert [qid for qid, _ in job.begun] == ["q0", "q1", "q2"]
    assert [read(path)["stop_reason"] for path in folder.files()] == ["answered", "answered", "error"]
    job = Job()
    run_questions(QUESTIONS, job, folder, RunOptions(concurrency=1))
    assert [qid for qid, _ in job.begun] == ["q2", "q3", "q4", "q5"]


def test_a_full_disk_ends_the_run_with_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = begun(tmp_path / "run")

    def full(qid: str) -> Sink:
        def write(recorder: object) -> None:
            raise OSError(28, "No space left on device")

        return write

    monkeypatch.setattr(folder, "sink", full)
    with pytest.raises(OSError, match="No space left"):
        run_questions(QUESTIONS, Job(), folder, RunOptions())


# The folder


def test_changed_settings_refuse_to_go_on_and_say_what_changed(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    begun(tmp_path / "run")
    with pytest.raises(InputError) as caught:
        begun(tmp_path / "run", budget={"time_s": 60.0, "turns": 9}, model={"model": "other"})
    assert str(caught.value) == (
        f"{tmp_path / 'run'}: this run was begun with other settings: "
        'model.model was "scripted", is "other"; budget.time_s was 300.0, is 60.0; budget.turns was null, is 9. '
        "Give the same ones to go on, or another folder for a new run"
    )
    assert read(tmp_path / "run" / "run.json")["settings"]["budget"]["time_s"] == 300.0
    assert differences({"a": [1]}, {"a": [2], "b": 1}) == ["a was [1], is [2]", "b was null, is 1"]


def test_a_folder_of_other_files_and_a_question_of_another_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match=r"holds JSON files, but no run\.json"):
        begun(tmp_path)
    folder = begun(tmp_path / "run")
    run_questions(QUESTIONS[:1], Job(), folder, RunOptions())
    with pytest.raises(InputError, match=r"q0\.json: is the trajectory of another question than 'q0'") as refused:
        run_questions([Topic("q0", "who?")], Job(), folder, RunOptions())
    assert not any(text in str(refused.value) for text in ("what is 0?", "who?"))  # questions may be private
    (tmp_path / "run" / "run.json").write_text("[]")
    with pytest.raises(InputError, match=r"run\.json: is no manifest"):
        begun(tmp_path / "run")


@pytest.mark.parametrize(
    "qid", ["a/b", "..", ".hidden", "run", "Run", "é", "", "a b", "x" * 200, "q-a_b-" + "0" * 16, "a\n"]
)
def test_unsafe_qids_have_names_of_their_own(qid: str, tmp_path: Path) -> None:
    name = file_name(qid)
    assert name.startswith("q-")
    assert (tmp_path / name).parent == tmp_path
    assert name.isascii()
    assert len(name) < 100
    assert file_name("q1.2_b-C") == "q1.2_b-C.json"
    assert len({file_name(one) for one in ("a/b", "a?b", "a b", "a_b")}) == 4


# Questions


def test_questions_are_read_and_chosen(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"query_id": "1", "query": "who?"}\n{"query_id": "2", "query": "when?"}\n')
    questions = read_questions(path)
    assert questions == [Topic("1", "who?"), Topic("2", "when?")]
    assert chosen(questions, ["2"], "file") == questions[1:]
    assert chosen(questions, [], "file") == questions
    with pytest.raises(InputError, match="file: there is no question '3' among its 2"):
        chosen(questions, ["3"], "file")
    assert [shard(QUESTIONS, at, 4) for at in (1, 3)] == [[QUESTIONS[0], QUESTIONS[4]], [QUESTIONS[2]]]
    with pytest.raises(InputError, match="shard 5/4"):
        shard(QUESTIONS, 5, 4)
    with pytest.raises(InputError, match="'1' stands twice"):
        check_questions([*questions, questions[0]], "file")
    with pytest.raises(InputError, match="'x' has no text"):
        check_questions([Topic("x", " ")], "file")
    path.write_text("\n")
    with pytest.raises(InputError, match="no topic in this file"):
        read_questions(path)


# Merging


def shards(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "one", tmp_path / "two"]
    for at, path in enumerate(paths):
        run_questions(QUESTIONS[at::2], Job(), begun(path), RunOptions(concurrency=1))
    return paths


def test_shards_become_one_run_with_a_manifest_of_its_own(tmp_path: Path) -> None:
    one, two = shards(tmp_path)
    (two / "q0.json").write_bytes((one / "q0.json").read_bytes())  # an equal duplicate
    unfinished = {**read(one / "q2.json"), "status": "running", "stop_reason": None}
    (one / "q2.json").write_text(json.dumps(unfinished))
    (two / "figures.json").write_text('{"accuracy": 1}')
    report = merge_runs([one, two], tmp_path / "all")
    assert (report.trajectories, report.duplicates, report.unfinished) == (5, 1, 1)
    assert not (tmp_path / "all" / "figures.json").exists()
    manifest = read(tmp_path / "all" / "run.json")
    assert manifest["questions"]["count"] == 5
    assert manifest["settings"] == read(one / "run.json")["settings"]
    assert [part["name"] for part in manifest["merged"]] == ["one", "two"]
    assert (tmp_path / "all" / "q1.json").read_bytes() == (two / "q1.json").read_bytes()
    with pytest.raises(InputError, match="add --overwrite"):
        merge_runs([one, two], tmp_path / "all")
    assert merge_runs([one, two], tmp_path / "all", overwrite=True).trajectories == 5


def test_conflicts_of_shards_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    one, two = shards(tmp_path)
    (two / "q0.json").write_text(json.dumps({**read(one / "q0.json"), "errors": ["x"]}))
    with pytest.raises(InputError, match=f"the question 'q0' has another trajectory in {one}"):
        merge_runs([one, two], tmp_path / "all")
    assert not (tmp_path / "all").exists()
    other = read(two / "run.json")
    other["settings"]["budget"]["time_s"] = 1
    (two / "run.json").write_text(json.dumps(other))
    with pytest.raises(InputError, match=r"other settings than .*: budget\.time_s was 300\.0, is 1"):
        merge_runs([one, two], tmp_path / "all")
    with pytest.raises(InputError, match=r"holds no run\.json"):
        merge_runs([tmp_path / "absent"], tmp_path / "all")


# Importing


def record(qid: object, *outputs: list[dict[str, Any]], status: str = "completed", **fields: Any) -> dict[str, Any]:
    """As BrowseComp-Plus releases them."""
    steps: list[dict[str, Any]] = [
        {"type": "tool_call", "tool_name": "search", "arguments": '{"query": "q"}', "output": json.dumps(output)}
        for output in outputs
    ]
    final = {
        "type": "output_text",
        "tool_name": None,
        "arguments": None,
        "output": "Explanation: x [d2]\nExact Answer: y\nConfidence: 9%",
    }
    return {
        "query_id": qid,
        "status": status,
        "tool_call_counts": {"search": len(outputs)},
        "result": [*steps, final],
        **fields,
    }


def hit(docid: object) -> dict[str, Any]:
    return {"docid": docid, "score": 1.0, "snippet": "..."}


def test_a_released_run_becomes_a_run_folder(tmp_path: Path) -> None:
    source = tmp_path / "run.jsonl"
    usage = {"input_tokens": 5, "input_tokens_cached": 0, "output_tokens": 2, "total_tokens": 7}
    rows = [
        record(10, [hit("d2"), hit("d1")], [hit("d1"), hit("d3"), hit(10)], usage=usage, metadata={"model": "m"}),
        record("11", status="incomplete: max_output_tokens"),
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    large, small = tmp_path / "qfull.tsv", tmp_path / "q3.tsv"
    large.write_text("".join(f"{number}\tquestion {number}\n" for number in range(30)))
    small.write_text("10\tquestion 10\n11\tquestion 11\n12\tquestion 12\n")
    report = import_run(source, tmp_path / "run", [large, small])
    assert (report.trajectories, report.query_set) == (2, "q3")
    data = read(tmp_path / "run" / "10.json")
    assert data["query_id"] == "10"
    assert data["surfaced_docids"] == data["previewed_docids"] == ["d2", "d1", "d3", "10"]
    assert (data["status"], data["stop_reason"], data["completion_source"]) == (
        "completed",
        "answered",
        "assistant_text",
    )
    assert (data["cited_docids"], data["usage"]) == (["d2"], usage)
    assert data["metadata"] == {"query": "question 10", "model": "m", "query_set_id": "q3"}
    assert data["answer"]["exact_answer"] == "y"
    cut = read(tmp_path / "run" / "11.json")
    assert (cut["status"], cut["stop_reason"], cut["answer"]) == ("failed", "tokens", None)
    assert read(tmp_path / "run" / "run.json")["query_set_id"] == "q3"


def test_a_folder_of_files_and_documents_read(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    one = record("1", [hit("d1")])
    read_call = {
        "type": "tool_call",
        "tool_name": "get_document",
        "arguments": "{}",
        "output": '{"docid": "d7", "text": "t"}',
    }
    one["result"].insert(1, read_call)
    (folder / "run_1.json").write_text(json.dumps(one))
    (folder / "summary.json").write_text('{"accuracy": 1}')
    assert import_run(folder, tmp_path / "run").trajectories == 1
    data = read(tmp_path / "run" / "1.json")
    assert (data["surfaced_docids"], data["opened_docids"]) == (["d1"], ["d7"])
    assert (data["stats"]["search_calls"], data["stats"]["read_document_calls"]) == (1, 1)


def test_pi_serinis_own_files_keep_what_they_tell(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    told = {
        "query_id": "7", "status": "timeout", "metadata": {"query": "who?", "model": "m"},
        "tool_call_counts": {"search": 1}, "surfaced_docids": ["d1", "d2"], "previewed_docids": ["d1"],
        "opened_docids": ["d2"], "stats": {"elapsed_seconds": 300.1, "timed_out": True},
        "result": [
            {"type": "tool_call", "tool_name": "search", "arguments": {}, "output": "Showing ranks 1-5 docid=d9"},
            {"type": "output_text", "output": "pi stderr: x"},
        ],
    }  # fmt: skip
    (folder / "7.json").write_text(json.dumps(told))
    import_run(folder, tmp_path / "run")
    data = read(tmp_path / "run" / "7.json")
    kept = ("status", "surfaced_docids", "previewed_docids", "opened_docids", "stats", "tool_call_counts", "result")
    assert {name: data[name] for name in kept} == {name: told[name] for name in kept}
    assert (data["stop_reason"], data["answer"], data["agent_docids"]) == ("time", None, ["d2"])


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([record(1), record("1")], r"run.jsonl, line 2: the question '1' stands twice \(also in run.jsonl, line 1\)"),
        ([{"status": "completed"}], "line 1: has no query_id"),
        ([{"query_id": "1"}], "line 1: has no list `result`"),
        ([], "holds no record of a run"),
        ([record("99")], "no question set holds all questions: '99' is not in set, the largest"),
    ],
)
def test_what_cannot_be_imported_leaves_nothing(rows: list[dict[str, Any]], fault: str, tmp_path: Path) -> None:
    source, questions = tmp_path / "run.jsonl", tmp_path / "set.tsv"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    questions.write_text("1\tone\n")
    with pytest.raises(InputError, match=fault):
        import_run(source, tmp_path / "run", [questions])
    assert not (tmp_path / "run").exists()


@pytest.mark.java
@pytest.mark.slow
def test_a_run_killed_at_random_equals_an_undisturbed_one(tmp_path: Path) -> None:
    outcome = compare_runs(tmp_path, questions=40, kills=3)
    assert (outcome.differing, outcome.torn, outcome.kills) == ([], [], 3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="wants /dev/full")
def test_a_disk_that_is_full_names_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    run_questions(QUESTIONS[:1], Job(), folder, RunOptions())
    before = read(folder.file_of("q0"))
    sink = folder.sink("q0")
    (folder.path / f".q0.json.{os.getpid()}.tmp").symlink_to("/dev/full")
    recorder = Recorder(QUESTIONS[0], {}, {})
    with pytest.raises(OSError, match="No space left") as full:
        sink(recorder)
    assert full.value.filename == str(folder.file_of("q0"))
    assert read(folder.file_of("q0")) == before
    assert [path.name for path in folder.path.iterdir() if path.name.endswith(".tmp")] == []
