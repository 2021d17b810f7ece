"""The routes below /v1: programs, searches, documents and sessions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from sira.errors import SiraError
from sira.serve.faults import Gone, TimedOut
from sira.serve.http import models
from sira.serve.http.bodies import StrictRoute
from sira.serve.http.problems import problem_of
from sira.serve.http.running_jobs import answered, as_json, front_of, resolved, texts_of
from sira.serve.requests import (
    BatchRequest,
    CompileRequest,
    DocumentRequest,
    ExplainRequest,
    FindRequest,
    SearchRequest,
    SessionRequest,
    TermsRequest,
)
from sira.serve.service import Note, Service

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": text,
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status, text in (
        (400, "The request cannot be read."),
        (401, "A token is needed."),
        (403, "A page of another origin called."),
        (404, "Not found."),
        (405, "The route does not take this method."),
        (408, "The body did not come in time."),
        (413, "The body is too large."),
        (415, "The body is of another type."),
        (421, "The server is not called by this name."),
        (422, "A value cannot be used."),
        (429, "The server is busy; Retry-After says when to ask again."),
        (500, "A fault of the server's; its log has more under the request id."),
        (503, "The index cannot be used now, or the server is shutting down."),
        (504, "No answer in time."),
    )
}
"""What every route may answer."""

router = APIRouter(prefix="/v1", route_class=StrictRoute, responses=PROBLEMS)


@router.get("/indexes", response_model=models.IndexList, tags=["indexes"], operation_id="list_indexes")
async def list_indexes(request: Request) -> Response:
    """The indexes that are served."""
    return Response(as_json(request.app.state.front.service.indexes()), media_type="application/json")


@router.get("/indexes/{index}", response_model=models.IndexFacts, tags=["indexes"], operation_id="get_index")
async def get_index(request: Request, index: str) -> Response:
    """The manifest of one index."""
    return await answered(request, lambda service, _: service.manifest(index))


@router.post("/indexes/{index}/compile", response_model=models.CompileAnswer, tags=["search"], operation_id="compile")
async def compile_topic(request: Request, index: str, asked: CompileRequest) -> Response:
    """The program of a topic and its sketch, or of a program text: JSON, text, clauses, and a verdict with df for each
    proposed phrase."""
    known, note = await resolved(request, asked)
    return await answered(request, lambda service, _: service.compile(index, known, note), texts=texts_of(asked))


@router.post("/indexes/{index}/search", response_model=models.SearchAnswer, tags=["search"], operation_id="search")
async def search(request: Request, index: str, asked: SearchRequest) -> Response:
    """One search: plain words, a program as JSON or text, or a topic with a sketch."""
    known, note = await resolved(request, asked)
    return await answered(request, lambda service, _: service.search(index, known, note), texts=texts_of(asked))


@router.post(
    "/indexes/{index}/search/batch", response_model=models.BatchAnswer, tags=["search"], operation_id="search_batch"
)
async def search_batch(request: Request, index: str, asked: BatchRequest) -> Response:
    """Several searches on one build of the index, one after the other; a search that cannot be carried out has a
    problem in its place. The bound of time is that of one search, and of one sketch for all that the model writes."""
    limits = front_of(request).service.limits
    end = time.monotonic() + limits.sketch_s
    within = len(asked.searches) <= limits.batch
    known = [await _resolved_or_not(request, one, end) if within else (one, None) for one in asked.searches]

    def job(service: Service, stopped: Callable[[], bool]) -> dict[str, Any]:
        found = iter(service.batch(index, [one for one in known if not isinstance(one, SiraError)], stopped))
        every = (one if isinstance(one, SiraError) else next(found, Gone("nobody waits")) for one in known)
        return {
            "results": [{"problem": problem_of(one).to_json()} if isinstance(one, SiraError) else one for one in every]
        }

    return await answered(request, job, texts=[texts_of(one) for one in asked.searches])


async def _resolved_or_not(request: Request, one: SearchRequest, end: float) -> tuple[SearchRequest, Note] | SiraError:
    """Raises Gone, after which nobody needs the others."""
    if one.llm and time.monotonic() > end:
        return TimedOut("the model had no time left for this one: ask for fewer sketches at once")
    try:
        return await resolved(request, one)
    except Gone:
        raise
    except SiraError as error:
        return error


@router.post("/indexes/{index}/explain", response_model=models.ExplainAnswer, tags=["search"], operation_id="explain")
async def explain(request: Request, index: str, asked: ExplainRequest) -> Response:
    """Why a search ranks as it does: plain BM25 beside the program with rank moves, what each clause adds, and passages
    with the matched words."""
    known, note = await resolved(request, asked)
    return await answered(request, lambda service, _: service.explain(index, known, note), texts=texts_of(asked))


@router.get(
    "/indexes/{index}/documents", response_model=models.DocumentAnswer, tags=["documents"], operation_id="get_document"
)
async def get_document(
    request: Request,
    index: str,
    docid: Annotated[str, Query(description="As a search gives it; any form.")],
    offset: Annotated[int, Query(ge=1, le=2**31 - 1, description="The first line, from 1.")] = 1,
    limit: Annotated[int, Query(ge=1, le=2**31 - 1, description="How many lines.")] = 200,
) -> Response:
    """Lines of a document. `next_offset` is that of the next page; pages joined are the text, byte for byte."""
    asked = DocumentRequest(docid=docid, offset=offset, limit=limit)
    return await answered(request, lambda service, _: service.document(index, asked), texts=docid)


@router.post("/indexes/{index}/find", response_model=models.FindAnswer, tags=["documents"], operation_id="find")
async def find(request: Request, index: str, asked: FindRequest) -> Response:
    """Every place in one document where a text or a regular expression stands."""
    return await answered(request, lambda service, _: service.find(index, asked), texts=[asked.docid, asked.pattern])


@router.post("/indexes/{index}/terms", response_model=models.TermsAnswer, tags=["indexes"], operation_id="terms")
async def terms(request: Request, index: str, asked: TermsRequest) -> Response:
    """df, share of the documents and idf of words and phrases."""
    return await answered(request, lambda service, _: service.terms(index, asked), texts=asked.terms)


@router.post(
    "/sessions", response_model=models.SessionAnswer, status_code=201, tags=["sessions"], operation_id="open_session"
)
async def open_session(request: Request, asked: SessionRequest) -> Response:
    """A session of the paged tools (docs/agent-tools.md). Its id is a secret: who has it has the session."""
    return await answered(request, lambda service, _: service.open_session(asked).to_json(), status=201)


@router.get("/sessions/{session}", response_model=models.SessionAnswer, tags=["sessions"], operation_id="get_session")
async def get_session(request: Request, session: str) -> Response:
    """The tools of a session, and when it expires."""
    return Response(as_json(request.app.state.front.service.session(session).to_json()), media_type="application/json")


@router.delete(
    "/sessions/{session}", status_code=204, response_class=Response, tags=["sessions"], operation_id="close_session"
)
async def close_session(request: Request, session: str) -> Response:
    """Close a session, and with it its rankings."""
    front = front_of(request)
    await front.run(lambda _: front.service.close_session(session))
    return Response(status_code=204)


@router.post(
    "/sessions/{session}/tools/{tool}", response_model=models.ToolAnswer, tags=["sessions"], operation_id="call_tool"
)
async def call_tool(request: Request, session: str, tool: str, asked: models.ToolRequest) -> Response:
    """One call of a tool. What the caller can mend is no error of HTTP: it comes back with a `failure`."""

    def job(service: Service, stopped: Callable[[], bool]) -> dict[str, Any]:
        result = service.call(session, tool, asked.arguments, stopped)
        return {
            "text": result.text,
            "details": dict(result.details),
            "failure": None if result.failure is None else result.failure.value,
        }

    return await answered(request, job, texts=[tool, asked.arguments])
