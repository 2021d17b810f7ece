"""Pi-Serini's conformance cases 30 to 39: what becomes of the steps of a question, and of the files of a run.

Where ours is another on purpose, the test says so: a time that is no number above 0 is refused (Pi-Serini: no notice to
answer, and so no bound), an answer that came before the end counts, prompts are in the manifest and no variable of the
environment decides about it, and unfinished questions are begun anew.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks._agent_servers import PlayedServer, played
from sira.agent.base import StopReason, ToolResult
from sira.agent.budget import Limits
from sira.agent.loop import run_episode
from sira.agent.loop_settings import Sink
from sira.agent.prompting import BLOCKED
from sira.agent.run_folder import RunFolder, questions_facts
from sira.agent.runs import RunOptions, run_questions
from sira.agent.runs_import import import_run
from sira.agent.runs_merge import merge_runs
from sira.agent.trajectory import Trajectory
from sira.errors import InputError
from sira.llm.base import Reply, Request
from sira.llm.endpoint import EndpointGenerator
from sira.llm.settings import ModelSettings
from sira.records import Topic
from tests.agent.scripted import (
    FINAL,
    ManualClock,
    ScriptedModel,
    ScriptedTools,
    call,
    calls,
    read,
    says,
    settings,
    steps,
)

QUESTION = Topic("1", "who?")


class WithDetails(ScriptedTools):
    """Tools whose searches have these details."""

    def __init__(self, details: dict[str, Any]) -> None:
        super().__init__()
        self._details = details

    def call(self, name: str, arguments: str) -> ToolResult:
        found = super().call(name, arguments)
        return ToolResult("see d7", self._details) if name == "search" else found


def test_30_a_list_with_anything_but_docids_counts_as_none_and_prose_is_not_read() -> None:
    tools = WithDetails({"retrievedDocids": ["d1", 42], "previewedDocids": ["d1", 42]})
    done = run_episode(QUESTION, tools, ScriptedModel(calls(call("search", query="q")), says("no")), settings())
    assert (done.data["surfaced_docids"], done.data["previewed_docids"]) == ([], [])


def test_31_the_layers_of_one_question() -> None:
    tools = WithDetails({"retrievedDocids": ["d1", "d2"]})
    model = ScriptedModel(
        calls(call("search", query="q")), calls(call("read_document", docid="d2")), says("It is [2].")
    )
    data = run_episode(QUESTION, tools, model, settings()).data
    assert data["surfaced_docids"] == data["previewed_docids"] == ["d1", "d2"]
    assert (data["opened_docids"], data["cited_docids"], data["agent_docids"]) == (["d2"], ["2"], ["d2", "2"])
    assert data["citations"]["unknown"] == ["2"]  # ours tells that no tool named it


def test_31_ours_does_not_count_a_failed_read_as_opened() -> None:
    model = ScriptedModel(calls(call("read_document", docid="absent")), says("no"))
    assert run_episode(QUESTION, ScriptedTools(), model, settings()).data["opened_docids"] == []


def test_32_a_tool_fails_and_the_question_is_completed() -> None:
    model = ScriptedModel(calls(call("read_document", docid="absent")), calls(call("search", query="q")), says(FINAL))
    data = run_episode(QUESTION, ScriptedTools(), model, settings()).data
    assert (data["status"], data["stats"]["pi_search_failures"]) == ("completed", 1)
    (failure,) = steps(data, "failure")
    assert failure == {
        "type": "failure", "tool_name": "read_document", "failure": "tool_execution_failed",
        "output": "docid 'absent' was not found",
    }  # fmt: skip


class TornServer(PlayedServer):
    """Breaks off in the middle of the reply that follows the second output of a tool, for the question of `torn`."""

    def post(self, handler: Any, body: dict[str, Any]) -> None:
        reply = json.dumps(played(body["messages"])).encode()
        if "torn" in str(body["messages"]) and sum(turn["role"] == "tool" for turn in body["messages"]) >= 1:
            reply = reply[: len(reply) // 2]
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(reply)))
        handler.end_headers()
        handler.wfile.write(reply)


def test_33_a_torn_reply_fails_its_question_keeps_what_it_saw_and_the_run_goes_on(tmp_path: Path) -> None:
    questions = [Topic("1", "which torn thing?"), Topic("2", "which whole thing?")]
    folder = RunFolder(tmp_path)
    folder.begin({"settings": {}})
    with TornServer() as server:
        model = {"backend": "openai", "model": "played", "base_url": server.url, "max_retries": 0}
        generator = EndpointGenerator(ModelSettings.model_validate(model))

        def episode(question: Topic, seed: int, sink: Sink, cancelled: Callable[[], bool]) -> Trajectory:
            tools = WithDetails({"retrievedDocids": ["d1", "d2"]})
            return run_episode(question, tools, generator, settings(), sink=sink)

        report = run_questions(questions, episode, folder, RunOptions(1, attempts=1))
        generator.close()
    assert dict(report.stops) == {"error": 1, "answered": 1}
    torn = read(tmp_path / "1.json")
    assert (torn["status"], torn["surfaced_docids"]) == ("failed", ["d1", "d2"])
    assert torn["errors"] == ["the body of the reply is no JSON"]


class Seen:
    """A watcher that notes what it is told."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def kept(self, data: Any) -> None:
        self.said.append(("kept", data["query_id"]))

    def began(self, qid: str) -> None:
        self.said.append(("began", qid))

    def stepped(self, recorder: Any) -> None: ...

    def ended(self, data: Any) -> None:
        self.said.append(("ended", data["query_id"]))


