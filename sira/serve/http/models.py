"""What the routes answer, for the OpenAPI document; and the bodies that HTTP alone has."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sira.serve.requests import Asked


class Told(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ProblemOut(BaseModel):
    """RFC 9457. `item` is the field or thing that is wrong, `remedy` what mends it, `errors` further faults."""

    model_config = ConfigDict(title="Problem")

    type: str
    title: str
    status: int
    detail: str
    item: str | None = None
    remedy: str | None = None
    errors: list[dict[str, str]] | None = None
    request_id: str | None = None


class Health(Told):
    status: Literal["ok"]


class Ready(Told):
    status: Literal["ready"]


class Version(Told):
    sira: str
    api: str
    python: str
    settings: dict[str, Any]


class IndexState(Told):
    name: str
    loaded: bool
    generation: int
    fault: str | None


class IndexList(Told):
    indexes: list[IndexState]
    default: str


class IndexFacts(BaseModel):
    """The manifest of an index, with what its files say."""

    name: str
    generation: int
    analyzer: str
    documents: int
    segments: int
    average_length: float
    expanded_documents: int
    has_positions: bool
    contents_fingerprint: str


class ClauseOut(Told):
    label: str
    kind: str
    field: str
    occur: str
    weight: float
    df: int | None
    share: float | None
    source: str | None


class VerdictOut(Told):
    phrase: str
    term: str
    outcome: str
    df: int | None
    share: float | None
    weight: float | None
    reason: str | None
    suggestion: str | None


class Compiled(Told):
    documents: int
    program: dict[str, Any]
    text: str
    clauses: list[ClauseOut]
    verdicts: list[VerdictOut]


class CompileAnswer(Compiled):
    sketch: dict[str, Any] | None
    sketch_note: dict[str, Any] | None = None
    further: list[Compiled] | None = None


class HitOut(Told):
    docid: str
    score: float
    rank: int
    title: str | None = None


class SearchAnswer(Told):
    hits: list[HitOut]
    total: int
    next_offset: int | None
    generation: int
    took_ms: float
    note: dict[str, Any]
    programs: list[dict[str, Any]] | None = None
    sketch: dict[str, Any] | None = None
    sketch_note: dict[str, Any] | None = None


class BatchFault(Told):
    problem: ProblemOut


class BatchAnswer(Told):
    """In the order of the request."""

    results: list[SearchAnswer | BatchFault]


class ExplainAnswer(BaseModel):
    """The explanation of docs/explaining.md, with the program as text, plain BM25's program, clauses and verdicts."""

    qid: str
    text: str
    documents: int
    k: int
    sketch: dict[str, Any] | None
    program: dict[str, Any]
    program_text: str
    plain: dict[str, Any]
    clauses: list[ClauseOut]
    verdicts: list[VerdictOut]
    hits: list[dict[str, Any]]
    lost: list[dict[str, Any]]
    missed: list[dict[str, Any]]
    more_missed: int
    took_ms: float
    sketch_note: dict[str, Any] | None = None


class DocumentAnswer(Told):
    """Lines `first` to `last` (both 0 where there are none) of `total`, with their ends."""

    docid: str
    title: str
    url: str | None
    facets: list[str]
    values: dict[str, int | float | str]
    text: str
    first: int
    last: int
    total: int
    next_offset: int | None


class MatchOut(Told):
    number: int
    line: int
    text: str


class FindAnswer(Told):
    docid: str
    total: int
    matches: list[MatchOut]
    next_offset: int | None


class TermOut(Told):
    term: str
    analysed: list[str]
    df: int | None
    idf: float | None
    share: float | None


class TermsAnswer(Told):
    documents: int
    terms: list[TermOut]


class ToolOut(Told):
    name: str
    description: str
    parameters: dict[str, Any]


class SessionAnswer(Told):
    session: str
    index: str
    tools: list[ToolOut]
    expires_at: float


class ToolRequest(Asked):
    """`arguments`: an object, or its JSON text as a model wrote it."""

    arguments: dict[str, Any] | str = Field(default_factory=dict[str, Any])


class ToolAnswer(Told):
    """`text` is for the model; `failure` says why the call could not be carried out, and `text` how to mend it."""

    text: str
    details: dict[str, Any]
    failure: str | None


class PiHit(BaseModel):
    docid: str
    score: float
    title: str | None = None
    snippet: str | None = None
    snippetTruncated: bool | None = None


class PiSearchAnswer(BaseModel):
    hits: list[PiHit]
    hasMore: bool
    nextOffset: int | None = None
    timingMs: dict[str, float] | None = None


class PiReadAnswer(BaseModel):
    found: bool
    text: str | None = None
    offset: int | None = None
    limit: int | None = None
    totalUnits: int | None = None
    returnedOffsetStart: int | None = None
    returnedOffsetEnd: int | None = None
    truncated: bool | None = None
    nextOffset: int | None = None
