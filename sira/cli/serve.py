"""`sira serve`: indexes, the compiler and the paged tools for other processes, over HTTP and MCP."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.cli.options import add_heap, refuse
from sira.errors import InputError

if TYPE_CHECKING:
    from sira.serve.settings import HttpSettings, ServeSettings

HELP = "serve indexes, the compiler and the paged tools over HTTP and MCP, with a page to look at"

# The defaults of ServeSettings and HttpSettings, written out so that `--help` imports neither (a test compares them).
SETTINGS: dict[str, Any] = {"host": "127.0.0.1", "port": 8321, "workers": 1, "refresh_s": 2.0}

_DEFAULTS: dict[str, Any] = {
    **SETTINGS,
    **dict.fromkeys(
        ("token_file", "llm", "prompt", "policy", "categories", "warm_up", "threads", "queue", "log", "heap")
    ),
    **dict.fromkeys(("preload", "log_texts", "text_only"), False),
    "allow_host": [],
    "allow_origin": [],
}
"""Of all options but --config."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "indexes",
        nargs="*",
        metavar="INDEX",
        help="an index folder, or NAME=FOLDER; the first is the one of routes that name none",
    )
    add = parser.add_argument
    add("--config", type=Path, metavar="FILE", help="a TOML file in place of all other options (docs/serving.md)")
    add("--host", default=SETTINGS["host"], help="the address to bind; other than loopback needs a token (127.0.0.1)")
    add("--port", type=int, default=SETTINGS["port"], help="0: any that is free (8321)")
    add("--workers", type=int, default=SETTINGS["workers"], metavar="N", help="processes, each with a Java (1)")
    add("--token-file", type=Path, metavar="FILE", help="a file with the token that clients send (or $SIRA_TOKEN)")
    add("--allow-host", action="append", default=[], metavar="NAME", help="a name by which the server may be called")
    add("--allow-origin", action="append", default=[], metavar="ORIGIN", help="an origin whose pages may call it")
    add("--llm", metavar="MODEL", help="the model that sketches: `local`, or a TOML file with a [model] table")
    add("--prompt", metavar="NAME", help="its prompt (that of the model's file, or sira's own)")
    add("--policy", metavar="FILE", help="drop forbidden phrases: a policy file, or `default`")
    add("--categories", type=Path, metavar="DIR", help="check category facets by a graph of `sira categories build`")
    add("--preload", action="store_true", help="open the indexes before the server is ready, not when they are asked")
    add("--warm-up", type=Path, metavar="FILE", help="topics that every build of an index answers before it is used")
    add("--refresh", dest="refresh_s", type=float, default=SETTINGS["refresh_s"], metavar="SECONDS",
        help="how often to look for new builds (2)")  # fmt: skip
    add("--threads", type=int, metavar="N", help="searches at a time in each process (as many as cores)")
    add("--queue", type=int, metavar="N", help="requests that may wait for one of them; the next get 429 (64)")
    add("--log", type=Path, metavar="FILE", help="the access log, JSON Lines (stderr)")
    add("--log-texts", action="store_true", help="queries and docids stand in the access log")
    add("--text-only", action="store_true", help="MCP: no structuredContent, which some clients show beside the text")
    add_heap(parser)


def run(arguments: argparse.Namespace) -> int:
    from sira.serve.http.running import serve
    from sira.serve.settings import told, without_index

    serving, http = _settings(arguments)
    for text in without_index(serving.indexes.values()):
        print(f"sira: warning: {text}", file=sys.stderr)

    def announce(address: str) -> None:
        settings = {"address": address, **told(serving, http)}
        for name, value in settings.items():
            print(f"sira: {name} = {json.dumps(value)}", file=sys.stderr)
        print(address, flush=True)

    try:
        serve(serving, http, announce)
    except KeyboardInterrupt:
        print("sira: interrupted", file=sys.stderr, flush=True)
        os._exit(130)  # a search that was given up holds a thread, and Java would wait for it
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _settings(arguments: argparse.Namespace) -> tuple[ServeSettings, HttpSettings]:
    from sira.serve.limits import Limits
    from sira.serve.settings import HttpSettings, ServeSettings, index_folders, read_token

    if arguments.config is not None:
        if arguments.indexes:
            raise InputError("--config says which indexes are served: name none beside it")
        refuse(arguments, _DEFAULTS, "with --config it stands in that file: leave it out")
        from sira.serve.config import read_config

        return read_config(arguments.config)
    if not arguments.indexes:
        raise InputError("name an index folder to serve, or give --config FILE")
    bounds = {name: getattr(arguments, name) for name in ("threads", "queue") if getattr(arguments, name) is not None}
    serving = ServeSettings(
        index_folders(arguments.indexes),
        llm=arguments.llm,
        prompt=arguments.prompt,
        policy=arguments.policy,
        categories=arguments.categories,
        preload=arguments.preload,
        warm_up=arguments.warm_up,
        refresh_s=arguments.refresh_s,
        heap=arguments.heap,
        limits=Limits(**bounds),
    )
    http = HttpSettings(
        arguments.host,
        arguments.port,
        token=read_token(arguments.token_file),
        hosts=tuple(arguments.allow_host),
        origins=tuple(arguments.allow_origin),
        log=arguments.log,
        log_texts=arguments.log_texts,
        text_only=arguments.text_only,
        workers=arguments.workers,
    )
    return serving, http
