"""`sira serve` as processes: one uvicorn, or several that share a socket, and an end that waits for what runs."""

from __future__ import annotations

import contextlib
import gc
import logging
import multiprocessing
import os
import resource
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from pydantic import TypeAdapter
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from sira.errors import EnvironmentFault, SiraError
from sira.serve.front import Front
from sira.serve.http.app import Mounted, create_app
from sira.serve.http.listening import Shared, address_of, bound
from sira.serve.http.protocol import Protocol
from sira.serve.service import Service
from sira.serve.settings import HttpSettings, ServeSettings

SETTINGS_VARIABLE = "SIRA_SERVE_SETTINGS"
"""What a process of several is started with: the settings as JSON, the token among them."""
SWITCH_INTERVAL_S = 0.0002
"""Python's threads change places 25 times as often as usual. A search comes back from Java a dozen times, and waits so
long for the lock each time that the loop has much to refuse: at 0.001 s a crowd halved what the others got."""
KEEP_ALIVE_S = 75
BACKLOG = 1024
MOST_CONNECTIONS = 10_000
HEADER_BYTES = 64 * 1024
HEALTHY_S = 30
"""A process that is busy for longer than this counts as hung, and is replaced."""
SOCKET_BYTES = 103
"""Of the path of a socket, on any system."""


def serve(serving: ServeSettings, http: HttpSettings, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; `announce` is told the address once it is bound.

    Raises InputError for an address that cannot be bound, and for settings that cannot be used; IndexFault for an index
    that is to be preloaded and cannot be opened; EnvironmentFault for a temporary folder that cannot be used.
    """
    with closing(bound(http)) as listening:
        address = address_of(listening)
        if http.workers == 1:
            app = app_of(serving, http)
            announce(address)
            _Server(config_of(app, http, serving)).run([listening])
            return
        Service(serving).close()  # settings that cannot be used are told once, and not by each process
        folder = _socket_folder()
        try:
            os.environ[SETTINGS_VARIABLE] = _written(serving, replace(http, run_folder=folder))
            announce(address)
            config = config_of("sira.serve.http.running:worker_app", http, serving)
            with closing(Shared.of(listening)) as shared:
                supervisor = Multiprocess(config, sockets=[shared])
                supervisor.run()
            if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
                raise EnvironmentFault("a process of the server could not begin: it says above why")
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def app_of(serving: ServeSettings, http: HttpSettings, *, tag: str = "") -> FastAPI:
    """The whole app: HTTP, the page, and MCP. Raises IndexFault where an index to be preloaded cannot be opened."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    if serving.heap is not None:
        from sira.lucene.jvm import configure_heap

        configure_heap(serving.heap)
    front = Front(Service(serving, tag=tag))
    front.service.ready()
    app = create_app(front, http, mounted=[_mcp(front, http)], tag=tag)
    gc.freeze()  # what is here stays: the collector need not look at it again
    return app


def worker_app() -> FastAPI:
    """The app of one process of several; uvicorn calls it there."""
    logging.basicConfig(stream=sys.stderr, format="sira: %(message)s", level=logging.WARNING)
    logging.getLogger("sira").setLevel(logging.INFO)
    serving, http = _adapter().validate_json(os.environ.pop(SETTINGS_VARIABLE))
    _leave_with_parent()
    assert http.run_folder is not None
    first = not any(http.run_folder.glob("*.sock"))
    try:
        return app_of(serving, http, tag=secrets.token_hex(4))
    except SiraError as error:
        print(f"sira: error: {error}", file=sys.stderr, flush=True)
        # On STARTUP_FAILURE the supervisor ends with all processes; where others serve, it is to try again.
        os._exit(STARTUP_FAILURE if first else 1)


def _socket_folder() -> Path:
    """A private one. Raises EnvironmentFault."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="sira-serve-"))
    except OSError as error:
        raise EnvironmentFault(
            f"the sockets of the processes need a temporary folder ({error.strerror}): set TMPDIR to one"
        ) from None
    if len(os.fsencode(folder / "01234567.sock")) > SOCKET_BYTES:
        folder.rmdir()
        raise EnvironmentFault(f"{folder.parent}: its path is too long for sockets: set TMPDIR to a shorter one")
    return folder


class _Server(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit and sig == signal.SIGINT:  # asked for twice: what runs is left
            print("sira: interrupted", file=sys.stderr, flush=True)
            os._exit(130)
        super().handle_exit(sig, frame)


def _mcp(front: Front, http: HttpSettings) -> Mounted:
    from sira.serve.mcp.base import McpSettings
    from sira.serve.mcp.http import mcp_app

    settings = McpSettings(limits=front.service.limits, structured=not http.text_only)
    app = mcp_app(front.service, settings, workers=front.searching)
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
    protocol = partial(Protocol, head_s=limits.body_s, write_s=limits.write_s, connections=_most_connections())
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=http.workers,
        http=cast(Any, protocol),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_worker_healthcheck=HEALTHY_S,
        timeout_graceful_shutdown=max(1, round(limits.shutdown_s)),
        h11_max_incomplete_event_size=HEADER_BYTES,
    )


def _most_connections() -> int:
    """Half of the files that the process may open: the rest is for indexes, and for a burst of new connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 2 * MOST_CONNECTIONS)
    if wanted > soft != resource.RLIM_INFINITY:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, soft // 2)
