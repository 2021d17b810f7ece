"""A tool as MCP tells of it: schemas, title and hints."""

from __future__ import annotations

import mcp_types as types

from sira.llm.base import Tool
from sira.serve.mcp.outputs import OUTPUTS, RANKING_TOOLS

_SESSION = {
    "type": "string",
    "description": "The session that an earlier result named: it holds the rankings. Without it search begins one.",
}


def described(tool: Tool, *, handles: bool, structured: bool) -> types.Tool:
    """A tool as MCP tells of it. `handles`: sessions are named in the arguments."""
    output = OUTPUTS.get(tool.name)
    schema = dict(tool.parameters)
    if handles:
        schema["properties"] = {**schema["properties"], "session": _SESSION}
    if handles and tool.name in RANKING_TOOLS:
        schema["required"] = [*schema["required"], "session"]
    title = output.title if output else tool.name
    return types.Tool(
        name=tool.name,
        title=title,
        description=tool.description,
        input_schema=schema,
        output_schema=output.schema if output and structured else None,
        annotations=types.ToolAnnotations(
            title=title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )
