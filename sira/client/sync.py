"""The client of a server of sira; `sira.client.asynchronous` has the same methods for asyncio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Unpack

from sira.client import routes
from sira.client.answers import (
    Compiled,
    DocumentPage,
    Explained,
    Indexes,
    IndexFacts,
    Json,
    Matches,
    SearchPage,
    SessionFacts,
    Terms,
    ToolAnswer,
    Version,
)
from sira.client.connection import Connection, Way
from sira.client.errors import Problem
from sira.client.options import CompileOptions, ExplainOptions, FindOptions, SearchOptions
from sira.client.retries import Retries


class SiraClient:
    """One server, from any number of threads. Close it, or use it in a `with` block: that also ends the calls of other
    threads."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        index: str | None = None,
        timeout_s: float = 75.0,
        retries: int = 0,
        longest_wait_s: float = 10.0,
    ) -> None:
        """`index` is that of calls that name none (the server's default). `timeout_s` is that of each wait for bytes; a
        server gives up after 10 s, and 60 s with its model. `retries`: see Retries. Nothing is sent yet. Raises
        InputError for an address that cannot be one, EnvironmentFault without httpx2."""
        self._connection = Connection(Way.to(url, token, timeout_s, Retries(retries, longest_wait_s)))
        self._index = index

    def health(self) -> Json:
        """That the process answers."""
        return self._connection.run(routes.health())

    def ready(self) -> Json:
        """That it answers searches. Raises UnavailableError."""
        return self._connection.run(routes.ready())

    def version(self) -> Version:
        """Versions and settings."""
        return self._connection.run(routes.version())

    def metrics(self) -> str:
        """Counters, as Prometheus reads them."""
        return self._connection.run(routes.metrics())

    def openapi(self) -> Json:
        """The OpenAPI document."""
        return self._connection.run(routes.openapi())

    def indexes(self) -> Indexes:
        """What is served."""
        return self._connection.run(routes.indexes())

    def manifest(self, index: str | None = None) -> IndexFacts:
        """What one index is made of."""
        return self._connection.run(routes.manifest(self._named(index)))

    def compile(self, index: str | None = None, **options: Unpack[CompileOptions]) -> Compiled:
        """The program of a topic and its sketch, or of a program text."""
        return self._connection.run(routes.compile(self._named(index), **options))

    def search(self, index: str | None = None, **options: Unpack[SearchOptions]) -> SearchPage:
        """One search, such as `search(query="celadon", k=100)`."""
        return self._connection.run(routes.search(self._named(index), **options))

    def batch(self, searches: Iterable[SearchOptions], index: str | None = None) -> tuple[SearchPage | Problem, ...]:
        """Searches in their order; one that cannot be carried out has its error, not raised, in its place."""
        return self._connection.run(routes.batch(self._named(index), searches))

    def explain(self, index: str | None = None, **options: Unpack[ExplainOptions]) -> Explained:
        """A search beside plain BM25."""
        return self._connection.run(routes.explain(self._named(index), **options))

    def document(self, docid: str, offset: int = 1, limit: int = 200, *, index: str | None = None) -> DocumentPage:
        """Lines of a document. Raises AbsentError."""
        return self._connection.run(routes.document(self._named(index), docid, offset, limit))

    def find(self, docid: str, pattern: str, *, index: str | None = None, **options: Unpack[FindOptions]) -> Matches:
        """Every place of a text or a regular expression in one document."""
        return self._connection.run(routes.find(self._named(index), docid, pattern, **options))

    def terms(self, texts: Iterable[str], index: str | None = None) -> Terms:
        """df, share and idf of words and phrases."""
        return self._connection.run(routes.terms(self._named(index), texts))

    def open_session(
        self, profile: str | None = None, settings: Mapping[str, Any] | None = None, *, index: str | None = None
    ) -> SessionFacts:
        """A session of the paged tools; `settings` are the table [tools] of docs/agent-tools.md. Its id is a secret."""
        return self._connection.run(routes.open_session(self._named(index), profile, settings))

    def session(self, session: str) -> SessionFacts:
        """The tools of a session. Raises AbsentError where it has expired."""
        return self._connection.run(routes.session(session))

    def call_tool(self, session: str, tool: str, arguments: str | Mapping[str, Any]) -> ToolAnswer:
        """One call of a tool, with an object or its JSON text; what a model can mend comes back as `failure`."""
        return self._connection.run(routes.call_tool(session, tool, arguments))

    def close_session(self, session: str) -> None:
        """Close a session, and with it its rankings."""
        return self._connection.run(routes.close_session(session))

    def pi_search(self, query: str, limit: int, offset: int = 0, *, index: str | None = None) -> Json:
        """Pi-Serini's http-json search."""
        return self._connection.run(routes.pi_search(index, query, limit, offset))

    def pi_read_document(self, docid: str, offset: int = 1, limit: int = 200, *, index: str | None = None) -> Json:
        """Pi-Serini's http-json read."""
        return self._connection.run(routes.pi_read_document(index, docid, offset, limit))

    def _named(self, index: str | None) -> str:
        """The index of a call; the server's default is asked for once."""
        if index is not None:
            return index
        if self._index is None:
            self._index = (self.indexes()).default
        return self._index

    def close(self) -> None:
        """End the calls that run, which raise ClosedError, and all connections."""
        self._connection.close()

    def __enter__(self) -> SiraClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
