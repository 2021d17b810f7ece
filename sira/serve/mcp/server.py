"""The MCP server over desks: lists of tools and resources, and calls.

It knows no transport, but for where a request comes from and which session that makes.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sira import __version__
from sira.agent.base import Failure, ToolResult
from sira.errors import InputError, NotFoundError, SiraError
from sira.serve.faults import Busy, without_any_path
from sira.serve.mcp.base import Desk, McpSettings
from sira.serve.mcp.calls import in_turn
from sira.serve.mcp.describing import described
from sira.serve.mcp.outputs import RANKING_TOOLS
from sira.serve.mcp.resources import document_template, manifest_uri, read_resource
from sira.serve.mcp.results import failed, told
from sira.serve.mcp.sessions import Session, Sessions, passing
from sira.serve.work import Workers

log = logging.getLogger(__name__)
Context = ServerRequestContext[Any, Any]

RESOURCE_NOT_FOUND = -32002
SESSION_HEADER = "mcp-session-id"
PATH = "/mcp"
_INDEX = re.compile(rf"{PATH}(?:/([^/]*))?/?$")
"""The end of an address: `/mcp`, or `/mcp/NAME`."""
FIRST_PROGRESS_S, PROGRESS_S = 0.5, 1.0
MOST_HANDLE = 100
CLIENTS, HANDLES = "client:", "handle:"
"""Before the keys of sessions: what the transport keeps, and what arguments name."""

INSTRUCTIONS = (
    "Search a collection of documents by words (BM25). Begin with search and short queries in the words of the "
    "documents, page deeper with read_search_results before you search again, and read with read_document. "
    "term_statistics tells which words occur at all; compile_sketch makes a weighted search of phrases that you "
    "propose, for search(program=...); explain tells why a search ranks as it does. Long results come in pages: each "
    "page names the call for the next one."
)


class Peer(NamedTuple):
    """Where a request comes from: a client that keeps one connection (`client`), or one that names its session in the
    arguments (None)."""

    client: str | None
    desk: Desk


class Adapter:
    """Handlers of one MCP server over one or more indexes; the address of a request names the index.

    `paths`: faults may tell paths of this machine, since the client is its user. `tag`: that of this process, with
    which the sessions that it names begin; none where it is empty.
    """

    def __init__(
        self,
        desks: Mapping[str, Desk],
        settings: McpSettings,
        *,
        workers: Workers | None = None,
        paths: bool = False,
        tag: str = "",
    ) -> None:
        if not desks:
            raise InputError("mcp: name at least one index")
        self._desks, self._settings = dict(desks), settings
        self._paths = paths
        self.before = f"{tag}." if tag else ""
        limits = settings.limits
        self._own_workers = workers is None
        self._workers = workers or Workers(limits.searching_threads, limits.queue, "sira-mcp")
        self._sessions = Sessions(limits.sessions, limits.session_s)
        self._waiting = 0

    @property
    def sessions(self) -> Sessions:
        return self._sessions

    @property
    def workers(self) -> Workers:
        return self._workers

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._desks)

    def serves(self, path: str) -> bool:
        """Whether an index stands at the path of an address."""
        return self._named(path) is not None

    def server(self) -> Server[Any]:
        """A server of the SDK's with these handlers."""
        return Server(
            "sira",
            version=__version__,
            title="sira: search with BM25 programs",
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            # No argument is a header, too: it need not look into the list of tools at each call.
            get_tool_input_schema=lambda _: None,
        )

    def close(self, timeout_s: float = 0.0) -> bool:
        """End all sessions; whether every call had ended."""
        ended = self._workers.close(timeout_s) if self._own_workers else True
        self._sessions.close()
        return ended

    async def list_tools(self, ctx: Context, _: Any) -> types.ListToolsResult:
        peer = self._peer(ctx)
        structured = self._settings.structured
        return types.ListToolsResult(
            tools=[described(tool, handles=peer.client is None, structured=structured) for tool in peer.desk.tools]
        )

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Protocol faults are raised; what the model can mend, and what only time can, is a result with isError."""
        peer = self._peer(ctx)
        if all(tool.name != params.name for tool in peer.desk.tools):
            names = ", ".join(tool.name for tool in peer.desk.tools)
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool {params.name[:200]!r}: there are {names}")
        arguments = dict(params.arguments or {})
        begins, handle = peer.client is None and arguments.get("session") is None, None
        done = False
        try:
            if peer.client is not None:
                key = (peer.client, peer.desk.name)
                session = self._sessions.find(key) or self._sessions.new(key)
            else:
                session, handle = self._by_handle(peer.desk, params.name, arguments)
            result = await self._carried_out(ctx, peer.desk, session, params.name, arguments)
            done = result.failure is None or not begins
        except SiraError as error:
            return failed(params.name, error, self._safe(error))
        finally:
            if handle is not None and begins and not done:  # nobody learns of it: the call failed or was cancelled
                self._sessions.end(HANDLES + handle)
        return told(params.name, result, handle if done else None, structured=self._settings.structured)

    async def list_resources(self, ctx: Context, _: Any) -> types.ListResourcesResult:
        name = self._peer(ctx).desk.name
        manifest = types.Resource(
            uri=manifest_uri(name),
            name=f"{name}-manifest",
            title=f"What the index {name} is",
            description="Counts, analyzer, fields, scoring and fingerprint.",
            mime_type="application/json",
        )
        return types.ListResourcesResult(resources=[manifest])

    async def list_templates(self, ctx: Context, _: Any) -> types.ListResourceTemplatesResult:
        name = self._peer(ctx).desk.name
        documents = types.ResourceTemplate(
            uri_template=document_template(name),
            name=f"{name}-document",
            title=f"A document of {name}",
            description="The text by docid (percent-encoded); long ones by offset and limit, lines from 1.",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[documents])

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        desk, uri = self._peer(ctx).desk, str(params.uri)
        session = passing()
        try:
            content = await self._in_thread(ctx, session, lambda _: read_resource(desk, uri))
        except NotFoundError as error:
            raise MCPError(RESOURCE_NOT_FOUND, self._safe(error), {"uri": uri[:1000]}) from None
        except InputError as error:
            raise MCPError(types.INVALID_PARAMS, self._safe(error)) from None
        except SiraError as error:
            raise MCPError(types.INTERNAL_ERROR, self._safe(error)) from None
        text = types.TextResourceContents(uri=params.uri, mime_type=content.mime_type, text=content.text)
        return types.ReadResourceResult(contents=[text])

    # ------------------------------------------------------------------------------------------------- sessions

    def _peer(self, ctx: Context) -> Peer:
        """Without an HTTP request: the one client of stdio. With one: by its session, where the protocol has one; since
        2026-07-28 it has none."""
        if ctx.request is None:
            return Peer("", next(iter(self._desks.values())))
        desk = self._named(ctx.request.url.path)
        if desk is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no index here: there are {', '.join(self._desks)}")
        header = ctx.request.headers.get(SESSION_HEADER)
        if header is None or ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return Peer(None, desk)
        return Peer(CLIENTS + header, desk)

    def _named(self, path: str) -> Desk | None:
        found = _INDEX.search(path)
        name = unquote(found[1] or "") if found else ""
        return self._desks.get(name) if name else next(iter(self._desks.values()))

    def ended(self, header: str) -> None:
        """A client has ended its session."""
        self._sessions.end(CLIENTS + header)

    def _by_handle(self, desk: Desk, tool: str, arguments: dict[str, Any]) -> tuple[Session, str | None]:
        """The session that the arguments name; a new one for a search without; a passing one for what needs none."""
        handle = arguments.pop("session", None)
        if handle is None:
            if tool in RANKING_TOOLS:
                raise InputError(f"{tool} needs the session that search named: give it as session")
            if tool != "search":
                return passing(), None
            handle = self.before + secrets.token_urlsafe(16)
            return self._sessions.new((HANDLES + handle, desk.name)), handle
        session = self._sessions.find((HANDLES + handle, desk.name)) if isinstance(handle, str) else None
        if session is None:
            raise NotFoundError(
                f"session {str(handle)[:MOST_HANDLE]!r} is not here: it was not used for long, or its process has "
                "ended. Call search without session, and use the one that it names"
            )
        return session, handle

    async def _carried_out(
        self, ctx: Context, desk: Desk, session: Session, tool: str, arguments: dict[str, Any]
    ) -> ToolResult:
        text = json.dumps(arguments, ensure_ascii=False)

        def work(tell: Callable[[str], None]) -> ToolResult:
            if session.box is None:
                session.box = desk.open(tell)
            tell(tool)
            return session.box.call(tool, text, tell)

        try:
            return await self._in_thread(ctx, session, work)
        except SiraError:
            raise
        except Exception as error:  # noqa: BLE001 - one call fails, and the server goes on
            log.error("tool %s: %s", tool, "".join(traceback.format_exception(error)))
            text = f"{tool} failed inside the server ({type(error).__name__}): try another call."
            return ToolResult(text, {}, Failure.EXECUTION)

    async def _in_thread(self, ctx: Context, session: Session, work: Callable[[Callable[[str], None]], Any]) -> Any:
        """`work` in the session's turn; it is given a function that says what it is at, and the client hears of it."""
        limits = self._settings.limits
        if self._waiting >= limits.queue + limits.searching_threads:
            raise Busy(f"{self._waiting} calls run or wait already: try the same call again in a few seconds")
        stage, last = ["waiting"], [0.0]

        async def tick(seconds: float) -> None:
            if seconds - last[0] >= (PROGRESS_S if last[0] else FIRST_PROGRESS_S):
                last[0] = seconds
                await ctx.session.report_progress(round(seconds, 1), None, f"{stage[0]}, {seconds:.0f} s")

        def tell(text: str) -> None:
            stage[0] = text

        self._waiting += 1
        self._sessions.begin(session)
        try:
            return await in_turn(
                self._workers,
                session.lock,
                lambda: work(tell),
                timeout_s=self._settings.call_s,
                ended=lambda: self._sessions.finish(session),
                tick=tick,
            )
        finally:
            self._waiting -= 1

    def _safe(self, error: SiraError) -> str:
        text = str(error)
        return text if self._paths or isinstance(error, InputError) else without_any_path(text)
