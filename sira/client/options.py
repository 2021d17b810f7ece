"""What a search may be asked for, by the names of the HTTP API; the server checks the values (docs/client.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from sira.program import Program

Mode = Literal["compiled", "auto", "several"]


class SettingsOptions(TypedDict, total=False):
    """How sketches become programs, and BM25; the names and defaults are those of `sira compile`."""

    sketch_weight: float
    gate: Literal["auto", "window", "any", "phrase", "soft", "off"]
    gate_power: float
    small_collection: int
    max_df_ratio: float
    max_df: int
    min_df: int
    weights: Literal["uniform", "rank", "idf", "agreement", "margin"]
    ngrams: Literal["off", "atoms", "atoms+phrases"]
    max_n: int
    max_terms: int
    max_phrases: int
    max_facets: int
    max_ranges: int
    profile: Literal["anserini", "sira", "long"]
    k1: float
    b: float
    combine: Literal["bm25f", "sum"]
    contents_weight: float
    expansion_weight: float


class AskingOptions(TypedDict, total=False):
    """How the server's own model is asked for a sketch."""

    roles: bool
    facets: int
    searches: int
    samples: int


class SourceOptions(TypedDict, total=False):
    """Exactly one of `query` (plain words), `topic` (with a `sketch`, or `llm` for one by the server's model),
    `program` and `program_text`."""

    topic: str
    query: str
    program: Program | Mapping[str, Any]
    program_text: str
    sketch: Mapping[str, Any]
    llm: bool | AskingOptions
    settings: SettingsOptions
    drop_guesses: bool


class CompileOptions(SourceOptions, total=False):
    further: bool


class SearchOptions(SourceOptions, total=False):
    """`k` is the depth (10); the answer has the hits of ranks `offset` to `offset + limit - 1`, all without `limit`."""

    k: int
    offset: int
    limit: int
    titles: bool
    mode: Mode
    relax: bool
    with_program: bool


class ExplainOptions(SourceOptions, total=False):
    k: int
    docids: Sequence[str]


class FindOptions(TypedDict, total=False):
    """`mode` is `literal` or `regex`; `before` and `after` are the characters shown around a match; `offset` is the
    number of the first match to give, from 1."""

    mode: Literal["literal", "regex"]
    before: int
    after: int
    offset: int
    limit: int
