"""The client of a server of sira for asyncio; `sira.client.sync` has the same methods without await."""

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
from sira.client.connection import AsyncConnection, Way
from sira.client.errors import Problem
from sira.client.options import CompileOptions, ExplainOptions, FindOptions, SearchOptions
from sira.client.retries import Retries


class AsyncSiraClient:
    """One server, from one event loop. Close it, or use it in an `async with` block: that also ends the calls of other
    tasks."""

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
        self._connection = AsyncConnection(Way.to(url, token, timeout_s, Retries(retries, longest_wait_s)))
        self._index = index

    async def health(self) -> Json:
        """That the process answers."""
        return await self._connection.run(routes.health())

    async def ready(self) -> Json:
        """That it answers searches. Raises UnavailableError."""
        return await self._connection.run(routes.ready())

    async def version(self) -> Version:
        """Versions and settings."""
        return await self._connection.run(routes.version())

    async def metrics(self) -> str:
        """Counters, as Prometheus reads them."""
        return await self._connection.run(routes.metrics())

    async def openapi(self) -> Json:
        """The OpenAPI document."""
        return await self._connection.run(routes.openapi())

    async def indexes(self) -> Indexes:
        """What is served."""
        return await self._connection.run(routes.indexes())

    async def manifest(self, index: str | None = None) -> IndexFacts:
        """What one index is made of."""
        return await self._connection.run(routes.manifest(await self._named(index)))

    async def compile(self, index: str | None = None, **options: Unpack[CompileOptions]) -> Compiled:
        """The program of a topic and its sketch, or of a program text."""
        return await self._connection.run(routes.compile(await self._named(index), **options))

    async def search(self, index: str | None = None, **options: Unpack[SearchOptions]) -> SearchPage:
        """One search, such as `search(query="celadon", k=100)`."""
        return await self._connection.run(routes.search(await self._named(index), **options))

    async def batch(
        self, searches: Iterable[SearchOptions], index: str | None = None
    ) -> tuple[SearchPage | Problem, ...]:
        """Searches in their order; one that cannot be carried out has its error, not raised, in its place."""
        return await self._connection.run(routes.batch(await self._named(index), searches))

    async def explain(self, index: str | None = None, **options: Unpack[ExplainOptions]) -> Explained:
        """A search beside plain BM25."""
        return await self._connection.run(routes.explain(await self._named(index), **options))

    async def document(
        self, docid: str, offset: int = 1, limit: int = 200, *, index: str | None = None
    ) -> DocumentPage:
        """Lines of a document. Raises AbsentError."""
        return await self._connection.run(routes.document(await self._named(index), docid, offset, limit))

    async def find(
        self, docid: str, pattern: str, *, index: str | None = None, **options: Unpack[FindOptions]
    ) -> Matches:
        """Every place of a text or a regular expression in one document."""
        return await self._connection.run(routes.find(await self._named(index), docid, pattern, **options))

    async def terms(self, texts: Iterable[str], index: str | None = None) -> Terms:
        """df, share and idf of words and phrases."""
        return await self._connection.run(routes.terms(await self._named(index), texts))

    async def open_session(
        self, profile: str | None = None, settings: Mapping[str, Any] | None = None, *, index: str | None = None
    ) -> SessionFacts:
        """A session of the paged tools; `settings` are the table [tools] of docs/agent-tools.md. Its id is a secret."""
        return await self._connection.run(routes.open_session(await self._named(index), profile, settings))

    async def session(self, session: str) -> SessionFacts:
        """The tools of a session. Raises AbsentError where it has expired."""
        return await self._connection.run(routes.session(session))

    async def call_tool(self, session: str, tool: str, arguments: str | Mapping[str, Any]) -> ToolAnswer:
        """One call of a tool, with an object or its JSON text; what a model can mend comes back as `failure`."""
        return await self._connection.run(routes.call_tool(session, tool, arguments))

    async def close_session(self, session: str) -> None:
        """Close a session, and with it its rankings."""
        return await self._connection.run(routes.close_session(session))

    async def pi_search(self, query: str, limit: int, offset: int = 0, *, index: str | None = None) -> Json:
        """Pi-Serini's http-json search."""
        return await self._connection.run(routes.pi_search(index, query, limit, offset))

    async def pi_read_document(
        self, docid: str, offset: int = 1, limit: int = 200, *, index: str | None = None
    ) -> Json:
        """Pi-Serini's http-json read."""
        return await self._connection.run(routes.pi_read_document(index, docid, offset, limit))

    async def _named(self, index: str | None) -> str:
        """The index of a call; the server's default is asked for once."""
        if index is not None:
            return index
        if self._index is None:
            self._index = (await self.indexes()).default
        return self._index

    async def aclose(self) -> None:
        """End the calls that run, which raise ClosedError, and all connections."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncSiraClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
