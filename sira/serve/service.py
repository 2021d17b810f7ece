"""The service behind every transport: indexes by name, programs, searches, documents, and sessions of the tools.

Synchronous and thread-safe. Methods take the requests of `sira.serve.requests` and give JSON-ready dictionaries; they
raise the errors of `sira.errors` and `sira.serve.faults`, whose texts hold no path of the server. Adapters run them by
`sira.serve.front`, which bounds how many work and wait.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from sira.agent.base import ToolResult
from sira.agent.controller import Controller
from sira.compile import compile_sketch
from sira.compile.settings import CompileSettings
from sira.compile.sketches import sketch_to_json
from sira.errors import InputError, SiraError
from sira.program import Program, program_to_json
from sira.programtext import program_to_text
from sira.records import Sketch, Topic
from sira.search import explain_search
from sira.search.relax import RelaxSettings
from sira.serve import answers
from sira.serve.faults import NoSuchTool
from sira.serve.pool import IndexPool, Opened
from sira.serve.requests import (
    Asking,
    CompileRequest,
    DocumentRequest,
    ExplainRequest,
    FindRequest,
    PiReadRequest,
    PiSearchRequest,
    SearchRequest,
    SessionRequest,
    SketchIn,
    Source,
    TermsRequest,
)
from sira.serve.session_settings import tool_settings
from sira.serve.sessions import SessionFacts, Sessions
from sira.serve.settings import ServeSettings, told
from sira.serve.sketching import SketchModel, no_model
from sira.serve.sources import checked, depth, settings_of, sketch_of, topic_of, within, written_of
from sira.systems import Answer, Compiler, SearchSettings, Sira, compiler_of, search_program
from sira.systems.base import Stopwatch

AnySource = TypeVar("AnySource", bound=Source)
Note = Mapping[str, Any] | None
"""How the sketch of the server's model came about, where `resolve` asked it; it is told in the answer."""

_log = logging.getLogger(__name__)


