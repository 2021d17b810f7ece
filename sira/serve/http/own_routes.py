"""The routes about the server itself: health, readiness, version, metrics, and the page."""

from __future__ import annotations

import asyncio
import platform
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from sira import __version__
from sira.serve.http import metrics, models
from sira.serve.http.problems import refused
from sira.serve.http.routes import PROBLEMS
from sira.serve.http.running_jobs import as_json, front_of
from sira.serve.page import HEADERS, INDEX, page_files
from sira.serve.settings import told

API_VERSION = "1"
OPEN: dict[str, Any] = {"security": []}
"""Of routes that ask for no token."""

router = APIRouter(responses=PROBLEMS, tags=["server"])


@router.head("/health", include_in_schema=False)
@router.get("/health", response_model=models.Health, operation_id="health", openapi_extra=OPEN)
async def health() -> Response:
    """The process answers."""
    return _json({"status": "ok"})


@router.head("/ready", include_in_schema=False)
@router.get("/ready", response_model=models.Ready, operation_id="ready", openapi_extra=OPEN)
async def ready(request: Request) -> Response:
    """The server answers searches; 503 while it starts and once it is told to leave."""
    if not request.app.state.ready:
        raise refused(
            503,
            "not-ready",
            "The server is not ready",
            "the server starts or is shutting down: ask again in a moment",
            remedy="ask again in a moment",
            headers={"Retry-After": "1"},
        )
    return _json({"status": "ready"})


@router.get("/version", response_model=models.Version, operation_id="version")
async def version(request: Request) -> Response:
    """Versions, and the settings in use; no path, token or address among them."""
    state = request.app.state
    settings = dict(told(front_of(request).service.settings, state.settings))
    return _json({"sira": __version__, "api": API_VERSION, "python": platform.python_version(), "settings": settings})


@router.get("/metrics", response_class=Response, operation_id="metrics")
async def read_metrics(request: Request, own: bool = False) -> Response:
    """Counters for Prometheus, of all processes of this server. `own`: of the process that answers alone, as JSON."""
    state = request.app.state
    samples = state.metrics.samples(front_of(request))
    if own:
        return _json(samples)
    by_worker: dict[str, Any] = {state.tag or "0": samples}
    if state.peers is not None:
        others = await asyncio.gather(*(state.peers.samples(tag, request.headers) for tag in state.peers.others()))
        by_worker |= {tag: found for tag, found in others if found is not None}
    return Response(metrics.text_of(by_worker), media_type=metrics.MEDIA_TYPE)


@router.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
async def page() -> Response:
    """The page of docs/serving-page.md."""
    return _file(INDEX)


@router.api_route("/static/{name}", methods=["GET", "HEAD"], include_in_schema=False)
async def page_file(name: str) -> Response:
    return _file(name)


def _file(name: str) -> Response:
    found = page_files().get(name)
    if found is None:
        raise refused(404, "no-such-route", "There is no such route", "the page has no such file")
    return Response(found.content, headers=dict(HEADERS), media_type=found.media_type)


def _json(value: Any) -> Response:
    return Response(as_json(value), media_type="application/json")
