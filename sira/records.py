"""The values that the packages exchange. All are frozen; none opens a file or knows Java."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Literal, NamedTuple, cast

from sira.errors import InputError

Role = Literal["should", "must", "must_not"]
RangeRole = Literal["filter", "should"]

Qrels = Mapping[str, Mapping[str, int]]
"""qid -> docid -> grade, as in a TREC qrels file. Grade >= 1 is relevant."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a corpus.

    `facets` are atomic `field:value` strings such as `category:1927_births`. `values` hold the numeric and date
    fields declared at index time, as they stood in the record (int, float, or an ISO 8601 date string).
    """

    docid: str
    text: str
    title: str = ""
    facets: tuple[str, ...] = ()
    url: str | None = None
    values: Mapping[str, int | float | str] = field(default_factory=dict[str, int | float | str])

    @property
    def contents(self) -> str:
        """What is indexed and read by the LLM: title and text joined by one blank; the text alone without a title."""
        return f"{self.title} {self.text}" if self.title else self.text


class Place(NamedTuple):
    """Where a record stands: file and line, from 1."""

    path: str
    line_number: int

    def __str__(self) -> str:
        return f"{self.path}, line {self.line_number}"


class SkipReason(StrEnum):
    """Why a record of a corpus is no document."""

    BAD_JSON = "bad_json"
    NOT_AN_OBJECT = "not_an_object"
    MISSING_ID = "missing_id"
    INVALID_ID = "invalid_id"
    MISSING_TEXT = "missing_text"
    INVALID_FIELD = "invalid_field"
    INVALID_UNICODE = "invalid_unicode"
    DUPLICATE_ID = "duplicate_id"


class Skip(NamedTuple):
    """A record that cannot be indexed; `detail` is one line for the user."""

    reason: SkipReason
    detail: str
    docid: str | None = None

    def at(self, place: Place) -> str:
        """One line for a report: file, line, docid, fault."""
        return f"{place}: {'' if self.docid is None else f'docid {self.docid[:60]!r}: '}{self.detail}"


Record = tuple[Place, Document | Skip]
"""One record of a corpus as read: where it stands and what it is."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A query as the collection states it."""

    qid: str
    text: str


class ToolCall(NamedTuple):
    """One call that a model asks for; `arguments` is the JSON text as the model wrote it, which may be none."""

    id: str
    name: str
    arguments: str


class Message(NamedTuple):
    """One turn of a chat prompt; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


class ToolTurn(NamedTuple):
    """A turn of a chat with tools: an `assistant` that asks for `tool_calls`, or the `tool` that answers the call whose
    id is `tool_call_id`."""

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


Turn = Message | ToolTurn


class Status(StrEnum):
    """What became of one reply of the LLM."""

    OK = "ok"
    EMPTY = "empty"
    """No phrase: the document has no text (the model was not asked), or the reply holds an empty list."""
    TRUNCATED = "truncated"
    """Cut off by the limit of tokens; the phrases are those that were complete."""
    RUNAWAY = "runaway"
    """Endless white space, one endless string, or a loop; the phrases are those that were complete before it."""
    REFUSED = "refused"
    UNPARSABLE = "unparsable"
    TOO_LONG = "too_long"
    """The prompt did not fit the model's context."""
    ERROR = "error"
    """The engine or the endpoint failed on this prompt; the row's `detail` says how."""


