"""react: a model that searches by tool calls, as the agent that BrowseComp-Plus released (arXiv 2508.06600) does.

A search shows its first five documents, each cut where the released agent cuts it at 512 tokens; `react-documents` may
also read one document whole. The final reply has an explanation, an exact answer and a confidence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from sira.llm import Finish, Reply, Tool
from sira.llm.thinking import answer as without_thinking
from sira.prompts import enclosed
from sira.records import Message, ToolCall, ToolTurn, Turn
from sira.systems.agents.base import AgentMethod, Episode, Stop
from sira.systems.agents.looking import MAX_TURN_CHARACTERS, look_up

_PAPER = "Chen et al. 2025, arXiv 2508.06600"
REACT = AgentMethod(
    "react",
    _PAPER,
    "agent-react",
    rounds=100,
    documents=5,
    characters=2000,
    max_tokens=10_000,
    searches=100,
    tools=True,
)
REACT_DOCUMENTS = replace(REACT, name="react-documents")
MOST_CALLS = 8
"""Of tools in one turn; those behind them are left out, and the model is told."""
MOST_FRUITLESS = 10
"""Turns in a row of which every call was refused; a model that is lost would go on until no round is left."""
MAX_DOCUMENT_CHARACTERS = 50_000
"""Of a document that is read whole."""

_FIELD = re.compile(
    r"^[ \t*#>_-]{0,9}(explanation|exact answer|confidence)[ \t*_]{0,9}:[ \t*_]{0,9}", re.IGNORECASE | re.MULTILINE
)
_PERCENT = re.compile(r"\d{1,3}(?:\.\d{1,9})?")
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")


def _tool(name: str, description: str, argument: str, meaning: str) -> Tool:
    properties = {argument: {"type": "string", "description": meaning}}
    parameters = {"type": "object", "properties": properties, "required": [argument], "additionalProperties": False}
    return Tool(name, description, parameters)


SEARCH = _tool(
    "search",
    "Searches the collection by keywords (BM25). Gives the first documents: docid, score and the beginning of each.",
    "query",
    "The words to search for",
)
GET_DOCUMENT = _tool(
    "get_document", "Gives the text of one document.", "docid", "The docid of the document, as a search gave it"
)


@dataclass(frozen=True, slots=True)
class React:
    """The conversation. `reads`: whether the model may read a document whole."""

    reads: bool = False

    def __call__(self, episode: Episode) -> str | None:
        """The exact answer, or the whole final reply where it names none. Raises Stop: `rounds`, `malformed` after the
        turns that the model was told of, or MOST_FRUITLESS turns in a row."""
        tools = (SEARCH, GET_DOCUMENT) if self.reads else (SEARCH,)
        messages: list[Turn] = list(episode.settings.prompt.render_query(episode.topic.text))
        ids: set[str] = set()
        fruitless = 0
        while True:
            reply = episode.ask(messages, tools=tools)
            said = (without_thinking(reply.text) or "").strip()[:MAX_TURN_CHARACTERS]
            if reply.tool_calls:
                if episode.spent:
                    raise Stop("rounds")
                troubles, searches = episode.troubles.total(), len(episode.queries)
                messages += _called(episode, reply, said, tools, ids)
                refused = episode.troubles.total() - troubles >= len(reply.tool_calls)
                fruitless = fruitless + 1 if refused and len(episode.queries) == searches else 0
                if fruitless == MOST_FRUITLESS:
                    raise Stop("malformed")
                continue
            fault = _fault(episode, reply, said)
            if not fault:
                return _final(episode, said)
            messages += [Message("assistant", said or "(nothing)"), Message("user", fault)]


def final_fields(text: str) -> dict[str, str]:
    """The parts of a final reply by their name in lower case; of a part that stands twice the last."""
    places = list(_FIELD.finditer(text))
    ends = [*(place.start() for place in places[1:]), len(text)]
    return {
        place[1].lower(): text[place.end() : end].strip().strip("*_").strip()
        for place, end in zip(places, ends, strict=False)
    }


def confidence_of(text: str | None) -> float | None:
    """Per cent from 0 to 100; None where the text tells none."""
    found = _PERCENT.search(text or "")
    return float(found[0]) if found and float(found[0]) <= 100 else None


def _final(episode: Episode, said: str) -> str:
    fields = final_fields(said)
    episode.told |= {
        "explanation": fields.get("explanation"),
        "confidence": confidence_of(fields.get("confidence")),
    }
    return fields.get("exact answer") or said


def _fault(episode: Episode, reply: Reply, said: str) -> str:
    """The line for a turn without calls that is no final reply; empty where it is one."""
    if not said:
        return episode.correct("empty_turn", "Your last turn was empty: call a tool, or give the final reply.")
    if reply.finish is Finish.LENGTH and not final_fields(said).get("exact answer"):
        return episode.correct("half_turn", "Your last turn was cut off: be brief.")
    if "<tool_call>" in said:
        return episode.correct("written_call", "A call that is written as text is not run: call the tool itself.")
    return ""


def _called(episode: Episode, reply: Reply, said: str, tools: tuple[Tool, ...], ids: set[str]) -> list[ToolTurn]:
    """The model's turn and the result of each call, in their order."""
    calls = [_kept(call, ids) for call in reply.tool_calls[:MOST_CALLS]]
    results = [_result(episode, call, tools) for call in reply.tool_calls[:MOST_CALLS]]
    if left_out := len(reply.tool_calls) - len(calls):
        episode.troubles["left_out_calls"] += left_out
        results[-1] += f"\n{left_out} further calls of this turn were left out: at most {MOST_CALLS} are run."
    answers = (ToolTurn("tool", result, tool_call_id=call.id) for call, result in zip(calls, results, strict=True))
    return [ToolTurn("assistant", said, tuple(calls)), *answers]


