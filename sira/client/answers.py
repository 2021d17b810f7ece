"""What the server answers, as frozen values, and how they are read from JSON. Fields of later versions are ignored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sira.client.errors import Problem, problem_of_json
from sira.program import Program, program_from_json
from sira.records import Hit, Outcome, Ranking, Verdict

Value = TypeVar("Value")
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Version:
    """`settings` are those that the server tells: its indexes, limits and workers."""

    sira: str
    api: str
    python: str
    settings: Json


@dataclass(frozen=True, slots=True)
class IndexState:
    """`generation` counts the builds opened so far; `fault` says why the newest one is not in use."""

    name: str
    loaded: bool
    generation: int
    fault: str | None


@dataclass(frozen=True, slots=True)
class Indexes:
    """What is served; `default` is the index of calls that name none."""

    indexes: tuple[IndexState, ...]
    default: str


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """`manifest` is all that the server tells of an index, the three other fields among it."""

    name: str
    generation: int
    documents: int
    manifest: Json


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Hits of one ranking by rank. `total` counts the hits to depth k; `next_offset` is the rank that the next page
    begins with, None at the end. `titles` by docid, where they were asked for; `note` says what was decided on the way
    (relaxation, routing); `programs` are those searched, where they were asked for; `sketch` is that of the server's
    model, and `sketch_note` how it came about."""

    hits: tuple[Hit, ...]
    total: int
    next_offset: int | None
    generation: int
    took_ms: float
    titles: Mapping[str, str] | None = None
    note: Json | None = None
    programs: tuple[Program, ...] | None = None
    sketch: Json | None = None
    sketch_note: Json | None = None

    @property
    def ranking(self) -> Ranking:
        """The hits of this page, in their order."""
        return Ranking(tuple(hit.docid for hit in self.hits), tuple(hit.score for hit in self.hits))


@dataclass(frozen=True, slots=True)
class ClauseFacts:
    """One clause of a program; `share` is df over all documents."""

    label: str
    kind: str
    field: str
    occur: str
    weight: float
    df: int | None
    share: float | None
    source: str | None


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program, the same as text, and why it is as it is. `documents` counts those of the index; `further` are the
    programs of the searches that the sketch proposes, where they were asked for."""

    documents: int
    program: Program
    text: str
    clauses: tuple[ClauseFacts, ...]
    verdicts: tuple[Verdict, ...]
    further: tuple[Compiled, ...] | None = None
    sketch: Json | None = None
    sketch_note: Json | None = None


@dataclass(frozen=True, slots=True)
class Explained:
    """A search beside plain BM25. `hits`, `lost` and `missed` have the fields of docs/explaining.md."""

    documents: int
    k: int
    program: Program
    program_text: str
    plain: Program
    clauses: tuple[ClauseFacts, ...]
    verdicts: tuple[Verdict, ...]
    hits: tuple[Json, ...]
    lost: tuple[Json, ...]
    missed: tuple[Json, ...]
    more_missed: int
    took_ms: float
    sketch: Json | None = None
    sketch_note: Json | None = None


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Lines `first` to `last` of `total` of one document; pages joined are its text, byte for byte."""

    docid: str
    title: str
    url: str | None
    facets: tuple[str, ...]
    values: Mapping[str, int | float | str]
    text: str
    first: int
    last: int
    total: int
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class Match:
    """Where a pattern stands: the number of the match and of its line, from 1, and the text around it."""

    number: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Matches:
    """`total` matches in the whole document; `next_offset` is the number of the next match to ask for."""

    docid: str
    total: int
    matches: tuple[Match, ...]
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class TermFacts:
    """A word or phrase with its terms after analysis; `share` is df over all documents."""

    term: str
    analysed: tuple[str, ...]
    df: int | None
    idf: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Terms:
    """`documents` counts those of the index."""

    documents: int
    terms: tuple[TermFacts, ...]


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool as a model is told of it; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Json


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """`expires_at`: seconds of the epoch, unless a call comes before."""

    session: str
    index: str
    tools: tuple[ToolFacts, ...]
    expires_at: float


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """`text` is what a model reads; `failure` names why a call failed, which `text` says how to mend."""

    text: str
    details: Json
    failure: str | None


def version(data: Any) -> Version:
    return Version(data["sira"], data["api"], data["python"], dict(data["settings"]))


