"""Run folders as they are found: sira's and Pi-Serini's files, odd docids, torn files, files of other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sira.agent.base import Failure, StopReason, ToolResult
from sira.agent.run_folder import file_name
from sira.agent.trajectory import Recorder, Span
from sira.errors import DuplicateIdError, InputError
from sira.evaluate.agents.reading import read_agent_run, read_episode
from sira.evaluate.agents.run_inputs import named_inputs
from sira.evaluate.fingerprint import file_digest
from sira.llm.base import Usage
from sira.records import ToolCall, Topic
from tests.evaluate.agents.run_folders import final, pi_serini, trajectory, write_run


def test_a_trajectory_of_ours(tmp_path: Path) -> None:
    row = trajectory("q/1 ü", surfaced=["a", "b", "a"], previewed=["a"], opened=["a"], cited=["a", "b"])
    row["result"] += [
        {"type": "tool_call", "tool_name": "search", "failure": "invalid_tool_arguments"},
        {"type": "failure", "tool_name": "search", "failure": "invalid_tool_arguments"},
    ]
    run = read_agent_run(write_run(tmp_path / "run", [row]))
    episode = run.episodes["q/1 ü"]
    assert (episode.surfaced, episode.opened, episode.cited) == (("a", "b"), ("a",), ("a", "b"))
    assert episode.docids("behaviour") == ("a", "b")
    assert episode.answer == final("Oslo", 80, ["a", "b"])
    assert (episode.status, episode.stop_reason, episode.answered) == ("completed", "answered", True)
    assert episode.usage == Usage(1000, 200, 400)
    assert episode.price is not None
    assert str(episode.price) == "0.02 USD"
    assert episode.failures == {"invalid_tool_arguments": 1}  # and not once more for the step beside it
    assert run.facts()["benchmark_id"] == ["test"]
    assert run.name == "run"
    assert set(run.ignored) == {"run_setup.json", "benchmark_manifest_snapshot.json"}


def test_a_file_of_pi_serini_has_what_it_tells_and_nothing_else(tmp_path: Path) -> None:
    rows = [pi_serini("25", surfaced=["1", "2"], opened=["1"]), pi_serini("30", None, surfaced=["3"])]
    run = read_agent_run(write_run(tmp_path, rows))
    first, second = run.episodes["25"], run.episodes["30"]
    assert first.answer == final("Oslo")
    assert (first.usage, first.price, first.stop_reason) == (None, None, None)
    assert first.failures == {"failed": 1}
    assert first.facts["prompt_variant"] == "plain_minimal"
    assert (second.answer, second.answered) == ("", False)  # the lines of Pi-Serini among the texts are no answer


def test_docids_of_any_form_and_layers_that_were_not_recorded() -> None:
    episode = read_episode(
        {"query_id": 7, "status": "completed", "retrieved_docids": [10, "d-77", "a b", "10"], "result": []}
    )
    assert episode.qid == "7"
    assert episode.surfaced == ("10", "d-77", "a b")
    assert episode.previewed is None
    assert episode.docids("behaviour") is None


@pytest.mark.parametrize("content", [b"", b'{"query_id": "q9", "result": [', b"\xff\xfe", b"[" * 100_000])
def test_a_torn_file_is_named_and_costs_only_its_question(tmp_path: Path, content: bytes) -> None:
    write_run(tmp_path, [trajectory("q1")])
    (tmp_path / "q9.json").write_bytes(content)
    run = read_agent_run(tmp_path)
    assert list(run.episodes) == ["q1"]
    assert [name for name, fault in run.broken if fault] == ["q9.json"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("surfaced_docids", "a"), ("opened_docids", [None]), ("cited_docids", [1.5]), ("stats", []), ("query_id", ""),
     ("result", {}), ("tool_call_counts", 3)],
)  # fmt: skip
def test_a_field_of_another_form_is_named(tmp_path: Path, field: str, value: object) -> None:
    write_run(tmp_path, [trajectory("q1")])
    (tmp_path / "bad.json").write_text(json.dumps(trajectory("q2") | {field: value}))
    ((name, fault),) = read_agent_run(tmp_path).broken
    assert name == "bad.json"
    assert field in fault


def test_other_json_files_are_left_aside(tmp_path: Path) -> None:
    write_run(tmp_path, [trajectory("q1")])
    for name, text in (
        ("run.json", '{"settings": {}}'),
        ("notes.json", '["query_id"]'),
        ("x.json", '{"query_id": "q"}'),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / ".q2.json").write_text("{")
    run = read_agent_run(tmp_path)
    assert list(run.episodes) == ["q1"]
    assert {"run.json", "notes.json", "x.json"} <= set(run.ignored)
    assert run.broken == ()


def test_two_files_of_one_question_are_refused(tmp_path: Path) -> None:
    write_run(tmp_path, [trajectory("q1")])
    (tmp_path / "z.json").write_text(json.dumps(trajectory("q1")))
    with pytest.raises(DuplicateIdError, match=r"q1\.json and z\.json are both of the question 'q1'"):
        read_agent_run(tmp_path)


def test_no_folder_and_no_trajectory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        read_agent_run(tmp_path / "none")
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(InputError, match=r"no trajectory in this folder: a\.json cannot be read"):
        read_agent_run(tmp_path)


def test_with_questions_the_missing_ones_count_and_others_do_not(tmp_path: Path) -> None:
    write_run(tmp_path, [trajectory("q1"), trajectory("q2")])
    run = read_agent_run(tmp_path, [Topic("q1", "one"), Topic("q3", "three")])
    assert list(run.episodes) == ["q1", "q3"]
    assert (run.episodes["q3"].status, run.episodes["q3"].surfaced) == ("missing", ())
    assert run.extra == ("q2",)
    with pytest.raises(InputError, match="none of its questions is among the 1 given"):
        read_agent_run(tmp_path, [Topic("q9", "nine")])


def test_the_manifest_names_labels_and_answers_that_are_checked(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [trajectory("q1")])
    (tmp_path / "run" / "evidence.txt").write_text("q1 0 a 1\n")
    manifest = {
        "qrels_path": "evidence.txt",
        "secondary_qrels_path": "gone.txt",
        "input_hashes": {"qrels": {"exists": True, "sha256": file_digest(tmp_path / "run" / "evidence.txt")}},
    }
    (tmp_path / "run" / "benchmark_manifest_snapshot.json").write_text(json.dumps(manifest))
    assert named_inputs(tmp_path / "run") == {"evidence": tmp_path / "run" / "evidence.txt"}
    (tmp_path / "run" / "evidence.txt").write_text("q1 0 b 1\n")
    with pytest.raises(InputError, match="is not the file that the run was made with"):
        named_inputs(tmp_path / "run")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*trajectory("q"), "retrieved_docids"]), JSON, max_size=6))
def test_whatever_stands_in_a_file_it_is_an_episode_or_a_fault_with_words(fields: dict[str, Any]) -> None:
    try:
        episode = read_episode({"query_id": "q1", **fields})
    except ValueError as error:
        fault = str(error)
        episode = read_episode({"query_id": "q1"})
    else:
        fault = "none"
    assert fault
    assert episode.total_calls >= 0
    assert episode.seconds is None or 0 <= episode.seconds < 2**53


def test_numbers_that_are_none_are_not_known() -> None:
    row = trajectory("q1")
    row["stats"]["elapsed_seconds"] = 10**400
    row["price"]["amount"] = float("nan")
    row["tool_call_counts"] = {"search": -1, "read_document": "3", "browse": 0}
    episode = read_episode(row)
    assert (episode.seconds, episode.price, episode.calls) == (None, None, {"browse": 0})


def test_what_the_recorder_of_the_agent_writes_is_read(tmp_path: Path) -> None:
    recorder = Recorder(Topic("q 1/x", "Where?"), {"model": "m"}, {"prompt_sha256": "ab"})
    span, page = Span(0.0, 0.1), {"searchId": "s1", "rawQuery": "x"}
    seen = ToolResult("...", {**page, "retrievedDocids": ["a", "b", "c"], "previewedDocids": ["a"]})
    recorder.tool(ToolCall("1", "search", '{"query": "x"}'), seen, "...", span)
    recorder.tool(ToolCall("2", "read_document", '{"docid": "a"}'), ToolResult("...", {"docid": "a"}), "...", span)
    failed = ToolResult("no such document", failure=Failure.EXECUTION)
    recorder.tool(ToolCall("3", "read_document", '{"docid": "zz"}'), failed, "...", span)
    recorder.text(final("Oslo", 70, ["a"]), span, Usage(10, 5))
    recorder.finish(StopReason.ANSWERED, final("Oslo", 70, ["a"]))
    (tmp_path / file_name("q 1/x")).write_text("".join(recorder.pieces()))
    episode = read_agent_run(tmp_path).episodes["q 1/x"]
    assert (episode.surfaced, episode.previewed) == (("a", "b", "c"), ("a",))
    assert (episode.opened, episode.cited) == (("a",), ("a",))  # a read that failed opens nothing
    assert (episode.status, episode.stop_reason, episode.answered) == ("completed", "answered", True)
    assert episode.failures == {"tool_execution_failed": 1}
    assert episode.calls == {"search": 1, "read_document": 2}
