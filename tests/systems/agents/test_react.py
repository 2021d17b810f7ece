"""react: the final reply, and whole episodes with calls of tools against a scripted endpoint."""

from __future__ import annotations

import json
import time

import pytest

from sira.llm import Generator
from sira.lucene.reader import Index
from sira.records import Document, Topic
from sira.systems.agents import react
from sira.systems.agents.react import MOST_CALLS, confidence_of, final_fields
from tests.conftest import MakeIndex
from tests.systems.agents.scripted import ScriptedServer, agent_of, calls, note_of, says

pytestmark = pytest.mark.java

TOPIC = Topic("q1", "At what heat is raku fired?")
FINAL = "Explanation: The kiln is hot [d2].\nExact Answer: 1000 degrees\nConfidence: 80%"


# The final reply


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (FINAL, {"explanation": "The kiln is hot [d2].", "exact answer": "1000 degrees", "confidence": "80%"}),
        ("**Exact answer:** blue\n**Confidence**: 9", {"exact answer": "blue", "confidence": "9"}),
        ("Exact Answer: a\nno\nExact Answer: b", {"exact answer": "b"}),
        ("Exact Answer:", {"exact answer": ""}),
        ("It is blue.", {}),
    ],
)
def test_the_parts_of_a_final_reply(text: str, fields: dict[str, str]) -> None:
    assert final_fields(text) == fields


@pytest.mark.parametrize(
    ("text", "value"), [("80%", 80.0), ("about 7.5 %", 7.5), ("101", None), ("high", None), ("", None), (None, None)]
)
def test_a_confidence_is_a_percentage_or_absent(text: str | None, value: float | None) -> None:
    assert confidence_of(text) == value


@pytest.mark.parametrize("text", ["\n" * 1_000_000, "explanation" * 100_000, " " * 1_000_000, "*" * 1_000_000])
def test_a_giant_reply_is_read_in_linear_time(text: str) -> None:
    start = time.perf_counter()
    final_fields(text)
    assert time.perf_counter() - start < 10


# Episodes


def test_it_searches_reads_and_answers(server: ScriptedServer, generator: Generator, index: Index) -> None:
    server.script = [
        calls(("a", "search", {"query": "raku kiln"}), text="I look."),
        calls(("a", "get_document", {"docid": "d2"})),
        says(f"<think>so</think>{FINAL}"),
    ]
    answer = agent_of("react-documents", generator).answer(TOPIC, index, 10)
    note = note_of(answer)
    assert (note["stop"], note["answer"], note["confidence"]) == ("answered", "1000 degrees", 80.0)
    assert note["explanation"] == "The kiln is hot [d2]."
    assert (note["queries"], note["shown"][0], answer.llm_calls, answer.searches) == (["raku kiln"], "d2", 3, 1)
    assert answer.ranking.docids == index.search(answer.programs[0], 10).docids
    first, second, third = server.calls
    assert [tool["function"]["name"] for tool in first["tools"]] == ["search", "get_document"]
    assert first["messages"][-1]["content"] == f"<query>\n{TOPIC.text}\n</query>"
    asked, found = second["messages"][2:]
    assert (asked["role"], asked["content"], asked["tool_calls"][0]["id"]) == ("assistant", "I look.", "a")
    assert (found["role"], found["tool_call_id"]) == ("tool", "a")
    lines = found["content"].splitlines()
    assert lines[0].startswith('docid "d2", score ')
    assert lines[1:4] == ["<document>", "Raku kiln The kiln for raku is heated to 1000 degrees.", "</document>"]
    again, read = third["messages"][4:]
    assert again["tool_calls"][0]["id"] == read["tool_call_id"] == "call_1"  # an id that repeats gives way
    assert read["content"] == "<document>\nRaku kiln The kiln for raku is heated to 1000 degrees.\n</document>"


def test_without_the_option_no_document_is_read(server: ScriptedServer, generator: Generator, index: Index) -> None:
    server.script = [calls(("1", "get_document", {"docid": "d2"})), says(FINAL)]
    answer = agent_of("react", generator).answer(TOPIC, index, 10)
    assert [tool["function"]["name"] for tool in server.calls[0]["tools"]] == ["search"]
    assert server.last_message(1) == "There is no such tool: call search."
    assert (note_of(answer)["troubles"], note_of(answer)["shown"]) == ({"unknown_tool": 1}, [])


@pytest.mark.parametrize(
    "arguments", ["{bad", "", "[]", "null", "{}", '"raku"', '{"query": null}', '{"query": ["raku"]}', "[" * 100_000]
)
def test_arguments_that_are_none(server: ScriptedServer, generator: Generator, index: Index, arguments: str) -> None:
    server.script = [calls(("1", "search", arguments)), says(FINAL)]
    answer = agent_of("react", generator).answer(TOPIC, index, 10)
    assert note_of(answer)["troubles"] == {"bad_arguments": 1}
    assert server.last_message(1) == (
        'The arguments of search are one JSON object such as {"query": "..."}, a string in it.'
    )
    kept = server.calls[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(kept), dict)  # llama.cpp answers HTTP 500 to a conversation with others


