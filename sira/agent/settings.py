"""The settings of the tools: numbers and switches, and two named profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from sira.errors import InputError
from sira.program import PROFILES, Scoring


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """How the tools answer. The defaults are the profile `sira`; `PI_SERINI` has all of ours off.

    Numbers that both have: a search caches `depth` hits and shows `search_page`; a page of the ranking begins at
    `browse_offset` and has `browse_limit` hits, a document at `read_offset` with `read_limit` lines, unless the call
    says otherwise. `cached_rankings` are kept, the oldest goes first. An excerpt has `excerpt_characters`, and hits to
    rank `excerpt_ranks` have one (None: all). One result has at most `max_lines` and `max_bytes` of UTF-8, status line
    not counted.

    Switches of ours: `query_excerpts` (up to `excerpt_passages` passages chosen by the query's clauses through the
    index's analyzer, with line numbers; off: the window around the first word found), `marks` (where a hit was seen
    and which lines of it were opened, and `only_new` pages), `find_in_document`, `find_in_results`, `wrap_lines` (lines
    of at most `wrap_characters`), `full_paging` (what the cap cuts comes with the next page; off: it is written to a
    file), `fuse_searches`, `fold_duplicates` (at `fold_similarity`, the share of common shingles), `tell_evicted`,
    `programs` (compiled programs and program text as searches), `term_statistics` (and a search names
    those of its words that no document holds), `reuse_searches` (a query asked
    again is answered from the cache) and `strict_fields` (a field that a tool does not have is an error).
    `pattern_seconds` bounds one regular expression, over all texts of the call; `query_characters` a query, `clauses` a
    program, and `clause_words` one of its clauses: Lucene's work on a phrase grows with the square of its words.
    """

    profile: str = "sira"
    scoring: Scoring = field(default_factory=Scoring)
    depth: int = 1000
    search_page: int = 5
    browse_offset: int = 6
    browse_limit: int = 10
    read_offset: int = 1
    read_limit: int = 200
    cached_rankings: int = 32
    excerpt_characters: int = 220
    excerpt_ranks: int | None = None
    max_lines: int = 2000
    max_bytes: int = 50 * 1024
    query_excerpts: bool = True
    excerpt_passages: int = 2
    marks: bool = True
    find_in_document: bool = True
    find_in_results: bool = True
    wrap_lines: bool = True
    wrap_characters: int = 400
    full_paging: bool = True
    fuse_searches: bool = True
    fold_duplicates: bool = True
    fold_similarity: float = 0.8
    tell_evicted: bool = True
    programs: bool = True
    term_statistics: bool = True
    reuse_searches: bool = True
    strict_fields: bool = True
    pattern_seconds: float = 2.0
    query_characters: int = 100_000
    clauses: int = 2_000
    clause_words: int = 500

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.type == "int" and value < 1:
                raise InputError(f"tools: {item.name} = {value}: give 1 or more")
        if self.excerpt_ranks is not None and self.excerpt_ranks < 0:
            raise InputError(f"tools: excerpt_ranks = {self.excerpt_ranks}: give 0 or more, or leave it out for all")
        if not 0 < self.fold_similarity <= 1:
            raise InputError(f"tools: fold_similarity = {self.fold_similarity}: give a share above 0 and up to 1")
        if not 0 < self.pattern_seconds <= 60:
            raise InputError(f"tools: pattern_seconds = {self.pattern_seconds}: give a number above 0 and up to 60")
        if self.full_paging:
            # a page must have room for its head, its hint and one line or hit, or paging would not move on
            least = 4 * (self.wrap_characters + 2 * self.excerpt_characters * self.excerpt_passages) + 8192
            if self.max_bytes < least or self.max_lines < 40:
                raise InputError(
                    f"tools: max_bytes = {self.max_bytes}, max_lines = {self.max_lines}: one page would not hold one "
                    f"hit: give at least {least} bytes and 40 lines, or full_paging = false"
                )

    def to_json(self) -> Mapping[str, Any]:
        """All of it, for the record of a run."""
        return asdict(self)


SIRA = ToolSettings()
PI_SERINI = ToolSettings(
    profile="pi-serini",
    excerpt_ranks=50,
    query_excerpts=False,
    marks=False,
    find_in_document=False,
    find_in_results=False,
    wrap_lines=False,
    full_paging=False,
    fuse_searches=False,
    fold_duplicates=False,
    tell_evicted=False,
    programs=False,
    term_statistics=False,
    reuse_searches=False,
    strict_fields=False,
)
"""Pi-Serini 0.3.0: its bare defaults, BM25 at k1 = 0.9 and b = 0.4 among them; its paper searches with k1 = 25, b = 1
(the scoring `long`)."""

TOOL_PROFILES: Mapping[str, ToolSettings] = {"sira": SIRA, "pi-serini": PI_SERINI}

SWITCHES = tuple(item.name for item in fields(ToolSettings) if item.type == "bool")
"""The names of ours, each to be turned off or on by itself."""


def tool_profile(name: str) -> ToolSettings:
    """Raises InputError for an unknown name, listing those that there are."""
    try:
        return TOOL_PROFILES[name]
    except KeyError:
        raise InputError(f"tools: there is no profile {name!r}: choose {', '.join(TOOL_PROFILES)}") from None


def named_scoring(name: str) -> Scoring:
    """BM25 under one of the names of `sira.program.PROFILES`. Raises InputError for an unknown one."""
    if name not in PROFILES:
        raise InputError(f"tools: there is no BM25 profile {name!r}: choose {', '.join(PROFILES)}")
    return PROFILES[name]
