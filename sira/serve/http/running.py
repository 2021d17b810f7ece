"""`sira serve` as processes: one uvicorn, or several that share a socket, and an end that waits for what runs."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from pydantic import TypeAdapter
from uvicorn.supervisors import Multiprocess

from sira.errors import InputError
from sira.serve.front import Front
from sira.serve.http.app import Mounted, create_app
from sira.serve.http.protocol import Protocol
from sira.serve.service import Service
from sira.serve.settings import HttpSettings, ServeSettings

SETTINGS_VARIABLE = "SIRA_SERVE_SETTINGS"
"""What a process of several is started with: the settings as JSON, the token among them."""
SWITCH_INTERVAL_S = 0.001
"""Python's threads change places five times as often as usual: the loop that answers waits less for one that works."""
KEEP_ALIVE_S = 75
BACKLOG = 1024
HEADER_BYTES = 64 * 1024


def serve(serving: ServeSettings, http: HttpSettings, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; `announce` is told the address once it is bound.

    Raises InputError for an address that cannot be bound, and for settings that cannot be used.
    """
    with closing(bound(http)) as listening:
        address = _address(listening)
        if http.workers == 1:
            app = app_of(serving, http)
            announce(address)
            uvicorn.Server(config_of(app, http, serving)).run([listening])
            return
        Service(serving).close()  # settings that cannot be used are told once, and not by each process
        folder = Path(tempfile.mkdtemp(prefix="sira-serve-"))
        try:
            os.environ[SETTINGS_VARIABLE] = _written(serving, replace(http, run_folder=folder))
            announce(address)
            config = config_of("sira.serve.http.running:worker_app", http, serving)
            Multiprocess(config, sockets=[listening]).run()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def app_of(serving: ServeSettings, http: HttpSettings, *, tag: str = "") -> FastAPI:
    """The whole app: HTTP, the page, and MCP."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    if serving.heap is not None:
        from sira.lucene.jvm import configure_heap

        configure_heap(serving.heap)
    front = Front(Service(serving, tag=tag))
    app = create_app(front, http, mounted=[_mcp(front, http)], tag=tag)
    gc.freeze()  # what is here stays: the collector need not look at it again
    return app


def worker_app() -> FastAPI:
    """The app of one process of several; uvicorn calls it there."""
    logging.basicConfig(stream=sys.stderr, format="sira: %(message)s", level=logging.WARNING)
    logging.getLogger("sira").setLevel(logging.INFO)
    serving, http = _adapter().validate_json(os.environ.pop(SETTINGS_VARIABLE))
    _leave_with_parent()
    return app_of(serving, http, tag=secrets.token_hex(4))


def _mcp(front: Front, http: HttpSettings) -> Mounted:
    from sira.serve.mcp.http import mcp_app

    app = mcp_app(front.service, http, workers=front.searching, guarded=True)
    return Mounted(app.routes(), app.run)


@cache
def _adapter() -> TypeAdapter[tuple[ServeSettings, HttpSettings]]:
    return TypeAdapter(tuple[ServeSettings, HttpSettings])


def _written(serving: ServeSettings, http: HttpSettings) -> str:
    return _adapter().dump_json((serving, http)).decode()


def _leave_with_parent() -> None:
    """A supervisor that was killed leaves no processes behind."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="sira-serve-parent", daemon=True).start()


def config_of(app: Any, http: HttpSettings, serving: ServeSettings) -> uvicorn.Config:
    """`app`: or its factory, as module:function."""
    limits = serving.limits
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=http.workers,
        http=cast(Any, partial(Protocol, head_s=limits.body_s)),  # h11: strict, and with a bound on headers
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(limits.shutdown_s)),
        h11_max_incomplete_event_size=HEADER_BYTES,
    )


def bound(http: HttpSettings) -> socket.socket:
    """The socket to listen on, which names its protocol: asyncio sends small answers at once (TCP_NODELAY) only then.

    Raises InputError.
    """
    try:
        found = socket.getaddrinfo(http.host, http.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"host {http.host}: {error.strerror}: give an address of this machine") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.set_inheritable(True)
    except OSError as error:
        listening.close()
        raise InputError(
            f"{http.host}:{http.port}: cannot be bound ({error.strerror}): give another --port, or 0 for a free one"
        ) from None
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
