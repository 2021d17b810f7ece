"""What a request searches for, carried out on one open build of an index: programs, searches, explanations."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from sira.compile.settings import CompileSettings
from sira.compile.sketches import sketch_to_json
from sira.errors import InputError
from sira.program import Program, program_to_json
from sira.programtext import program_to_text
from sira.records import Sketch
from sira.search import explain_search
from sira.search.relax import RelaxSettings
from sira.serve import answers
from sira.serve.pool import Opened
from sira.serve.requests import Asking, CompileRequest, ExplainRequest, SearchRequest, SketchIn, Source
from sira.serve.settings import ServeSettings
from sira.serve.sketching import SketchModel, no_model
from sira.serve.sources import checked, depth, settings_of, sketch_of, topic_of, within, written_of
from sira.systems import Answer, Compiler, SearchSettings, Sira, compiler_of, search_program
from sira.systems.base import Stopwatch

AnySource = TypeVar("AnySource", bound=Source)
Note = Mapping[str, Any] | None
"""How the sketch of the server's model came about, where `resolve` asked it; it is told in the answer."""


class Searching:
    """Within the server's limits, by its compilers and its model (None: requests that ask for one are refused)."""

    def __init__(self, settings: ServeSettings, model: SketchModel | None) -> None:
        """Raises InputError for a policy or categories that cannot be used."""
        self._limits, self._model = settings.limits, model
        self._compilers = {
            guesses: compiler_of(
                CompileSettings(), settings.policy, drop_guesses=guesses, categories=settings.categories
            )
            for guesses in (False, True)
        }

    def resolve(self, source: AnySource) -> tuple[AnySource, Note]:
        """A request that asks for the server's model, with the model's sketch in it, and how that came about; any other
        request as it is. Takes seconds. Raises InputError without a model, EnvironmentFault where it gives no reply."""
        if not source.llm:
            return source, None
        checked(source, self._limits)
        topic = topic_of(source)
        if self._model is None or topic is None:
            raise no_model()
        if not topic.text.strip():
            raise InputError("topic: it is blank: give the model something to sketch")
        asking = source.llm if isinstance(source.llm, Asking) else Asking.model_validate({})
        sketch, note = self._model.sketch(topic, asking)
        row = {name: value for name, value in sketch_to_json(sketch).items() if name != "qid"}
        given = SketchIn.model_validate({**row, "provenance": {"model": "of the server"}})
        return source.model_copy(update={"sketch": given, "llm": False}), note

    # Raise InputError for what cannot be carried out.

    def compile(self, opened: Opened, asked: CompileRequest, note: Note) -> dict[str, Any]:
        asked, note = self._resolved(asked, note)
        program, sketch = self._program(opened, asked)
        answer = answers.compiled(opened.index, program)
        if asked.further and (topic := topic_of(asked)) is not None:
            every = self._compiler(asked).searches(topic, sketch, opened.index)
            answer["further"] = [answers.compiled(opened.index, within(item, self._limits)) for item in every[1:]]
        return {**answer, **_sketch_told(sketch, note)}

    def search(self, opened: Opened, asked: SearchRequest, note: Note = None) -> dict[str, Any]:
        asked, note = self._resolved(asked, note)
        answer = answers.page(
            opened,
            self._answer(opened, asked),
            offset=asked.offset,
            limit=asked.limit,
            titles=asked.titles,
            programs=asked.with_program,
        )
        return answer if note is None else {**answer, **_sketch_told(sketch_of(asked), note)}

    def explain(self, opened: Opened, asked: ExplainRequest, note: Note) -> dict[str, Any]:
        depth(asked.k, self._limits.explain_k)
        if len(asked.docids) > self._limits.docids:
            raise InputError(f"docids: {len(asked.docids):,}: this server explains {self._limits.docids:,} at once")
        asked, note = self._resolved(asked, note)
        program, sketch = self._program(opened, asked)
        start = time.perf_counter()
        found = explain_search(opened.index, program, asked.k, sketch=sketch, missed=asked.docids)
        took_ms = 1000 * (time.perf_counter() - start)
        compiled = answers.compiled(opened.index, program)
        answer = {
            **found.to_json(),
            "program_text": program_to_text(program),
            "plain": program_to_json(found.plain),
            "clauses": compiled["clauses"],
            "verdicts": compiled["verdicts"],
            "took_ms": round(took_ms, 3),
        }
        return answer if note is None else {**answer, "sketch_note": dict(note)}

    def _resolved(self, asked: AnySource, note: Note) -> tuple[AnySource, Note]:
        checked(asked, self._limits)
        return self.resolve(asked) if asked.llm else (asked, note)

    def _compiler(self, asked: Source) -> Compiler:
        base = self._compilers[asked.drop_guesses]
        return replace(base, settings=settings_of(asked.settings))

    def _program(self, opened: Opened, asked: Source) -> tuple[Program, Sketch | None]:
        topic = topic_of(asked)
        if topic is None:
            return within(written_of(asked).program(opened.index), self._limits), None
        sketch = sketch_of(asked)
        return within(self._compiler(asked).program(topic, sketch, opened.index), self._limits), sketch

    def _answer(self, opened: Opened, asked: SearchRequest) -> Answer:
        k, index = depth(asked.k, self._limits.k), opened.index
        topic = topic_of(asked)
        relaxing = topic is not None if asked.relax is None else asked.relax
        relax = RelaxSettings() if relaxing else None
        watch = Stopwatch()
        if topic is None or asked.mode == "compiled":
            with watch.timing("compile"):
                program, _ = self._program(opened, asked)
            answer = search_program(index, program, k, relax, watch)
            opened.remember(program)
            return answer
        sketch, compiler = sketch_of(asked), self._compiler(asked)
        for program in compiler.searches(topic, sketch, index):
            within(program, self._limits)
        settings = SearchSettings(asked.mode, relax=relax)
        sketches = {} if sketch is None else {topic.qid: sketch}
        return Sira(sketches, compiler, settings, own=False).answer(topic, index, k)


def _sketch_told(sketch: Sketch | None, note: Note) -> dict[str, Any]:
    row = None if sketch is None else sketch_to_json(sketch)
    return {"sketch": row} if note is None else {"sketch": row, "sketch_note": dict(note)}