class Service:
    """Open one a process, and close it. `tag` goes before session ids (see Sessions)."""

    def __init__(self, settings: ServeSettings, *, tag: str = "", model: SketchModel | None = None) -> None:
        """Raises InputError for a policy, categories or a model that cannot be used."""
        self.settings, self.limits = settings, settings.limits
        self.pool = IndexPool(settings.indexes)
        self.sessions = Sessions(self.limits.sessions, self.limits.session_s, self.pool.release, tag)
        self._compilers = {
            guesses: compiler_of(
                CompileSettings(), settings.policy, drop_guesses=guesses, categories=settings.categories
            )
            for guesses in (False, True)
        }
        self._model = model or _model(settings)
        self._closed = threading.Event()
        threading.Thread(target=self._keep_house, name="sira-serve-house", daemon=True).start()

    @property
    def default_index(self) -> str:
        """The one of routes and tools that name none."""
        return self.pool.names[0]

    @property
    def has_model(self) -> bool:
        return self._model is not None

    def close(self) -> None:
        """End the sessions and close the indexes; what still runs keeps its own until it ends."""
        self._closed.set()
        self.sessions.close_all()
        self.pool.close()
        if self._model is not None:
            self._model.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------- indexes

    def ready(self) -> bool:
        """Open every index if they are to be preloaded; whether requests can be answered."""
        if self.settings.preload:
            for name in self.pool.names:
                self.pool.open(name)
        return not self._closed.is_set()

    def facts(self) -> Mapping[str, Any]:
        """The settings that a client may know."""
        return told(self.settings)

    def indexes(self) -> dict[str, Any]:
        """The names that are served, with what is known without opening them."""
        listed = [
            {"name": state.name, "loaded": state.loaded, "generation": state.generation, "fault": state.fault}
            for state in self.pool.states()
        ]
        return {"indexes": listed, "default": self.default_index}

    def manifest(self, index: str) -> dict[str, Any]:
        """What one index is made of. Raises NotFoundError, IndexFault."""
        with self.pool.lease(index) as opened:
            return answers.manifest(opened)

    # ------------------------------------------------------------------------------- sketches, programs, search

    def resolve(self, source: AnySource) -> tuple[AnySource, Note]:
        """A request that asks for the server's model, with the model's sketch in it, and how that came about; any other
        request as it is. Takes seconds. Raises InputError without a model, EnvironmentFault where it gives no reply."""
        if not source.llm:
            return source, None
        checked(source, self.limits)
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

    def compile(self, index: str, asked: CompileRequest, note: Note = None) -> dict[str, Any]:
        """The program of a topic or of a text: JSON, text, clauses and verdicts with df. Raises InputError."""
        asked, note = self._resolved(asked, note)
        with self.pool.lease(index) as opened:
            program, sketch = self._program(opened, asked)
            answer = answers.compiled(opened.index, program)
            if asked.further and (topic := topic_of(asked)) is not None:
                every = self._compiler(asked).searches(topic, sketch, opened.index)
                answer["further"] = [answers.compiled(opened.index, within(item, self.limits)) for item in every[1:]]
            return {**answer, **_sketch_told(sketch, note)}

    def search(self, index: str, asked: SearchRequest, note: Note = None) -> dict[str, Any]:
        """One search. Raises InputError, NotFoundError, IndexFault."""
        with self.pool.lease(index) as opened:
            return self._search(opened, asked, note)

    def batch(
        self, index: str, asked: list[SearchRequest], stopped: Callable[[], bool] = lambda: False
    ) -> list[dict[str, Any] | SiraError]:
        """Searches in their order; one that cannot be carried out has its error in its place. Between two of them
        `stopped` is asked whether to go on. Raises InputError where there are too many."""
        if len(asked) > self.limits.batch:
            raise InputError(f"searches: {len(asked):,}: this server takes {self.limits.batch:,} in one batch")
        found: list[dict[str, Any] | SiraError] = []
        with self.pool.lease(index) as opened:  # all on one build
            for one in asked:
                if stopped():
                    break
                try:
                    found.append(self._search(opened, one))
                except SiraError as error:
                    found.append(error)
        return found

    def explain(self, index: str, asked: ExplainRequest, note: Note = None) -> dict[str, Any]:
        """A search beside plain BM25: rank moves, verdicts with df, contributions, passages with marks. See
        docs/explaining.md for the fields. Raises InputError."""
        depth(asked.k, self.limits.explain_k)
        if len(asked.docids) > self.limits.docids:
            raise InputError(f"docids: {len(asked.docids):,}: this server explains {self.limits.docids:,} at once")
        asked, note = self._resolved(asked, note)
        with self.pool.lease(index) as opened:
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

    # ------------------------------------------------------------------------------------------------ documents

    def document(self, index: str, asked: DocumentRequest) -> dict[str, Any]:
        """Lines of one document; `next_offset` goes on. Raises NotFoundError, InputError."""
        with self.pool.lease(index) as opened:
            return answers.document(opened, asked, self.limits)

    def find(self, index: str, asked: FindRequest) -> dict[str, Any]:
        """Where a text or regular expression stands in one document. Raises NotFoundError, InputError."""
        with self.pool.lease(index) as opened:
            return answers.find(opened, asked, self.limits)

    def terms(self, index: str, asked: TermsRequest) -> dict[str, Any]:
        """df, share and idf of words and phrases. Raises InputError."""
        with self.pool.lease(index) as opened:
            return answers.terms(opened, asked, self.limits)

    # ------------------------------------------------------------------------------------------------- sessions

    def open_session(self, asked: SessionRequest) -> SessionFacts:
        """A session of the paged tools; it stays on the build that it was opened on. Raises NotFoundError, InputError,
        Busy where there are too many."""
        settings = tool_settings(asked, self.limits)
        opened = self.pool.acquire(asked.index)
        try:
            session = self.sessions.add(Controller(opened.index, settings), opened)
        except BaseException:
            self.pool.release(opened)
            raise
        return session.facts

    def session(self, session: str) -> SessionFacts:
        """Raises SessionGone."""
        return self.sessions.get(session).facts

    def call(self, session: str, tool: str, arguments: str | Mapping[str, Any]) -> ToolResult:
        """One call of a tool, with JSON text or an object. What a model can mend comes back as a failure of the result;
        raises SessionGone, Busy, IndexFault."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        found = self.sessions.get(session)
        if tool not in {item.name for item in found.controller.tools}:
            names = ", ".join(item.name for item in found.controller.tools)
            raise NoSuchTool(f"there is no tool of this name in the session: choose {names}")
        with self.pool.hiding(found.index):
            return self.sessions.call(session, tool, text, timeout_s=self.limits.search_s)

    def close_session(self, session: str) -> None:
        """Raises SessionGone."""
        self.sessions.close(session)

    # ----------------------------------------------------------------------------------- Pi-Serini's `http-json`

    def pi_search(self, index: str, asked: PiSearchRequest) -> dict[str, Any]:
        """Plain BM25 by pages of `limit` hits to depth `limits.k`. Raises InputError."""
        if not asked.query.strip():
            raise InputError("query: it is blank: give words to search for")
        checked(Source(query=asked.query), self.limits)
        deepest = min(self.limits.k, asked.offset + asked.limit + 1)
        start = time.perf_counter()
        with self.pool.lease(index) as opened:
            program = compile_sketch(Topic("", asked.query), None, opened.index)
            ranking = opened.index.search(within(program, self.limits), deepest)
            found = answers.pi_search(opened, asked, ranking)
        return {**found, "timingMs": {"search": round(1000 * (time.perf_counter() - start), 3)}}

    def pi_read(self, index: str, asked: PiReadRequest) -> dict[str, Any]:
        """Raises InputError where the index stores no text."""
        with self.pool.lease(index) as opened:
            return answers.pi_read(opened, asked, self.limits)

    # --------------------------------------------------------------------------------------------------- inside

    def _resolved(self, asked: AnySource, note: Note) -> tuple[AnySource, Note]:
        checked(asked, self.limits)
        return self.resolve(asked) if asked.llm else (asked, note)

    def _compiler(self, asked: Source) -> Compiler:
        base = self._compilers[asked.drop_guesses]
        return replace(base, settings=settings_of(asked.settings))

    def _program(self, opened: Opened, asked: Source) -> tuple[Program, Sketch | None]:
        topic = topic_of(asked)
        if topic is None:
            return within(written_of(asked).program(opened.index), self.limits), None
        sketch = sketch_of(asked)
        return within(self._compiler(asked).program(topic, sketch, opened.index), self.limits), sketch

    def _search(self, opened: Opened, asked: SearchRequest, note: Note = None) -> dict[str, Any]:
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

    def _answer(self, opened: Opened, asked: SearchRequest) -> Answer:
        k, index = depth(asked.k, self.limits.k), opened.index
        topic = topic_of(asked)
        relaxing = topic is not None if asked.relax is None else asked.relax
        relax = RelaxSettings() if relaxing else None
        watch = Stopwatch()
        if topic is None or asked.mode == "compiled":
            with watch.timing("compile"):
                program, _ = self._program(opened, asked)
            self.pool.note(opened.name, program)
            return search_program(index, program, k, relax, watch)
        sketch, compiler = sketch_of(asked), self._compiler(asked)
        for program in compiler.searches(topic, sketch, index):
            within(program, self.limits)
        settings = SearchSettings(asked.mode, relax=relax)
        sketches = {} if sketch is None else {topic.qid: sketch}
        return Sira(sketches, compiler, settings, own=False).answer(topic, index, k)

    def _keep_house(self) -> None:
        """Look for new builds, and end sessions that are out of date."""
        while not self._closed.wait(self.settings.refresh_s):
            try:
                self.sessions.expire()
                for name in self.pool.names:
                    self.pool.refresh(name)
            except Exception:  # noqa: BLE001 - the server must not lose its housekeeper
                if not self._closed.is_set():
                    _log.exception("housekeeping failed")


def _sketch_told(sketch: Sketch | None, note: Note) -> dict[str, Any]:
    row = None if sketch is None else sketch_to_json(sketch)
    return {"sketch": row} if note is None else {"sketch": row, "sketch_note": dict(note)}


def _model(settings: ServeSettings) -> SketchModel | None:
    if settings.llm is None:
        return None
    from sira.llm.settings import read_model

    return SketchModel(read_model(settings.llm), settings.prompt)