def _kept(call: ToolCall, ids: set[str]) -> ToolCall:
    """The call as the conversation keeps it: an id of its own, a name and arguments that any endpoint takes back."""
    place = call.id if len(call.id) <= 64 and call.id not in ids else f"call_{len(ids)}"
    while place in ids:
        place = f"{place}_"
    ids.add(place)
    whole = _arguments(call) is not None and len(call.arguments) <= MAX_TURN_CHARACTERS
    return ToolCall(place, _NO_NAME.sub("_", call.name[:64]), call.arguments if whole else "{}")


def _result(episode: Episode, call: ToolCall, tools: tuple[Tool, ...]) -> str:
    """What one call gives, or one line that says why it gives nothing."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        episode.troubles["unknown_tool"] += 1
        return f"There is no such tool: call {' or '.join(tool.name for tool in tools)}."
    (argument,) = tool.parameters["properties"]
    given = _arguments(call)
    value = None if given is None else given.get(argument)
    if not isinstance(value, str):
        episode.troubles["bad_arguments"] += 1
        return f'The arguments of {tool.name} are one JSON object such as {{"{argument}": "..."}}, a string in it.'
    return _searched(episode, value) if tool is SEARCH else _read(episode, value)


def _arguments(call: ToolCall) -> Mapping[str, Any] | None:
    """None where they are no JSON object."""
    try:
        found: object = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _searched(episode: Episode, query: str) -> str:
    if len(episode.queries) >= episode.settings.rounds:
        episode.troubles["no_search_left"] += 1
        return "No search is left: give the final reply."
    found = look_up(episode, query)
    if found.trouble:
        return found.trouble
    texts = episode.show(found.docids)
    return "\n".join(
        f"docid {json.dumps(docid, ensure_ascii=False)}, score {score:.4f}\n{enclosed('document', text)}"
        for docid, score, text in zip(found.docids, found.scores, texts, strict=True)
    )


def _read(episode: Episode, docid: str) -> str:
    """A document whole, as far as MAX_DOCUMENT_CHARACTERS goes; it counts as shown."""
    docid = docid.encode("utf-8", "replace").decode().strip()
    hidden = not episode.settings.own and docid == episode.topic.qid
    (document,) = [None] if hidden or not docid else episode.index.documents([docid])
    if document is None:
        episode.troubles["unknown_docid"] += 1
        return "No document has this docid: take one that a search gave."
    episode.shown |= {docid: None}
    contents = document.contents
    cut = len(contents) - MAX_DOCUMENT_CHARACTERS
    more = f"\n(The last {cut:,} characters are left out.)" if cut > 0 else ""
    return enclosed("document", contents[:MAX_DOCUMENT_CHARACTERS]) + more
