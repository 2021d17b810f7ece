"""One index of a service as MCP serves it: the tools of a session, the manifest and the documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sira.agent.arguments import CallFault
from sira.agent.backend import Backend
from sira.agent.base import ToolResult
from sira.agent.controller import TOOLS, Controller
from sira.agent.settings import ToolSettings
from sira.compile.settings import CompileSettings
from sira.llm.base import Tool
from sira.lucene.reader import Index
from sira.records import Document
from sira.serve.limits import Limits
from sira.serve.mcp.base import Box, Tell
from sira.serve.mcp.compiling import COMPILE, EXPLAIN, Programs, describe_compile, describe_explain
from sira.serve.pool import IndexPool, Opened
from sira.serve.service import Service
from sira.serve.session_settings import bounded
from sira.systems import Compiler, compiler_of

FAULT_CHARACTERS = 1_000


class _AnyIndex:
    """Stands for an index that is not open yet, where only its being one counts."""

    index = cast(Index, object())


def described(settings: ToolSettings, limits: Limits) -> tuple[Tool, ...]:
    """The tools over an index, without opening it: the controller's, then the compiler's."""
    backend = cast(Backend, _AnyIndex())
    own = [spec.describe(settings) for spec in TOOLS if spec.enabled(settings, backend)]
    more = [describe_compile(settings), describe_explain(settings, limits)] if settings.programs else []
    return (*own, *more)


class ServiceBox:
    """The controller of one session, and beside it the compiler's tools, all on one build of the index."""

    def __init__(self, pool: IndexPool, opened: Opened, settings: ToolSettings, programs: Programs | None) -> None:
        self._pool, self._opened, self._programs = pool, opened, programs
        self._controller = Controller(opened.index, settings)
        self._closed = False

    def call(self, name: str, arguments: str, tell: Tell) -> ToolResult:
        if name not in (COMPILE, EXPLAIN) or self._programs is None:
            return self._controller.call(name, arguments)
        try:
            return self._programs.call(self._opened.index, name, arguments, tell)
        except CallFault as fault:
            return _failed(name, fault)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._controller.close()
            self._pool.release(self._opened)


def _failed(name: str, fault: CallFault) -> ToolResult:
    """A failure as the controller tells one: a long text keeps its ends, since the remedy stands last."""
    text = str(fault).encode("utf-8", "backslashreplace").decode()
    if len(text) > FAULT_CHARACTERS:
        text = f"{text[: FAULT_CHARACTERS // 2]} … {text[-FAULT_CHARACTERS // 2 :]}"
    told = {"code": fault.code, "toolName": name, "fieldPath": fault.field}
    return ToolResult(text, {"piSearchFailure": told}, fault.failure)


class ServiceDesk:
    """A new session gets the newest build of the index, and stays on it."""

    def __init__(self, service: Service, name: str, tools: ToolSettings) -> None:
        self._settings = bounded(tools, service.limits)
        self._service, self._name = service, name
        self._tools = described(self._settings, service.limits)
        self._programs = Programs(_compiler(service, tools), self._settings, service.limits)

    @property
    def name(self) -> str:
        return self._name

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self._tools

    def open(self, tell: Tell) -> Box:
        tell("opening the index")
        pool = self._service.pool
        opened = pool.acquire(self._name)
        return ServiceBox(pool, opened, self._settings, self._programs if self._settings.programs else None)

    def manifest(self) -> Mapping[str, Any]:
        return self._service.manifest(self._name)

    def document(self, docid: str) -> Document:
        with self._service.pool.lease(self._name) as opened:
            return opened.index.document(docid)


def _compiler(service: Service, tools: ToolSettings) -> Compiler:
    given = service.settings
    return compiler_of(CompileSettings(scoring=tools.scoring), given.policy, categories=given.categories)


def desks_of(service: Service, tools: ToolSettings) -> dict[str, ServiceDesk]:
    """All indexes of a service, by name, in their order."""
    return {name: ServiceDesk(service, name, tools) for name in service.pool.names}
