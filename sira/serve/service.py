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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sira.agent.base import ToolResult
from sira.agent.controller import Controller
from sira.errors import InputError, SiraError
from sira.serve import answers, pi
from sira.serve.faults import NoSuchTool
from sira.serve.pool import IndexPool
from sira.serve.requests import (
    CompileRequest,
    DocumentRequest,
    ExplainRequest,
    FindRequest,
    PiReadRequest,
    PiSearchRequest,
    SearchRequest,
    SessionRequest,
    TermsRequest,
)
from sira.serve.searching import AnySource, Note, Searching
from sira.serve.session_settings import tool_settings
from sira.serve.sessions import SessionFacts, Sessions
from sira.serve.settings import ServeSettings, told
from sira.serve.sketching import SketchModel
from sira.serve.warming import warm_up_topics

__all__ = ["Note", "Service"]

HOUSE_S = 30.0
"""Between looks for sessions that are out of date, at most."""

_log = logging.getLogger(__name__)


class Service:
    """Open one a process, and close it. `tag` goes before session ids (see Sessions)."""

    def __init__(self, settings: ServeSettings, *, tag: str = "", model: SketchModel | None = None) -> None:
        """Raises InputError for a policy, categories, a model or topics that cannot be used."""
        self.settings, self.limits, self.tag = settings, settings.limits, tag
        self.pool = IndexPool(settings.indexes, warm_up_topics(settings.warm_up, self.limits.query_characters))
        self.sessions = Sessions(self.limits.sessions, self.limits.session_s, self.pool.release, tag)
        self._model = model or _model(settings)
        self._searching = Searching(settings, self._model)
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
        return self._searching.resolve(source)

    def compile(self, index: str, asked: CompileRequest, note: Note = None) -> dict[str, Any]:
        """The program of a topic or of a text: JSON, text, clauses and verdicts with df. Raises InputError."""
        with self.pool.lease(index) as opened:
            return self._searching.compile(opened, asked, note)

    def search(self, index: str, asked: SearchRequest, note: Note = None) -> dict[str, Any]:
        """One search. Raises InputError, NotFoundError, IndexFault."""
        with self.pool.lease(index) as opened:
            return self._searching.search(opened, asked, note)

    def batch(
        self, index: str, asked: Sequence[tuple[SearchRequest, Note]], stopped: Callable[[], bool] = lambda: False
    ) -> list[dict[str, Any] | SiraError]:
        """Searches in their order; one that cannot be carried out has its error in its place. Between two of them
        `stopped` is asked whether to go on. Raises InputError where there are too many."""
        if len(asked) > self.limits.batch:
            raise InputError(f"searches: {len(asked):,}: this server takes {self.limits.batch:,} in one batch")
        found: list[dict[str, Any] | SiraError] = []
        with self.pool.lease(index) as opened:  # all on one build
            for one, note in asked:
                if stopped():
                    break
                try:
                    found.append(self._searching.search(opened, one, note))
                except SiraError as error:
                    found.append(error)
        return found

    def explain(self, index: str, asked: ExplainRequest, note: Note = None) -> dict[str, Any]:
        """A search beside plain BM25: rank moves, verdicts with df, contributions, passages with marks. See
        docs/explaining.md for the fields. Raises InputError."""
        with self.pool.lease(index) as opened:
            return self._searching.explain(opened, asked, note)

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

    def call(
        self,
        session: str,
        tool: str,
        arguments: str | Mapping[str, Any],
        stopped: Callable[[], bool] = lambda: False,
    ) -> ToolResult:
        """One call of a tool, with JSON text or an object. What a model can mend comes back as a failure of the result;
        raises SessionGone, Busy, IndexFault. While it waits for its turn, `stopped` is asked whether to give it up."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        found = self.sessions.get(session)
        if tool not in {item.name for item in found.controller.tools}:
            names = ", ".join(item.name for item in found.controller.tools)
            raise NoSuchTool(f"there is no tool of this name in the session: choose {names}")
        with self.pool.hiding(found.index):
            return self.sessions.call(session, tool, text, timeout_s=self.limits.search_s, stopped=stopped)

    def close_session(self, session: str) -> None:
        """Raises SessionGone."""
        self.sessions.close(session)

    # ----------------------------------------------------------------------------------- Pi-Serini's `http-json`

    def pi_search(self, index: str, asked: PiSearchRequest) -> dict[str, Any]:
        """Plain BM25 by pages of `limit` hits to depth `limits.k`. Raises InputError."""
        with self.pool.lease(index) as opened:
            return pi.search(opened, asked, self.limits)

    def pi_read(self, index: str, asked: PiReadRequest) -> dict[str, Any]:
        """Raises InputError where the index stores no text."""
        with self.pool.lease(index) as opened:
            return pi.read(opened, asked, self.limits)

    # --------------------------------------------------------------------------------------------------- inside

    def _keep_house(self) -> None:
        """Look for new builds, and end sessions that are out of date."""
        looked = time.monotonic()
        while not self._closed.wait(min(self.settings.refresh_s, HOUSE_S)):
            try:
                self.sessions.expire()
                if time.monotonic() - looked >= self.settings.refresh_s:
                    looked = time.monotonic()
                    for name in self.pool.names:
                        self.pool.refresh(name)
            except Exception:  # noqa: BLE001 - the server must not lose its housekeeper
                if not self._closed.is_set():
                    _log.exception("housekeeping failed")


def _model(settings: ServeSettings) -> SketchModel | None:
    if settings.llm is None:
        return None
    from sira.llm.settings import read_model

    return SketchModel(read_model(settings.llm), settings.prompt)
