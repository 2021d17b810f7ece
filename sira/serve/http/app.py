"""The FastAPI app of one service."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route

from sira import __version__
from sira.errors import SiraError
from sira.serve.front import Front
from sira.serve.http import own_routes, pi_routes, routes
from sira.serve.http.access_log import AccessLog
from sira.serve.http.guard import Guard
from sira.serve.http.metrics import Metrics
from sira.serve.http.models import ProblemOut
from sira.serve.http.peers import Peers
from sira.serve.http.places import Places
from sira.serve.http.problems import invalid, of_status, problem_of
from sira.serve.service import Service
from sira.serve.settings import HttpSettings

GZIP_BYTES = 32 * 1024
"""Smaller answers are sent as they are: on one machine, packing takes longer than sending."""
DESCRIPTION = "Search by weighted BM25 programs that an index compiles from a language model's sketches."
ROUTERS = (own_routes.router, routes.router, pi_routes.router)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Mounted:
    """Routes of another transport, such as MCP's at /mcp; `running` is entered while the server runs."""

    routes: Sequence[BaseRoute]
    running: Callable[[], contextlib.AbstractAsyncContextManager[Any]] | None = None


def create_app(
    service: Service | Front,
    settings: HttpSettings | None = None,
    *,
    mounted: Sequence[Mounted] = (),
    tag: str = "",
) -> FastAPI:
    """The app over a service, which it closes when the server leaves; `tag` names this process among its like.

    Raises InputError for an access log that cannot be written.
    """
    settings = settings or HttpSettings()
    front = service if isinstance(service, Front) else Front(service)
    log = AccessLog(settings.log, tag)
    peers = None if settings.run_folder is None else Peers(settings.run_folder, tag, front.service.limits)

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncGenerator[None]:
        try:
            async with AsyncExitStack() as stack:
                for item in mounted:
                    if item.running is not None:
                        await stack.enter_async_context(item.running())
                if peers is not None:
                    await stack.enter_async_context(peers.listening(app))
                app.state.ready = await asyncio.to_thread(front.service.ready)
                yield
        finally:
            app.state.ready = False
            if not await asyncio.to_thread(front.close):
                _log.warning("some searches still ran when the server left")
            log.close()

    app = FastAPI(
        title="sira",
        version=__version__,
        description=DESCRIPTION,
        openapi_url="/openapi.json",
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=running,
    )
    app.state.front, app.state.settings, app.state.ready = front, settings, False
    app.state.tag, app.state.peers, app.state.metrics = tag, peers, Metrics()
    for router in ROUTERS:
        app.include_router(router)
    for item in mounted:
        app.router.routes.extend(item.routes)
    app.add_exception_handler(SiraError, _sira_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_BYTES, compresslevel=1)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type", "x-request-id"],
            expose_headers=["x-request-id", "retry-after"],
        )
    if peers is not None:
        app.add_middleware(peers.forwarding)
    app.add_middleware(
        Guard,
        settings=settings,
        limits=front.service.limits,
        places=Places(front),
        metrics=app.state.metrics,
        write=log.write,
    )
    app.openapi = lambda: _openapi(app)
    return app


# Coroutines, though none waits: Starlette would run plain functions in threads of its own.


async def _sira_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, SiraError)
    problem = problem_of(error)
    if problem.status >= 500:
        _log.warning("request %s: %s", request.scope.get("request_id"), error)
    return problem.response(request.scope.get("request_id"))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return invalid(error.errors()).response(request.scope.get("request_id"))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    problem = of_status(error)
    if problem.status == 405:  # the framework names the methods of the first route of the path alone
        found = (route for router in ROUTERS for route in router.routes if isinstance(route, Route))
        methods = {
            name for route in found if route.matches(request.scope)[0] is not Match.NONE for name in route.methods or ()
        }
        problem = replace(problem, headers={"Allow": ", ".join(sorted(methods))}) if methods else problem
    return problem.response(request.scope.get("request_id"))


def _openapi(app: FastAPI) -> dict[str, Any]:
    """OpenAPI 3.1, made once; every answer that is no success is a Problem."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            tags=[{"name": name} for name in ("search", "documents", "indexes", "sessions", "pi-serini", "server")],
        )
        schemas = schema.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = ProblemOut.model_json_schema(ref_template="#/components/schemas/{model}")
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        if app.state.settings.token is not None:
            schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"token": []}]
        app.openapi_schema = schema
    return app.openapi_schema
