"""Faults that users reported of tools like these, as inputs: an episode over a real index gets over each of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sira.agent.base import StopReason
from sira.agent.controller import Controller
from sira.agent.loop import run_episode
from sira.lucene.reader import Index
from sira.records import Document, Topic

from .scripted import ScriptedModel, call, calls, says, settings, steps

pytestmark = pytest.mark.java
QUESTION = Topic("q1", "when was it fired?")


def test_wrong_ids_and_a_blank_query_are_named_with_the_next_step_and_counted(make_index: Callable[..., Path]) -> None:
    model = ScriptedModel(
        calls(
            call("read_search_results", "a", reason="r", search_id="s9"),
            call("read_document", "b", reason="r", docid="doc-404"),
            call("search", "c", reason="r", query=""),
        ),
        calls(call("search", reason="r", query="kiln")),
        says("It is [d-77]."),
    )
    with Index(make_index([Document("d-77", "a kiln")])) as index, Controller(index) as tools:
        done = run_episode(QUESTION, tools, model, settings())
    assert done.stop_reason is StopReason.ANSWERED
    failed = [step["output"] for step in steps(done.data, "tool_call") if step["failure"]]
    for text, wrong, remedy in zip(
        failed, ('"s9"', '"doc-404"', "query"), ("search(", "search(", "non-empty"), strict=True
    ):
        assert wrong in text
        assert remedy in text
    assert done.data["stats"]["pi_search_failures"] == 3
    assert done.data["cited_docids"] == ["d-77"]


def test_a_year_in_brackets_is_told_apart_from_a_docid(make_index: Callable[..., Path]) -> None:
    model = ScriptedModel(
        calls(call("search", reason="r", query="kiln")), says("Fired in [2019] as noted in [d-77, Fig 3].")
    )
    with Index(make_index([Document("d-77", "a kiln")])) as index, Controller(index) as tools:
        data = run_episode(QUESTION, tools, model, settings()).data
    # digits stay among the cited, as in Pi-Serini; which of them no tool named is told
    assert data["cited_docids"] == ["2019", "d-77", "3"]
    assert (data["citations"]["previewed"], data["citations"]["unknown"]) == (["d-77"], ["2019", "3"])
