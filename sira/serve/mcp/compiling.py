"""The tools compile_sketch and explain: what the compiler makes of a sketch, and why a search ranks as it does."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, cast

from sira.agent.arguments import Arguments, shown
from sira.agent.base import ToolResult
from sira.agent.session import REASON, object_schema, string, whole
from sira.agent.settings import ToolSettings
from sira.compile.sketches import sketch_from_json
from sira.errors import InputError
from sira.llm.base import Tool
from sira.lucene.reader import Index
from sira.program import Program, program_from_json
from sira.programtext import bind, parse_query
from sira.records import Sketch, Topic
from sira.search import explain_search
from sira.serve.limits import Limits
from sira.serve.mcp.base import Tell
from sira.serve.mcp.compiled_text import COMPILE, EXPLAIN, Wanted, compiled, explained
from sira.serve.sources import within
from sira.systems import Compiler

QID = "topic"
EXPLAINED = 5
PAGE_LINES = 200

_SKETCH: dict[str, Any] = {
    "type": "object",
    "description": (
        "What the evidence will probably say, never a guessed answer: phrases (texts, or objects with text, role "
        '"should", "must" or "must_not", and weight from 0; 1 is usual), and facets of the form field:value and '
        "ranges with field, gte, lte where the index has them."
    ),
    "properties": {
        "phrases": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "properties": {
                            "text": {"type": "string"},
                            "role": {"type": "string", "enum": ["should", "must", "must_not"]},
                            "weight": {"type": "number"},
                        },
                        "required": ["text"],
                    },
                ]
            },
        },
        "facets": {"type": "array", "items": {"type": "string"}},
        "ranges": {"type": "array", "items": {"type": "object"}},
    },
}
_TOPIC = string("The question, or its words. They are searched as they are; the sketch adds to them.")
_PROGRAM = {
    "description": "In place of topic and sketch: a program, as search takes it.",
    "anyOf": [{"type": "string"}, {"type": "object"}],
}


def describe_compile(settings: ToolSettings) -> Tool:
    properties = {
        "reason": REASON,
        "topic": _TOPIC,
        "sketch": _SKETCH,
        "offset": whole("The first line of the result to show, from 1. Default 1."),
        "limit": whole(f"How many lines to show. Default {PAGE_LINES}."),
    }
    text = (
        "Check proposed phrases against the collection and make a weighted search of those that pass: words that no "
        "document holds or that too many hold are dropped, each with a verdict. The program that comes back can be "
        "given to search(program=...)."
    )
    return Tool(COMPILE, text, object_schema(("reason", "topic"), properties, strict=settings.strict_fields))


def describe_explain(settings: ToolSettings, limits: Limits) -> Tool:
    properties = {
        "reason": REASON,
        "topic": _TOPIC,
        "sketch": _SKETCH,
        "program": _PROGRAM,
        "docids": {
            "type": "array",
            "items": {"type": "string"},
            "description": f"Documents to explain too where they are no hits: up to {limits.docids}.",
        },
        "offset": whole("The first rank to explain, from 1. Default 1."),
        "limit": whole(f"How many ranks to explain. Default {EXPLAINED}."),
    }
    text = (
        "Why a search ranks as it does: its hits beside plain BM25, what each clause adds to a hit, what dropped "
        f"phrases would have found, and why named documents are missed. Down to rank {limits.explain_k}."
    )
    return Tool(EXPLAIN, text, object_schema(("reason",), properties, strict=settings.strict_fields))


class Programs:
    """The tools over one compiler; `call` is for any build of the index."""

    def __init__(self, compiler: Compiler, settings: ToolSettings, limits: Limits) -> None:
        self._compiler, self._settings, self._limits = compiler, settings, limits
        tools = (describe_compile(settings), describe_explain(settings, limits))
        self._known = {tool.name: tuple(tool.parameters["properties"]) for tool in tools}

    def call(self, index: Index, tool: str, arguments: str, tell: Tell) -> ToolResult:
        """Carry out one call; `arguments` is JSON text. Raises CallFault for what a model can mend."""
        given = Arguments(tool, arguments, self._known[tool], strict=self._settings.strict_fields)
        given.text("reason", blank=True)
        return self._compile(index, given) if tool == COMPILE else self._explain(index, given, tell)

    def _compile(self, index: Index, arguments: Arguments) -> ToolResult:
        """The program, its clauses and the verdicts."""
        topic, sketch = self._topic(arguments)
        offset, limit = arguments.number("offset", 1), arguments.number("limit", PAGE_LINES)
        program = self._compiled(index, arguments, topic, sketch)
        wanted = Wanted(offset, limit, _call(arguments))
        return compiled(program, index.document_count, self._settings, wanted)

    def _explain(self, index: Index, arguments: Arguments, tell: Tell) -> ToolResult:
        """Hits from rank `offset` on, and at offset 1 also what was lost."""
        deepest = self._limits.explain_k
        offset, limit = arguments.number("offset", 1), arguments.number("limit", EXPLAINED)
        docids = arguments.texts("docids", self._limits.docids) if "docids" in arguments else []
        if offset > deepest:
            raise arguments.fault("offset", f"explain goes down to rank {deepest}: give 1 to {deepest}.")
        sketch = None
        if "program" in arguments:
            if "topic" in arguments or "sketch" in arguments:
                raise arguments.fault("program", "give either program, or topic and sketch.")
            program = self._given(index, arguments)
        else:
            topic, sketch = self._topic(arguments)
            program = self._compiled(index, arguments, topic, sketch)
        tell("explaining")
        try:
            found = explain_search(index, program, min(offset + limit - 1, deepest), sketch=sketch, missed=docids)
        except InputError as error:
            raise arguments.fault("program", f"{error}.") from None
        return explained(found, self._settings, Wanted(offset, limit, _call(arguments)), deepest)

    def _topic(self, arguments: Arguments) -> tuple[str, Sketch | None]:
        topic = arguments.text("topic").strip()
        if len(topic) > self._limits.query_characters:
            raise arguments.fault("topic", f"topic has more than {self._limits.query_characters:,} characters.")
        given = arguments.raw("sketch")
        if given is None:
            return topic, None
        if not isinstance(given, dict):
            raise arguments.fault("sketch", "sketch must be an object with phrases.")
        data = cast("dict[str, Any]", given)
        if extra := sorted(set(data) - set(_SKETCH["properties"])):
            raise arguments.fault("sketch", f"sketch has no field {shown(extra[0])}: give phrases, facets, ranges.")
        parts = [data.get(name) for name in _SKETCH["properties"]]
        if sum(len(cast("list[Any]", part)) for part in parts if isinstance(part, list)) > self._limits.phrases:
            raise arguments.fault("sketch", f"sketch has more than {self._limits.phrases} parts: give the best ones.")
        try:
            return topic, sketch_from_json({"phrases": [], **data, "qid": QID}, "sketch")
        except InputError as error:
            told = str(error).removeprefix(f"sketch: topic '{QID}': ")
            raise arguments.fault("sketch", f"sketch: {told}.") from None

    def _compiled(self, index: Index, arguments: Arguments, topic: str, sketch: Sketch | None) -> Program:
        try:
            return within(self._compiler.program(Topic(QID, topic), sketch, index), self._limits)
        except InputError as error:
            raise arguments.fault("topic", f"{error}.") from None

    def _given(self, index: Index, arguments: Arguments) -> Program:
        given, scoring = arguments.raw("program"), self._settings.scoring
        try:
            if isinstance(given, str):
                return within(bind(parse_query(arguments.text("program").strip()), index, scoring), self._limits)
            if not isinstance(given, dict):
                raise arguments.fault("program", "program must be a text or an object: the JSON of a compiled program.")
            data = {"qid": "", "scoring": asdict(scoring), **cast("dict[str, Any]", given)}
            return within(program_from_json(data), self._limits)
        except InputError as error:
            raise arguments.fault("program", f"{error}.") from None


def _call(arguments: Arguments) -> dict[str, Any]:
    """What to write again for the next page; what is long is hinted at."""
    again: dict[str, Any] = {}
    for name in ("topic", "sketch", "program", "docids"):
        if name in arguments:
            value = arguments.raw(name)
            again[name] = value if len(json.dumps(value)) <= 200 else "..."
    return again