FAILURES = frozenset({Status.RUNAWAY, Status.REFUSED, Status.UNPARSABLE, Status.TOO_LONG, Status.ERROR})
"""The statuses that count against a job's bound on failures."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """The phrases that the LLM proposed for one document, in the order of the reply.

    `expires` is an ISO date (YYYY-MM-DD) after which the phrases are not indexed.
    """

    docid: str
    phrases: tuple[str, ...]
    status: str = "ok"
    expires: str | None = None


@dataclass(frozen=True, slots=True)
class SketchPhrase:
    """One proposed phrase. `weight` (>= 0) multiplies lambda; None means 1. `sample` numbers the reply it stands in,
    from 0, where a model was asked several times."""

    text: str
    role: Role = "should"
    weight: float | None = None
    sample: int = 0

    def __post_init__(self) -> None:
        if self.weight is not None and not (isfinite(self.weight) and self.weight >= 0):
            raise InputError(f"phrase {self.text!r} has the weight {self.weight}: weights are finite numbers >= 0")
        if self.role not in ("should", "must", "must_not"):
            raise InputError(f"phrase {self.text!r} has the role {self.role!r}: choose should, must or must_not")


@dataclass(frozen=True, slots=True)
class SketchRange:
    """A proposed range of a declared field; None leaves a side open. A `filter` hides what lies outside, `should`
    prefers what lies inside. Dates are strings (ISO 8601)."""

    field: str
    gte: int | float | str | None = None
    lte: int | float | str | None = None
    role: RangeRole = "filter"

    def __post_init__(self) -> None:
        if not self.field:
            raise InputError("a range needs the name of its `field`")
        if self.gte is None and self.lte is None:
            raise InputError(f"the range of {self.field!r} has neither gte nor lte: give at least one bound")
        for bound in (self.gte, self.lte):
            if isinstance(bound, bool) or (isinstance(bound, float) and not isfinite(bound)):
                raise InputError(f"the range of {self.field!r} has the bound {bound}: give a finite number or a date")
            if isinstance(bound, int) and not -(2**63) <= bound < 2**63:
                raise InputError(f"the range of {self.field!r} has a bound that does not fit into 64 bits")
        if self.role not in ("filter", "should"):
            raise InputError(f"the range of {self.field!r} has the role {self.role!r}: choose filter or should")

    @property
    def label(self) -> str:
        return f"{self.field}:[{'*' if self.gte is None else self.gte} TO {'*' if self.lte is None else self.lte}]"


@dataclass(frozen=True, slots=True)
class Sketch:
    """What the evidence for one topic will probably say, most likely phrase first; of `samples` replies.

    `searches` are further sketches of the same topic, each a search of its own. `by_model`: a model wrote it, so that
    its constraints hold only where the topic states them.
    """

    qid: str
    phrases: tuple[SketchPhrase, ...] = ()
    facets: tuple[str, ...] = ()
    samples: int = 1
    searches: tuple[Sketch, ...] = ()
    by_model: bool = False
    ranges: tuple[SketchRange, ...] = ()


class Outcome(StrEnum):
    """Why a proposed phrase or term was kept or dropped."""

    KEPT = "kept"
    EMPTY = "empty"
    ALREADY_PRESENT = "already_present"
    UNSEEN = "unseen"
    TOO_COMMON = "too_common"
    TOO_RARE = "too_rare"
    FORBIDDEN = "forbidden"
    ANSWER_GUESS = "answer_guess"
    TOO_LONG = "too_long"
    OVER_QUOTA = "over_quota"
    DUPLICATE = "duplicate"
    UNTRACEABLE = "untraceable"
    """A constraint whose words the topic does not state; without it the phrase is as good as any other, or goes."""
    INVALID = "invalid"
    """A facet or range that the collection cannot have: an unknown category, an undeclared field, bounds amiss."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for one proposed window, facet or range. `term` is the analysed form; `df` is None where it was not
    looked up. `reason` names what decided (the class of a policy, the guessed names), `suggestion` what would pass."""

    phrase: str
    term: str
    outcome: Outcome
    df: int | None = None
    weight: float | None = None
    reason: str | None = None
    suggestion: str | None = None


class Hit(NamedTuple):
    """One ranked document; `rank` counts from 1."""

    docid: str
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """The hits of one search: docids and scores in parallel, score descending, then docid ascending, no docid twice.

    The order of docids is that of Python strings, by code point.
    """

    docids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()

    @classmethod
    def from_scores(cls, scores: Mapping[str, float] | Iterable[tuple[str, float]]) -> Ranking:
        """Sort (docid, score) pairs into a ranking.

        Raises InputError for a docid that comes twice or a score that is not finite.
        """
        pairs = list(cast("Mapping[str, float]", scores).items() if isinstance(scores, Mapping) else scores)
        seen: set[str] = set()
        for docid, score in pairs:
            if docid in seen:
                raise InputError(f"docid {docid!r} stands twice in one ranking: a ranking holds each document once")
            if not isfinite(score):
                raise InputError(f"docid {docid!r} has the score {score}: scores must be finite numbers")
            seen.add(docid)
        pairs.sort(key=lambda pair: (-pair[1], pair[0]))
        return cls(tuple(docid for docid, _ in pairs), tuple(float(score) for _, score in pairs))

    def __len__(self) -> int:
        return len(self.docids)

    def __iter__(self) -> Iterator[Hit]:
        for rank, (docid, score) in enumerate(zip(self.docids, self.scores, strict=True), start=1):
            yield Hit(docid, score, rank)

    def top(self, k: int) -> Ranking:
        """The first k hits."""
        return self if k >= len(self.docids) else Ranking(self.docids[:k], self.scores[:k])

    def without(self, docid: str) -> Ranking:
        """The same ranking less one document (a collection's self-hit)."""
        if docid not in self.docids:
            return self
        at = self.docids.index(docid)
        return Ranking(self.docids[:at] + self.docids[at + 1 :], self.scores[:at] + self.scores[at + 1 :])


@dataclass(frozen=True, slots=True)
class Run:
    """The rankings of a set of topics under one system name (the run tag of TREC)."""

    name: str
    rankings: Mapping[str, Ranking]

    def __len__(self) -> int:
        return len(self.rankings)
