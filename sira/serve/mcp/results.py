"""What a call gave, as MCP tells it: the text, and beside it the record or the fault."""

from __future__ import annotations

import mcp_types as types

from sira.agent.base import Failure, ToolResult
from sira.errors import InputError, SiraError
from sira.serve.faults import TimedOut
from sira.serve.mcp.outputs import OUTPUTS

FAULT, PAGE = "sira/failure", "sira/page"
"""In `_meta`."""


def told(tool: str, result: ToolResult, handle: str | None, *, structured: bool) -> types.CallToolResult:
    """`handle`: the session that the arguments named, or that the call began."""
    output = OUTPUTS.get(tool)
    text = result.text
    if handle is not None and (output is None or output.whole):
        text += f"\n\nsession={handle}: give it as session in further calls."
    content: list[types.ContentBlock] = [types.TextContent(text=text)]
    if result.failure is not None:
        fault = {**result.details.get("piSearchFailure", {}), "failure": result.failure.value}
        return types.CallToolResult(content=content, is_error=True, _meta={FAULT: fault})
    if output is None or not structured:
        return types.CallToolResult(content=content)
    record = output.record(ToolResult(text, result.details), handle)
    if not output.whole:
        return types.CallToolResult(content=content, _meta={PAGE: record})
    return types.CallToolResult(content=content, structured_content=record)


def failed(tool: str, error: SiraError, text: str) -> types.CallToolResult:
    """A fault as a result; `text` is what of it may be told."""
    failure = Failure.TIMED_OUT if isinstance(error, TimedOut) else Failure.EXECUTION
    if isinstance(error, InputError):
        failure = Failure.INVALID_ARGUMENTS
    return told(tool, ToolResult(f"{tool} failed: {text}.", {}, failure), None, structured=False)
