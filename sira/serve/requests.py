"""What a service is asked, as it comes over the border: checked once, by whatever transport it came."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, model_validator

from sira.agent.tables import ToolsTable

Item = TypeVar("Item")
Items = Annotated[list[Item], FailFast()]
"""A list of which the first fault alone is told: those of a million entries would take seconds and a gigabyte."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
Role = Literal["should", "must", "must_not"]
Mode = Literal["compiled", "auto", "several"]


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PhraseIn(Asked):
    text: str
    role: Role = "should"
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    sample: int | None = None


class RangeIn(Asked):
    field: str
    gte: int | Finite | str | None = None
    lte: int | Finite | str | None = None
    role: Literal["filter", "should"] = "filter"


class SketchParts(Asked):
    phrases: Items[str | PhraseIn] = []
    facets: Items[str] = []
    ranges: Items[RangeIn] = []


class SketchIn(SketchParts):
    """The sketch of one topic, as in a file of sketches (docs/topics.md). `provenance` with a `model` marks a model's
    work: what its topic does not state is then not required of documents."""

    samples: int = Field(default=1, ge=1, le=100)
    searches: Items[SketchParts] = Field(default=[], max_length=100)
    provenance: dict[str, Any] | None = None


class Asking(Asked):
    """How the server's own model is asked for a sketch."""

    roles: bool = False
    facets: int = Field(default=0, ge=0, le=50)
    searches: int = Field(default=0, ge=0, le=20)
    samples: int = Field(default=1, ge=1, le=5)


class SettingsIn(Asked):
    """How sketches become programs, and BM25; the names and defaults are those of `sira compile`."""

    sketch_weight: Finite | None = None
    gate: Literal["auto", "window", "any", "phrase", "soft", "off"] | None = None
    gate_power: Finite | None = None
    small_collection: int | None = None
    max_df_ratio: Finite | None = None
    max_df: int | None = None
    min_df: int | None = None
    weights: Literal["uniform", "rank", "idf", "agreement", "margin"] | None = None
    ngrams: Literal["off", "atoms", "atoms+phrases"] | None = None
    max_n: int | None = Field(default=None, le=10)
    max_terms: int | None = None
    max_phrases: int | None = None
    max_facets: int | None = None
    max_ranges: int | None = None
    profile: Literal["anserini", "sira", "long"] = "anserini"
    k1: Finite | None = None
    b: Finite | None = None
    combine: Literal["bm25f", "sum"] = "bm25f"
    contents_weight: Finite = 1.0
    expansion_weight: Finite = 1.0


class Source(Asked):
    """What to search for: exactly one of a `topic` (with a sketch, or with one by the server's model), plain words
    (`query`), a program as JSON (`program`), or as text (`program_text`, docs/program-text.md)."""

    topic: str | None = None
    query: str | None = None
    program: dict[str, Any] | None = None
    program_text: str | None = None
    sketch: SketchIn | None = None
    llm: bool | Asking = False
    settings: SettingsIn = SettingsIn()
    drop_guesses: bool = False
    """Drop proposed names, years and numbers that the topic does not hold."""

    @model_validator(mode="after")
    def _one(self) -> Source:
        given = [name for name in ("topic", "query", "program", "program_text") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"give exactly one of topic, query, program and program_text, not {' and '.join(given) or 'none'}"
            )
        if self.topic is None and (self.sketch is not None or self.llm):
            raise ValueError(f"a sketch belongs to a topic: give topic in place of {given[0]}, or no sketch and no llm")
        if self.sketch is not None and self.llm:
            raise ValueError("llm asks the model for a sketch: leave out sketch, or llm")
        return self


class CompileRequest(Source):
    further: bool = False
    """Also the programs of the searches that the sketch proposes."""


class SearchRequest(Source):
    """`k` is the depth; the answer has the hits of ranks `offset` to `offset + limit - 1` (from 1; all to depth k
    without `limit`). `mode`: one program; as index statistics advise; or one program and one for each further search of
    the sketch. `relax` loosens a program that finds nothing (on for topics and words, off for programs as written).
    """

    k: int = Field(default=10, ge=1)
    offset: int = Field(default=1, ge=1, le=2**31 - 1)
    limit: int | None = Field(None, ge=1, le=2**31 - 1)
    titles: bool = False
    mode: Mode = "compiled"
    relax: bool | None = None
    with_program: bool = False
    """Also what was searched."""

    @model_validator(mode="after")
    def _modes(self) -> SearchRequest:
        if self.mode != "compiled" and self.topic is None:
            raise ValueError(
                f"mode {self.mode!r} belongs to a topic: programs and plain words are searched as they are"
            )
        return self


class BatchRequest(Asked):
    searches: Items[SearchRequest] = Field(min_length=1)


class ExplainRequest(Source):
    k: int = Field(default=10, ge=1)
    docids: Items[str] = []
    """Also explain these, where they are no hits."""


class DocumentRequest(Asked):
    docid: str
    offset: int = Field(default=1, ge=1, le=2**31 - 1)
    limit: int = Field(default=200, ge=1, le=2**31 - 1)


class FindRequest(Asked):
    docid: str
    pattern: str = Field(min_length=1, max_length=1000)
    mode: Literal["literal", "regex"] = "literal"
    before: int = Field(default=200, ge=1, le=2000)
    after: int = Field(default=200, ge=1, le=2000)
    offset: int = Field(default=1, ge=1, le=2**31 - 1)
    limit: int = Field(default=20, ge=1, le=1000)


class TermsRequest(Asked):
    terms: Items[str] = Field(min_length=1)


class SessionRequest(Asked):
    """`settings` are the table [tools] of docs/agent-tools.md. Pages of a served session always have `full_paging`: a
    file of the server is no use to a client."""

    index: str
    profile: Literal["sira", "pi-serini"] | None = None
    settings: ToolsTable | None = None  # pyright: ignore[reportInvalidTypeForm]


class PiSearchRequest(BaseModel):
    """Pi-Serini's `http-json` contract. `offset` is the `nextOffset` of the answer before; fields of later versions are
    ignored."""

    model_config = ConfigDict(frozen=True, strict=True)

    query: str
    limit: int = Field(ge=1, le=2**31 - 1)
    offset: int = Field(default=0, ge=0, le=2**31 - 1)


class PiReadRequest(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    docid: str
    offset: int = Field(default=1, ge=1, le=2**31 - 1)
    limit: int = Field(default=200, ge=1, le=2**31 - 1)
