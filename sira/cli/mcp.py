"""`sira mcp`: the tools over an index for one MCP client, on stdin and stdout."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sira.cli.options import add_heap
from sira.errors import InputError

if TYPE_CHECKING:
    from sira.serve.mcp.wire import Wire

HELP = "serve the tools over an index to an MCP client, on stdin and stdout"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{HELP}; logs go to stderr. An MCP client starts this command itself: docs/mcp.md has its settings. The index "
        "is opened by the first call that needs it. Ends when stdin is closed. `sira serve` serves many clients."
    )
    add = parser.add_argument
    add("index", metavar="[NAME=]INDEX", help="the index folder; NAME stands in the addresses of its documents")
    add("--tools", type=Path, metavar="FILE", help="TOML with a table [tools] (docs/agent-tools.md)")
    add("--profile", metavar="NAME", help="the tools of a profile: sira (default) or pi-serini")
    add("--call-seconds", type=float, default=60.0, metavar="S", help="the longest that one call may take (60)")
    add("--text-only", action="store_true", help="no structuredContent: for clients that show their model both")
    add_heap(parser)


def run(arguments: argparse.Namespace) -> int:
    from sira.serve.mcp.wire import claim
    from sira.serve.settings import index_folders, without_index

    folders = index_folders([arguments.index])
    without_index(folders.values())
    if arguments.tools and arguments.profile:
        raise InputError("--profile: the file of --tools names its profile; give one of the two")
    if sys.stdin.isatty():
        print("sira: an MCP client starts this command and speaks to it (docs/mcp.md); Ctrl-D ends it", file=sys.stderr)
    wire = claim()  # before a library is loaded that could print
    status = _served(arguments, folders, wire)
    # Calls that cannot be stopped hold threads, and Java waits for them.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _served(arguments: argparse.Namespace, folders: Mapping[str, Path], wire: Wire) -> int:
    from sira.agent.settings import SIRA, tool_profile
    from sira.agent.tables import read_tools
    from sira.cli.options import use_heap
    from sira.serve.mcp.base import McpSettings
    from sira.serve.mcp.desks import desks_of
    from sira.serve.mcp.server import Adapter
    from sira.serve.mcp.stdio import serve_stdio
    from sira.serve.service import Service
    from sira.serve.settings import ServeSettings

    use_heap(arguments)
    tools = tool_profile(arguments.profile) if arguments.profile else SIRA
    if arguments.tools:
        tools, backend = read_tools(arguments.tools)
        if backend is not None:
            raise InputError(f"{arguments.tools}: [backend] is for `sira agent -`: sira mcp serves an index")
    settings = McpSettings(tools, call_s=arguments.call_seconds, structured=not arguments.text_only)
    service = Service(ServeSettings(folders, limits=settings.limits))
    return serve_stdio(Adapter(desks_of(service, tools), settings, paths=True), wire)