def indexes(data: Any) -> Indexes:
    listed = [
        IndexState(str(item["name"]), bool(item["loaded"]), int(item["generation"]), item.get("fault"))
        for item in data["indexes"]
    ]
    return Indexes(tuple(listed), str(data["default"]))


def index_facts(data: Any) -> IndexFacts:
    return IndexFacts(str(data["name"]), int(data["generation"]), int(data["documents"]), dict(data))


def search_page(data: Any) -> SearchPage:
    rows: Sequence[Any] = data["hits"]
    titled = bool(rows) and "title" in rows[0]
    return SearchPage(
        hits=tuple(Hit(row["docid"], row["score"], row["rank"]) for row in rows),
        total=data["total"],
        next_offset=data["next_offset"],
        generation=data["generation"],
        took_ms=data["took_ms"],
        titles={row["docid"]: row["title"] or "" for row in rows if "title" in row} if titled else None,
        note=data.get("note"),
        programs=_each(program_from_json, data.get("programs")),
        sketch=data.get("sketch"),
        sketch_note=data.get("sketch_note"),
    )


def batch(data: Any) -> tuple[SearchPage | Problem, ...]:
    """A search that could not be carried out has its error in its place."""
    return tuple(
        problem_of_json(item["problem"]) if "problem" in item else search_page(item) for item in data["results"]
    )


def compiled(data: Any) -> Compiled:
    return Compiled(
        documents=data["documents"],
        program=program_from_json(data["program"]),
        text=data["text"],
        clauses=tuple(map(_clause, data["clauses"])),
        verdicts=tuple(map(_verdict, data["verdicts"])),
        further=_each(compiled, data.get("further")),
        sketch=data.get("sketch"),
        sketch_note=data.get("sketch_note"),
    )


def explained(data: Any) -> Explained:
    return Explained(
        documents=data["documents"],
        k=data["k"],
        program=program_from_json(data["program"]),
        program_text=data["program_text"],
        plain=program_from_json(data["plain"]),
        clauses=tuple(map(_clause, data["clauses"])),
        verdicts=tuple(map(_verdict, data["verdicts"])),
        hits=tuple(data["hits"]),
        lost=tuple(data["lost"]),
        missed=tuple(data["missed"]),
        more_missed=data["more_missed"],
        took_ms=data["took_ms"],
        sketch=data.get("sketch"),
        sketch_note=data.get("sketch_note"),
    )


def document_page(data: Any) -> DocumentPage:
    return DocumentPage(
        docid=data["docid"],
        title=data["title"],
        url=data["url"],
        facets=tuple(data["facets"]),
        values=dict(data["values"]),
        text=data["text"],
        first=data["first"],
        last=data["last"],
        total=data["total"],
        next_offset=data["next_offset"],
    )


def matches(data: Any) -> Matches:
    found = tuple(Match(item["number"], item["line"], item["text"]) for item in data["matches"])
    return Matches(data["docid"], data["total"], found, data["next_offset"])


def terms(data: Any) -> Terms:
    listed = (
        TermFacts(item["term"], tuple(item["analysed"]), item["df"], item["idf"], item["share"])
        for item in data["terms"]
    )
    return Terms(data["documents"], tuple(listed))


def session_facts(data: Any) -> SessionFacts:
    tools = tuple(ToolFacts(item["name"], item["description"], item["parameters"]) for item in data["tools"])
    return SessionFacts(data["session"], data["index"], tools, float(data["expires_at"]))


def tool_answer(data: Any) -> ToolAnswer:
    return ToolAnswer(data["text"], dict(data["details"]), data["failure"])


def mapping(data: Any) -> Json:
    return dict(data)


def nothing(data: Any) -> None:
    """For answers without a body."""


def text(data: Any) -> str:
    return str(data)


def _each(read: Callable[[Any], Value], items: Any) -> tuple[Value, ...] | None:
    return None if items is None else tuple(map(read, items))


def _clause(data: Any) -> ClauseFacts:
    return ClauseFacts(
        data["label"], data["kind"], data["field"], data["occur"], data["weight"], data["df"], data["share"],
        data["source"],
    )  # fmt: skip


def _verdict(data: Any) -> Verdict:
    return Verdict(
        data["phrase"], data["term"], Outcome(data["outcome"]), data["df"], data["weight"], data["reason"],
        data["suggestion"],
    )  # fmt: skip
