"""The tools of one question: a call comes as a name and JSON text, and goes out as one result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sira.agent.arguments import Arguments, CallFault, shown
from sira.agent.backend import Backend, BackendFault, IndexBackend
from sira.agent.base import Failure, ToolResult
from sira.agent.citations import Citations, check_citations
from sira.agent.finding import FIND_TOOLS
from sira.agent.ledger import Ledger
from sira.agent.reading import READ_TOOLS
from sira.agent.searching import SEARCH_TOOLS
from sira.agent.session import Session, ToolSpec
from sira.agent.settings import SIRA, ToolSettings
from sira.agent.term_statistics import TERM_TOOLS
from sira.llm.base import Tool
from sira.lucene.reader import Index

TOOLS: tuple[ToolSpec, ...] = (*SEARCH_TOOLS, *READ_TOOLS, *FIND_TOOLS, *TERM_TOOLS)
"""Every tool, in the order in which a model is told of them."""

FAULT_CHARACTERS = 1_000


class Controller:
    """A ToolBox over one backend; it knows neither a model nor a loop. One controller a question, one thread at a time.

    `source` is an open index, which many controllers share, or another backend. `status_line` is asked after each call
    and its text, where it has one, stands below the result.
    """

    def __init__(
        self,
        source: Index | Backend,
        settings: ToolSettings = SIRA,
        *,
        status_line: Callable[[], str] | None = None,
    ) -> None:
        backend = IndexBackend(source, settings.scoring) if isinstance(source, Index) else source
        self._session = Session(backend, settings)
        self._specs = {spec.name: spec for spec in TOOLS if spec.enabled(settings, backend)}
        self._tools = tuple(spec.describe(settings) for spec in self._specs.values())
        self._status_line = status_line

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self._tools

    @property
    def ledger(self) -> Ledger:
        """What was found, seen and opened so far."""
        return self._session.ledger

    @property
    def facts(self) -> Mapping[str, Any]:
        """Settings and backend, for the record. JSON-ready."""
        return {"tools": self._session.settings.to_json(), "backend": dict(self._session.backend.facts)}

    def call(self, name: str, arguments: str) -> ToolResult:
        """Carry out one call; see ToolBox. Raises what is a fault of the index or the machine, such as IndexFault."""
        result = self._result(name, arguments)
        line = self._status_line() if self._status_line is not None else ""
        return ToolResult(f"{result.text}\n\n{line}", result.details, result.failure) if line else result

    def check_citations(self, text: str) -> Citations:
        """The citations of a final text against what this controller has shown."""
        return check_citations(text, self.ledger)

    def close(self) -> None:
        """Remove what was written for this question. A second time does no harm."""
        self._session.spills.clean()

    def __enter__(self) -> Controller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _result(self, name: str, text: str) -> ToolResult:
        spec = self._specs.get(name)
        if spec is None:
            told = f"There is no tool {shown(name)}: call one of {', '.join(self._specs)}."
            return _failed(name, CallFault(told, failure=Failure.UNKNOWN_TOOL))
        tool = next(tool for tool in self._tools if tool.name == name)
        known = tuple(tool.parameters["properties"])
        try:
            return spec.run(self._session, Arguments(name, text, known, strict=self._session.settings.strict_fields))
        except CallFault as fault:
            return _failed(name, fault)
        except BackendFault as fault:
            told = CallFault(f"{name} failed: {fault}. Try the call again, or another one.", failure=Failure.EXECUTION)
            told.code = fault.code
            return _failed(name, told)


def _failed(name: str, fault: CallFault) -> ToolResult:
    field = None if fault.field is None else fault.field.encode("utf-8", "replace").decode()
    told = {"code": fault.code, "toolName": name[:200].encode("utf-8", "replace").decode(), "fieldPath": field}
    text = str(fault).encode("utf-8", "backslashreplace").decode()
    if len(text) > FAULT_CHARACTERS:  # it repeats something long; the remedy stands at the end
        text = f"{text[: FAULT_CHARACTERS // 2]} … {text[-FAULT_CHARACTERS // 2 :]}"
    return ToolResult(text, {"piSearchFailure": told}, fault.failure)
