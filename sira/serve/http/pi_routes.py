"""Pi-Serini's `http-json` contract: its harness searches this server unchanged."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from sira.serve.http import models
from sira.serve.http.bodies import StrictRoute
from sira.serve.http.routes import PROBLEMS
from sira.serve.http.running_jobs import answered, front_of
from sira.serve.requests import PiReadRequest, PiSearchRequest

router = APIRouter(prefix="/pi", route_class=StrictRoute, responses=PROBLEMS, tags=["pi-serini"])


@router.post("/search", response_model=models.PiSearchAnswer, operation_id="pi_search")
async def search(request: Request, asked: PiSearchRequest) -> Response:
    """Plain BM25 on the first index of the server."""
    return await _search(request, front_of(request).service.default_index, asked)


@router.post("/{index}/search", response_model=models.PiSearchAnswer, operation_id="pi_search_index")
async def search_index(request: Request, index: str, asked: PiSearchRequest) -> Response:
    """Plain BM25 on a named index."""
    return await _search(request, index, asked)


@router.post("/read-document", response_model=models.PiReadAnswer, operation_id="pi_read_document")
async def read_document(request: Request, asked: PiReadRequest) -> Response:
    """Lines of a document of the first index of the server."""
    return await _read(request, front_of(request).service.default_index, asked)


@router.post("/{index}/read-document", response_model=models.PiReadAnswer, operation_id="pi_read_document_index")
async def read_document_index(request: Request, index: str, asked: PiReadRequest) -> Response:
    """Lines of a document of a named index."""
    return await _read(request, index, asked)


async def _search(request: Request, index: str, asked: PiSearchRequest) -> Response:
    return await answered(request, lambda service, _: service.pi_search(index, asked), texts=asked.query)


async def _read(request: Request, index: str, asked: PiReadRequest) -> Response:
    return await answered(request, lambda service, _: service.pi_read(index, asked), texts=asked.docid)