def answering(question: Topic, seed: int, sink: Sink, cancelled: Callable[[], bool]) -> Trajectory:
    return run_episode(question, ScriptedTools(), ScriptedModel(says(FINAL)), settings(), sink=sink)


def test_34_a_finished_question_is_passed_over_and_counts(tmp_path: Path) -> None:
    questions = [QUESTION, Topic("2", "when?"), Topic("3", "where?")]
    folder = RunFolder(tmp_path)
    folder.begin({"settings": {}})
    run_questions(questions[:1], answering, folder, RunOptions(1))
    half = {**read(tmp_path / "1.json"), "query_id": "2", "status": "running", "stop_reason": None}
    half["metadata"] = {**half["metadata"], "query": "when?"}
    (tmp_path / "2.json").write_text(json.dumps(half))
    seen = Seen()
    run_questions(questions, answering, folder, RunOptions(1), seen)
    # Pi-Serini passes over any file; ours begins an unfinished question anew
    assert seen.said == [("kept", "1"), ("began", "2"), ("ended", "2"), ("began", "3"), ("ended", "3")]


def test_35_at_the_end_of_its_time_a_question_ends_whatever_hangs() -> None:
    release = threading.Event()

    def hang(request: Request) -> Reply:
        release.wait(30)
        return says(FINAL)

    begun = time.monotonic()
    model = ScriptedModel(calls(call("search", query="q")), hang)
    done = run_episode(QUESTION, ScriptedTools(), model, settings(Limits(0.4)))
    took = time.monotonic() - begun
    release.set()
    assert (done.status, done.stop_reason, done.data["stats"]["timed_out"]) == ("timeout", StopReason.TIME, True)
    assert done.data["surfaced_docids"] == ["d1", "d2"]
    assert took < 1.4  # Pi-Serini waits 5 s more, and then does not kill


def test_35_ours_takes_an_answer_that_came_before_the_end() -> None:
    clock = ManualClock()

    def late(request: Request) -> Reply:
        clock.advance(299)
        return says(FINAL)

    done = run_episode(QUESTION, ScriptedTools(), ScriptedModel(late), settings(Limits(300)), clock=clock)
    assert (done.status, done.data["completion_source"]) == ("completed", "assistant_text")


def test_36_the_notice_comes_at_210_of_300_seconds_and_the_next_question_is_free_again() -> None:
    clock = ManualClock()

    def searching(request: Request) -> Reply:
        clock.advance(70)
        return calls(call("search", query="q"))

    def episode() -> dict[str, Any]:
        model = ScriptedModel(*[searching] * 4, says(FINAL))
        return dict(run_episode(QUESTION, ScriptedTools(), model, settings(Limits(300)), clock=clock).data)

    for _ in range(2):
        data = episode()
        (notice,) = steps(data, "steer")
        assert notice["started_seconds"] == 210.0
        outputs = [step["output"] for step in steps(data, "tool_call")]
        assert [output == BLOCKED for output in outputs] == [False, False, True, True]


@pytest.mark.parametrize("time_s", [0, -1, float("nan"), "abc"])
def test_36_ours_refuses_a_time_that_is_none(time_s: Any) -> None:
    with pytest.raises(InputError, match=r"budget: time_s = .*: give a number of seconds above 0"):
        Limits(time_s)


