"""What an episode says to the model beside its prompt, and calls of tools in the ways that models write them.

`native`: the endpoint takes the tools and gives calls in fields of their own. `tagged` and `fenced`: the tools stand in
the system's text, the calls in the reply's, as JSON between `<tool_call>` tags (Hermes, Qwen) or in a Markdown block.
`any`: native, and calls that stand in the text are read too, for servers that have no parser for their model. `schema`:
decoding is held to a call or an answer (`sira.agent.prompting_schema`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast

from sira.agent.prompting_schema import FORM_TEXT, read_turn
from sira.llm.base import Tool
from sira.llm.thinking import answer as after_thinking
from sira.prompts import Prompt, enclosed
from sira.records import Message, ToolCall, Turn

CallForm = Literal["native", "tagged", "fenced", "any", "schema"]

STEER = (
    "Your budget is nearly used up, and the tools are blocked from now on. Call none of them. Write your final answer "
    "now from what you have read, even if it is not certain, in the form:\n\n"
    "Explanation: ... [docid]\nExact Answer: ...\nConfidence: ...%"
)
BLOCKED = "Blocked: the budget is nearly used up. Call no more tools; write your final answer now."
ASK_AGAIN = "Your last message was empty. Call a tool, or write your final answer in the form that was asked for."
DROPPED = "[This output was removed to make room for newer ones. Call the tool again if you need it.]"

_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_FENCED = re.compile(
    r"^[ \t]*```[ \t]*(?:json|tool_call|tool_code|tool)?[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE
)
_NAME = re.compile(r"\"(?:name|tool)\"\s*:\s*\"([^\"\\]{1,100})\"")
_FORM_TEXTS = {
    "tagged": "To call a tool, write one JSON object between tags, several calls one after the other:\n"
    '<tool_call>\n{"name": "the tool", "arguments": {"field": "value"}}\n</tool_call>',
    "fenced": "To call a tool, write one JSON object in a Markdown block, several calls one after the other:\n"
    '```json\n{"name": "the tool", "arguments": {"field": "value"}}\n```',
    "schema": FORM_TEXT,
}


def texts_digest() -> str:
    """sha256, in hex, of all that an episode says beside the prompt and the tools."""
    texts = json.dumps([STEER, BLOCKED, ASK_AGAIN, DROPPED, _FORM_TEXTS])
    return hashlib.sha256(texts.encode()).hexdigest()


def opening(prompt: Prompt, question: str, tools: Sequence[Tool], form: CallForm) -> list[Turn]:
    """The turns that an episode begins with."""
    turns = list(prompt.render_query(question))
    if form in _FORM_TEXTS:
        listed = [
            json.dumps(
                {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
                ensure_ascii=False,
            )
            for tool in tools
        ]
        told = f"{_FORM_TEXTS[form]}\n\nThe tools:\n" + "\n".join(listed)
        if turns[0].role == "system":
            turns[0] = Message("system", f"{turns[0].content}\n\n{told}")
        else:
            turns.insert(0, Message("system", told))
    return list[Turn](turns)


def split_thinking(text: str) -> tuple[str, str]:
    """(thoughts, the text after them): a model's thinking that stands in its text is no answer. A thought that does not
    end leaves no text."""
    said = after_thinking(text)
    if said is None:
        return text, ""
    return text[: len(text) - len(said)], said


def split_calls(text: str, form: CallForm) -> tuple[str, tuple[ToolCall, ...]]:
    """(the text beside the calls, the calls) of a reply, in the order of the text.

    What stands in a place for calls and is no JSON becomes a call all the same, whose arguments the tool refuses with
    the reason, so that the model can mend it. A Markdown block that names no tool stays text.
    """
    if form == "schema":
        return read_turn(text)
    calls: list[ToolCall] = []

    def taken(match: re.Match[str], *, certain: bool) -> str:
        found = list(_calls(match[1], certain=certain))
        calls.extend(ToolCall(f"call_{len(calls) + at}", name, said) for at, (name, said) in enumerate(found))
        return "" if found else match[0]

    if form in ("tagged", "any"):
        text = _TAGGED.sub(lambda match: taken(match, certain=True), text)
    if form in ("fenced", "any"):
        text = _FENCED.sub(lambda match: taken(match, certain=False), text)
    return (text.strip(), tuple(calls)) if calls else (text, ())


def harmless(output: str) -> str:
    """An output of a tool as a model may read it: control tokens of chat templates, which a document may hold, are
    broken up, so that none of them ends the turn."""
    return enclosed("output", output).partition("\n")[2].rpartition("\n")[0]


def tool_results(outputs: Sequence[str]) -> str:
    """The user's turn that answers calls which stood in a text. No output ends its own block."""
    return "\n".join(enclosed("tool_response", output) for output in outputs)


def _calls(text: str, *, certain: bool) -> Iterator[tuple[str, str]]:
    """(name, arguments as JSON text) of each call in a block."""
    body = re.sub(r"\A```\w*\s*|\s*```\Z", "", text)
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError):
        name = _NAME.search(body)
        if certain or (name and '"arguments"' in body):
            yield (name[1] if name else "", body)
        return
    for item in cast("list[Any]", data) if isinstance(data, list) else [data]:
        fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        if isinstance(fields.get("function"), dict):
            fields = cast("dict[str, Any]", fields["function"])
        name = fields.get("name", fields.get("tool", fields.get("function")))
        arguments = next((fields[key] for key in ("arguments", "parameters", "args") if key in fields), None)
        if isinstance(name, str) and (certain or arguments is not None):
            yield name, arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
        elif certain:
            yield "", body