def test_calls_in_parallel_are_answered_in_order_and_bounded(
    server: ScriptedServer, generator: Generator, index: Index
) -> None:
    words = ["raku", "celadon", "Raku ", "zzz", " ", "slip", "kiln", "glaze", "mould", "pots"]
    server.script = [calls(*(("x", "search", {"query": word}) for word in words)), says(FINAL)]
    answer = agent_of("react", generator).answer(TOPIC, index, 10)
    asked, *results = server.calls[1]["messages"][2:]
    ids = [call["id"] for call in asked["tool_calls"]]
    assert len(ids) == len(set(ids)) == len(results) == MOST_CALLS
    assert [result["tool_call_id"] for result in results] == ids
    assert note_of(answer)["queries"] == ["raku", "celadon", "zzz", "slip", "kiln", "glaze"]
    assert note_of(answer)["troubles"] == {
        "empty_query": 1, "left_out_calls": 2, "nothing_found": 1, "repeated_query": 1,
    }  # fmt: skip
    assert results[-1]["content"].endswith("2 further calls of this turn were left out: at most 8 are run.")
    assert answer.searches == 6


def test_odd_names_and_docids(server: ScriptedServer, generator: Generator, index: Index) -> None:
    server.script = [
        calls(
            ("i" * 100, "web search!\n", {"query": "raku"}),
            ("2", "get_document", {"docid": "no such"}),
            ("3", "get_document", {"docid": " "}),
            ("4", "get_document", r'{"docid": "\ud800"}'),
            ("5", "search", r'{"query": "raku \ud800"}'),
            ("6", "get_document", {"docid": "q1"}),
        ),
        says(FINAL),
    ]
    answer = agent_of("react-documents", generator).answer(TOPIC, index, 10)
    assert note_of(answer)["troubles"] == {"unknown_docid": 4, "unknown_tool": 1}
    assert note_of(answer)["queries"] == ["raku ?"]
    kept = server.calls[1]["messages"][2]["tool_calls"]
    assert (kept[0]["function"]["name"], len(kept[0]["id"])) == ("web_search__", 6)
    assert server.calls[1]["messages"][3]["content"] == "There is no such tool: call search or get_document."


def test_the_document_of_the_topic_itself_is_not_read(
    server: ScriptedServer, generator: Generator, index: Index
) -> None:
    server.script = [
        calls(("1", "get_document", {"docid": "d2"}), ("2", "search", {"query": "raku kiln"})),
        says(FINAL),
    ]
    answer = agent_of("react-documents", generator, own=False).answer(Topic("d2", "raku"), index, 10)
    assert note_of(answer)["troubles"] == {"unknown_docid": 1}
    assert "d2" not in [*note_of(answer)["shown"], *answer.ranking.docids]


def test_a_document_is_read_up_to_its_bound(
    server: ScriptedServer, generator: Generator, make_index: MakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(react, "MAX_DOCUMENT_CHARACTERS", 10)
    server.script = [calls(("1", "get_document", {"docid": "d"})), says(FINAL)]
    with Index(make_index([Document("d", "0123456789abc")])) as index:
        agent_of("react-documents", generator).answer(TOPIC, index, 10)
    assert server.last_message(1) == "<document>\n0123456789\n</document>\n(The last 3 characters are left out.)"


def test_turns_without_calls_that_are_no_final_reply(
    server: ScriptedServer, generator: Generator, index: Index
) -> None:
    written = 'I call <tool_call>{"name": "search", "arguments": {"query": "raku"}}</tool_call>'
    server.script = [says(None, reasoning_content="hm"), says(written), says(FINAL)]
    answer = agent_of("react", generator).answer(TOPIC, index, 10)
    assert note_of(answer)["troubles"] == {"empty_turn": 1, "written_call": 1}
    assert note_of(answer)["stop"] == "answered"
    assert server.last_message(1) == "Your last turn was empty: call a tool, or give the final reply."
    server.script = [says("<think>for ever", "length"), says("Explanation: because", "length"), says(None)]
    answer = agent_of("react", generator).answer(TOPIC, index, 10)
    assert (note_of(answer)["stop"], answer.llm_calls, answer.searches) == ("malformed", 3, 0)
    assert note_of(answer)["answer"] is None


def test_a_reply_in_no_form_is_the_answer_as_it_stands(
    server: ScriptedServer, generator: Generator, index: Index
) -> None:
    server.script = [says("It is 1000 degrees.")]
    note = note_of(agent_of("react", generator).answer(TOPIC, index, 10))
    assert (note["stop"], note["answer"], note["confidence"]) == ("answered", "It is 1000 degrees.", None)


def test_a_model_whose_calls_are_all_refused_is_stopped(
    server: ScriptedServer, generator: Generator, index: Index
) -> None:
    wrong, right = ("x", "google", {"query": "raku"}), ("y", "search", {"query": "raku"})
    server.script = [calls(wrong)] * 9 + [calls(wrong, right)] + [calls(wrong, right)] * 10 + [says(FINAL)]
    answer = agent_of("react", generator).answer(TOPIC, index, 10)
    assert (note_of(answer)["stop"], answer.llm_calls, answer.searches) == ("malformed", 20, 1)
    assert answer.ranking.docids


def test_rounds_bound_calls_and_searches(server: ScriptedServer, generator: Generator, index: Index) -> None:
    many = [[("x", "search", {"query": f"raku {turn} {call}"}) for call in range(3)] for turn in range(3)]
    server.script = [calls(*turn) for turn in many]
    answer = agent_of("react", generator, rounds=3).answer(TOPIC, index, 10)
    note = note_of(answer)
    assert (note["stop"], answer.llm_calls, answer.searches) == ("rounds", 3, 3)
    assert note["troubles"] == {"no_search_left": 3}
    assert server.last_message(2) == "No search is left: give the final reply."