def test_36_without_time_there_is_no_notice_and_ours_asks_for_a_bound_of_turns() -> None:
    with pytest.raises(InputError, match="neither time nor turns"):
        Limits(None)
    model = ScriptedModel(*[calls(call("search", query="q"))] * 3, says(FINAL))
    done = run_episode(QUESTION, ScriptedTools(), model, settings(Limits(None, turns=100)))
    assert (steps(done.data, "steer"), done.status) == ([], "completed")


@pytest.mark.java
def test_37_ours_has_the_prompt_and_the_tools_in_the_manifest_whatever_the_environment_says(
    make_index: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sira.cli.main import main
    from sira.records import Document

    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))
    index = make_index([Document("d1", "kiln wash")])
    manifests: list[dict[str, Any]] = []
    with PlayedServer() as server:
        model = tmp_path / "model.toml"
        model.write_text(f'[model]\nbackend = "openai"\nmodel = "played"\nbase_url = "{server.url}"\n')
        for name in ("PI_SEARCH_DUMP_PROMPTS", "PI_DUMP_PROMPTS"):
            monkeypatch.setenv(name, "1")
            out = tmp_path / name
            command = [
                "agent",
                str(index),
                "--query",
                "kiln?",
                "--llm",
                str(model),
                "--out",
                str(out),
                "--watch",
                "off",
            ]
            assert main(command) == 0
            assert sorted(path.name for path in out.iterdir()) == [".lock", "q.json", "run.json"]
            manifests.append(read(out / "run.json"))
    told = manifests[0]["told"]
    assert told == manifests[1]["told"]
    assert told["system"].startswith("Answer the question")
    assert {"search", "read_search_results", "read_document"} <= {tool["name"] for tool in told["tools"]}


def shard(path: Path, questions: list[Topic], how: int) -> Path:
    path.mkdir()
    folder = RunFolder(path)
    folder.begin({"questions": questions_facts(questions), "settings": {"model": "m"}, "how": {"concurrency": how}})
    run_questions(questions, answering, folder, RunOptions(1))
    return path


def test_38_conflicts_are_refused_and_the_manifest_of_shards_is_made_anew(tmp_path: Path) -> None:
    one = shard(tmp_path / "shard_01", [QUESTION], 1)
    two = shard(tmp_path / "shard_02", [Topic("2", "when?"), Topic("3", "where?")], 2)
    merge_runs([one, two], tmp_path / "merged")
    manifest = read(tmp_path / "merged" / "run.json")
    assert manifest["questions"]["count"] == 1 + 2
    assert "how" not in manifest
    assert [part["how"] for part in manifest["merged"]] == [{"concurrency": 1}, {"concurrency": 2}]
    (two / "1.json").write_text(json.dumps({**read(one / "1.json"), "errors": ["other"]}))
    with pytest.raises(InputError, match="the question '1' has another trajectory"):
        merge_runs([one, two], tmp_path / "again")


def released(qid: object, *rankings: list[object]) -> str:
    result: list[dict[str, Any]] = [
        {"type": "tool_call", "tool_name": "search", "output": json.dumps([{"docid": docid} for docid in ranking])}
        for ranking in rankings
    ]
    result.append({"type": "output_text", "output": "x"})
    return json.dumps({"query_id": qid, "status": "completed", "result": result}) + "\n"


def test_39_released_runs_are_imported(tmp_path: Path) -> None:
    source = tmp_path / "run.jsonl"
    source.write_text(released("1", ["d2", "d1"], ["d1", "d3"]) + released(2, [10]))
    sets: list[Path] = []
    for name, count in (("q300", 300), ("q9", 9), ("q1", 1)):
        sets.append(tmp_path / f"{name}.tsv")
        sets[-1].write_text("".join(f"{number}\tquestion {number}\n" for number in range(1, count + 1)))
    assert import_run(source, tmp_path / "run", sets).query_set == "q9"
    assert read(tmp_path / "run" / "1.json")["surfaced_docids"] == ["d2", "d1", "d3"]
    assert read(tmp_path / "run" / "2.json")["surfaced_docids"] == ["10"]
    source.write_text(released("1") + released(1))
    with pytest.raises(InputError, match="the question '1' stands twice"):
        import_run(source, tmp_path / "other", sets)
