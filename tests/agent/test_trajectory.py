"""The record of an episode: its file at any moment, and the answer that is read from the final text."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from sira.agent.answer import is_whole, parse_answer
from sira.agent.base import Failure, StopReason, ToolResult
from sira.agent.budget import Budget, Limits
from sira.agent.loop import run_episode
from sira.agent.run_folder import TrajectoryFile
from sira.agent.trajectory import Recorder, Span
from sira.agent.trajectory_parts import seen_docids
from sira.llm.base import Usage
from sira.records import ToolCall, Topic

from .scripted import FINAL, ManualClock, ScriptedModel, ScriptedTools, call, calls, read, says, settings, steps

QUESTION = Topic("q1", "what is it?")
SPAN = Span(1.0, 0.5)


def recorder(question: Topic = QUESTION) -> Recorder:
    made = Recorder(question, {}, {})
    made.at(Budget(Limits(), ManualClock()))
    return made


def data_of(made: Recorder) -> dict[str, object]:
    return json.loads("".join(made.pieces()))


def test_the_file_is_whole_after_every_step(tmp_path: Path) -> None:
    path, seen = tmp_path / "q1.json", list[tuple[str, int]]()
    write = TrajectoryFile(path)

    def sink(made: Recorder) -> None:
        write(made)
        data = read(path)
        seen.append((data["status"], len(data["result"])))

    model = ScriptedModel(calls(call("search", query="q"), call("read_document", "b", docid="d1")), says(FINAL))
    done = run_episode(QUESTION, ScriptedTools(), model, settings(), sink=sink)
    assert seen == [("running", 0), ("running", 2), ("running", 3), ("running", 3), ("completed", 5)]
    assert read(path) == json.loads(json.dumps(done.data))
    assert [entry.name for entry in tmp_path.iterdir()] == ["q1.json"]


def test_every_field_is_there_from_the_beginning() -> None:
    data = data_of(recorder())
    assert list(data) == [
        "metadata", "query_id", "tool_call_counts", "status", "completion_source", "stop_reason", "surfaced_docids",
        "previewed_docids", "opened_docids", "cited_docids", "agent_docids", "stats", "result", "usage", "price",
        "searches", "answer", "citations", "errors", "provenance",
    ]  # fmt: skip
    assert data["metadata"] == {
        "benchmark_id": None, "query_set_id": None, "model": None, "output_dir": None, "query": "what is it?",
        "prompt_variant": None,
    }  # fmt: skip
    assert (data["status"], data["stop_reason"], data["answer"], data["result"]) == ("running", None, None, [])


def test_docids_come_from_details_and_from_successful_calls_alone() -> None:
    made = recorder()
    hits = {"retrievedDocids": ["d1", "d2", "d3"], "previewedDocids": ["d1"]}
    made.tool(ToolCall("1", "search", '{"query": "q"}'), ToolResult("d9", hits), "d9", SPAN)
    made.tool(ToolCall("2", "read_document", '{"docid": "d2"}'), ToolResult("x", {"docid": "d2"}), "x", SPAN)
    failed = ToolResult("no", {"docid": "d4", "retrievedDocids": ["d4"]}, Failure.EXECUTION)
    made.tool(ToolCall("3", "read_document", '{"docid": "d4"}'), failed, "no", SPAN)
    made.tool(ToolCall("4", "read_document", '{"docid": 7}'), ToolResult("x"), "x", SPAN)
    made.finish(StopReason.ANSWERED, "So it is [d3, d2] and [2019].")
    data = data_of(made)
    assert data["surfaced_docids"] == ["d1", "d2", "d3"]
    assert data["previewed_docids"] == ["d1"]
    assert data["opened_docids"] == ["d2", "7"]
    assert data["cited_docids"] == ["d3", "d2", "2019"]
    assert data["agent_docids"] == ["d2", "7", "d3", "2019"]
    assert data["citations"] == {
        "cited": ["d3", "d2", "2019"], "opened": ["d2"], "previewed": [], "surfaced": ["d3"], "unknown": ["2019"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "details", "expected"),
    [
        ("search", {"retrievedDocids": list("abcdefg")}, (tuple("abcdefg"), tuple("abcde"))),
        ("read_search_results", {"retrievedDocids": list("abcdefg")}, (tuple("abcdefg"), tuple("abcdefg"))),
        ("search", {"retrievedDocids": ["a", 42], "previewedDocids": ["a"]}, ((), ("a",))),
        ("search", {"retrievedDocids": ["a"], "previewedDocids": [None]}, (("a",), ())),
        ("search", {"retrievedDocids": "abc"}, ((), ())),
        ("find_in_document", {"retrievedDocids": ["a"]}, (("a",), ())),
        ("search", {}, ((), ())),
    ],
)
def test_malformed_lists_count_as_none(
    tool: str, details: dict[str, object], expected: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    assert seen_docids(tool, details) == expected


def test_rewrites_are_told_apart_by_browsing() -> None:
    made = recorder()
    for name in ("search", "search", "read_search_results", "search", "search"):
        made.tool(ToolCall("1", name, "{}"), ToolResult("x"), "x", SPAN)
    data = data_of(made)
    stats = data["stats"]
    assert isinstance(stats, dict)
    assert (stats["search_rewrites_after_browse"], stats["search_rewrites_without_browse"]) == (1, 2)
    assert (stats["search_calls"], stats["read_search_results_calls"]) == (4, 1)


def test_searches_are_mapped_and_fused_ones_name_their_parts() -> None:
    made = recorder()
    for at, query, mode in (("s1", "a b", "plain"), ("s2", "c", "program"), ("s3", "s1, s2", "fused")):
        details = {"searchId": at, "rawQuery": query, "queryMode": mode, "retrievedDocids": []}
        made.tool(ToolCall("1", "search", "{}"), ToolResult("x", details), "x", SPAN)
    assert data_of(made)["searches"] == {
        "s1": {"query": "a b", "mode": "plain"},
        "s2": {"query": "c", "mode": "program"},
        "s3": {"query": "s1, s2", "mode": "fused", "of": ["s1", "s2"]},
    }


def test_numbers_and_letters_that_json_does_not_know(tmp_path: Path) -> None:
    made = recorder(Topic("q", "half \ud83d"))
    made.tool(
        ToolCall("1", "search", "{}"), ToolResult("x", {"score": math.nan, "deep": [{"x": -math.inf}]}), "x", SPAN
    )
    TrajectoryFile(tmp_path / "q.json")(made)
    data = read(tmp_path / "q.json")
    assert data["metadata"]["query"] == "half \ud83d"
    assert steps(data, "tool_call")[0]["details"] == {"score": None, "deep": [{"x": None}]}


def test_a_long_episode_writes_each_step_once() -> None:
    made = recorder()
    for _ in range(300):
        made.tool(ToolCall("1", "read_document", "{}"), ToolResult("x" * 50_000), "x" * 50_000, SPAN)
    first, second = list(made.pieces()), list(made.pieces())
    assert len(first) == 302  # head, a piece a step, tail
    assert sum(map(len, first)) > 15_000_000
    # the same string joined to what comes before it, not the JSON made anew
    assert made._steps[100] in first[101]
    assert first[101] == second[101]


# The answer


@pytest.mark.parametrize(
    ("text", "exact", "confidence"),
    [
        (FINAL, "42", 80.0),
        ("Confidence: 72%", None, 72.0),
        ("Exact Answer: x\nConfidence: 10%\nConfidence: 95 %", "x", 95.0),
        ("**Exact Answer:** Ada *Lovelace*\n**Confidence:** 85%", "Ada *Lovelace*", 85.0),
        ("**Exact Answer: Ada**\n**Confidence: 85%**", "Ada", 85.0),
        ("- exact answer: Ada\n> Confidence: ~60", "Ada", 60.0),
        ("## Exact Answer:\nAda Lovelace,\nof London\n\nConfidence: 150%", "Ada Lovelace,\nof London", 100.0),
        ("Exact Answer: a\nConfidence: -5%", "a", 0.0),
        ("Exact Answer: a\nConfidence: 72,5%", "a", 72.5),
        ("Exact Answer: old\nExact Answer: new", "new", None),
        ("Exact Answer: old\nExact Answer:\nConfidence: 1%", "old", 1.0),
        ("Confidence: high", None, None),
        ("the confidence: 3 of us", None, None),
        ("", None, None),
    ],
)
def test_the_parts_of_a_final_text(text: str, exact: str | None, confidence: float | None) -> None:
    found = parse_answer(text)
    assert (found.text, found.exact_answer, found.confidence) == (text, exact, confidence)


def test_what_is_cut_is_not_whole() -> None:
    assert is_whole(FINAL)
    assert is_whole("Exact Answer: 42\nConfidence: 80\n")
    for cut in (
        "Exact Answer: 42\nConfidence: 8",
        "Exact Answer: 42",
        "Confidence: 80%",
        "Exact Answer:\nConfidence: 80%",
    ):
        assert not is_whole(cut), cut


def test_no_text_makes_the_parser_fail() -> None:
    chosen = random.Random(3)
    pieces = [
        "Exact Answer",
        ":",
        "Confidence",
        " ",
        "\n",
        "*",
        "%",
        "9",
        "1e999",
        "：",
        "é",
        "-",
        ",",
        "[",
        "Explanation",
    ]
    for _ in range(3000):
        text = "".join(chosen.choices(pieces, k=chosen.randrange(20)))
        found = parse_answer(text)
        assert found.confidence is None or 0 <= found.confidence <= 100
        assert found.exact_answer is None or found.exact_answer.strip()


def test_usage_adds_up_and_turns_are_told() -> None:
    made = recorder()
    made.turn(Span(0.0, 2.0), Usage(10, 5, 4), "stop", waiting_s=0.5)
    made.text("hello", Span(0.0, 2.0), Usage(10, 5, 4))
    data = data_of(made)
    result = data["result"]
    assert isinstance(result, list)
    usage = {"input_tokens": 10, "input_tokens_cached": 4, "output_tokens": 5, "total_tokens": 15}
    assert result == [
        {
            "type": "turn", "finish": "stop", "started_seconds": 0.0, "seconds": 2.0, "usage": usage,
            "waiting_seconds": 0.5,
        },
        {"type": "output_text", "output": "hello", "started_seconds": 0.0, "seconds": 2.0, "usage": usage},
    ]  # fmt: skip
    stats = data["stats"]
    assert isinstance(stats, dict)
    assert (stats["model_seconds"], stats["waiting_seconds"]) == (1.5, 0.5)
