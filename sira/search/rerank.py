"""Reranking: a model scores each of the first n documents by itself (pointwise), and BM25 stays as the prior.

A reply counts only where it is the object that was asked for. Anything else leaves the document unscored, which is
reported; no number is ever guessed from a text. An unscored document keeps its rank, and the scored ones share the
ranks that are left, so that a lost reply neither lifts a document nor sinks it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Literal, cast, get_args

from sira.errors import EnvironmentFault, InputError
from sira.llm.base import Finish, Generator, Reply, Request, Usage
from sira.llm.thinking import answer
from sira.records import Document, Ranking, Topic
from sira.search.fusion import RRF_K, reciprocal_rank_fusion
from sira.search.rerank_prompt import RERANK_SCHEMA, render_pair

Combine = Literal["weighted", "rrf"]
Read = Callable[[Sequence[str]], Sequence[Document | None]]
"""Documents by docid, None for one that is not there: `Index.documents`."""

MAX_TOKENS = 32
"""Above the longest compact reply (13 bytes), with room for blanks that a decoder adds."""
_FENCED = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL)


class Unscored(StrEnum):
    """Why a document has no score of the model's."""

    UNPARSABLE = "unparsable"
    """No JSON object with one integer `score`."""
    OUT_OF_RANGE = "out_of_range"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    TOO_LONG = "too_long"
    ERROR = "error"
    NO_TEXT = "no_text"
    """The index has no text for it; the model was not asked."""
    NO_REPLY = "no_reply"


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """How the first `top_n` documents are scored and how scores meet BM25; chosen on no test set.

    `weighted` (default): model_weight * score / 100 + (1 - model_weight) * BM25, the latter min-max normalised over the
    first n (1 each where all are equal). `rrf`: reciprocal rank fusion of the BM25 ranks and the model's, ties
    of the model in the order of BM25. `document_characters` (code points) cuts the document, title included.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}  # as a table of a TOML file

    top_n: int = 100
    combine: Combine = "weighted"
    model_weight: float = 0.5
    rrf_k: int = RRF_K
    document_characters: int = 4000
    max_tokens: int = MAX_TOKENS
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("top_n", 1), ("rrf_k", 0), ("document_characters", 1), ("max_tokens", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise InputError(f"rerank: {name} = {getattr(self, name)}: give {least} or more")
        if self.combine not in get_args(Combine):
            raise InputError(f"rerank: combine = {self.combine!r}: choose {' or '.join(get_args(Combine))}")
        if not (math.isfinite(self.model_weight) and 0 <= self.model_weight <= 1):
            raise InputError(f"rerank: model_weight = {self.model_weight}: give a share between 0 and 1")


@dataclass(frozen=True, slots=True)
class Judgement:
    """One document of the first n as it was: its rank (from 1) and score before, and what the model said.

    `model_score` is an integer from 0 to 100, or None, and then `unscored` says why (`detail`: the backend's words).
    `fused` is the score that ordered the scored documents, None for the others.
    """

    docid: str
    rank: int
    score: float
    model_score: int | None = None
    fused: float | None = None
    unscored: Unscored | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Reranked:
    """The new ranking of one topic: the first n anew, then the rest as it was; its scores are 1 / rank, since those of
    the two parts are on different scales. `judgements` are in the old order and hold the scores behind it.

    `calls` counts the requests sent.
    """

    qid: str
    ranking: Ranking
    judgements: tuple[Judgement, ...] = ()
    calls: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def unscored(self) -> tuple[str, ...]:
        """The docids without a score of the model's, in the old order."""
        return tuple(item.docid for item in self.judgements if item.model_score is None)

    def to_json(self) -> Mapping[str, Any]:
        reasons = [item.unscored.value for item in self.judgements if item.unscored is not None]
        return {
            "qid": self.qid,
            "calls": self.calls,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "unscored": {reason: reasons.count(reason) for reason in sorted(set(reasons))},
            "judgements": [
                {
                    "docid": item.docid,
                    "rank": item.rank,
                    "score": item.score,
                    "model_score": item.model_score,
                    "fused": item.fused,
                }
                | ({} if item.unscored is None else {"unscored": item.unscored.value})
                for item in self.judgements
            ],
        }


def rerank(
    topic: Topic, ranking: Ranking, read: Read, generator: Generator, settings: RerankSettings | None = None
) -> Reranked:
    """Rerank one topic; else as `rerank_topics`."""
    (found,) = rerank_topics([(topic, ranking)], read, generator, settings)
    return found


def rerank_topics(
    topics: Iterable[tuple[Topic, Ranking]], read: Read, generator: Generator, settings: RerankSettings | None = None
) -> Iterator[Reranked]:
    """Rerank many topics by one stream of requests, so that a batch engine is kept busy; they come in their order, when
    all replies are in.

    Topics need distinct qids (InputError). A failed request costs only its own document's score. Raises
    EnvironmentFault where the model is gone, or where replies wait in a batch file.
    """
    settings = settings or RerankSettings()
    work = _Work(read, settings)
    listed = list(topics)
    for topic, ranking in listed:
        if topic.qid in work.judged:
            raise InputError(f"rerank: topic {topic.qid!r} comes twice: give each topic once")
        head = ranking.top(settings.top_n)
        work.judged[topic.qid] = [Judgement(hit.docid, hit.rank, hit.score, unscored=Unscored.NO_TEXT) for hit in head]
    for reply in generator.generate(work.requests([topic for topic, _ in listed])):
        if reply.finish is not Finish.PENDING:
            work.take(reply)
    if generator.pending is not None:
        raise EnvironmentFault(f"rerank: not every document has a score yet: {generator.pending}")
    for topic, ranking in listed:
        judgements = _fused(work.judged[topic.qid], settings)
        order = [*_order(judgements), *ranking.docids[len(judgements) :]]
        yield Reranked(
            topic.qid,
            Ranking(tuple(order), tuple(1 / rank for rank in range(1, len(order) + 1))),
            tuple(judgements),
            work.calls.get(topic.qid, 0),
            work.usage.get(topic.qid, Usage()),
        )


@dataclass(slots=True)
class _Work:
    """The judgements as they grow. A request's key is the JSON list of qid and docid: the same from run to run."""

    read: Read
    settings: RerankSettings
    judged: dict[str, list[Judgement]] = field(default_factory=dict[str, list[Judgement]])
    places: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    calls: dict[str, int] = field(default_factory=dict[str, int])
    usage: dict[str, Usage] = field(default_factory=dict[str, Usage])

    def requests(self, topics: Sequence[Topic]) -> Iterator[Request]:
        settings = self.settings
        for topic in topics:
            items = self.judged[topic.qid]
            if not items:
                continue
            documents = self.read([item.docid for item in items])
            for at, document in enumerate(documents):
                text = "" if document is None else document.contents[: settings.document_characters]
                if not text.strip():
                    continue
                key = json.dumps([topic.qid, items[at].docid], ensure_ascii=False)
                items[at] = replace(items[at], unscored=Unscored.NO_REPLY)
                self.places[key] = topic.qid, at
                self.calls[topic.qid] = self.calls.get(topic.qid, 0) + 1
                yield Request(key, render_pair(topic.text, text), settings.max_tokens, settings.seed, RERANK_SCHEMA)

    def take(self, reply: Reply) -> None:
        qid, at = self.places[reply.key]
        self.usage[qid] = self.usage.get(qid, Usage()) + reply.usage
        found = parse_score(reply.text, reply.finish)
        item = self.judged[qid][at]
        if isinstance(found, Unscored):
            self.judged[qid][at] = replace(item, unscored=found, detail=reply.detail)
        else:
            self.judged[qid][at] = replace(item, unscored=None, model_score=found)


def parse_score(text: str, finish: Finish = Finish.STOP) -> int | Unscored:
    """The score in a reply, or why there is none.

    After leaked thinking is cut, the whole reply (or one fenced block as a whole) must be a JSON object whose member
    `score`, written once, is an integer from 0 to 100; other members are overlooked. Floats, strings, nested objects
    and numbers inside prose are no score. Nothing is raised.
    """
    match finish:
        case Finish.STOP | Finish.LENGTH:
            score = _score(text)
            if score is None:
                return Unscored.TRUNCATED if finish is Finish.LENGTH else Unscored.UNPARSABLE
            return score if 0 <= score <= 100 else Unscored.OUT_OF_RANGE
        case Finish.PENDING:
            return Unscored.NO_REPLY
        case _:
            return Unscored(finish.value)


def _score(text: str) -> int | None:
    said = answer(text) or ""
    fenced = _FENCED.fullmatch(said)
    try:
        value: object = json.loads(
            fenced[1] if fenced else said.strip().removeprefix("\ufeff"), object_pairs_hook=_once
        )
    except (ValueError, RecursionError):  # ValueError also for a number of more digits than Python converts
        return None
    score = cast("dict[str, object]", value).get("score") if isinstance(value, dict) else None
    return score if isinstance(score, int) and not isinstance(score, bool) else None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object; ValueError where a member stands twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member stands twice")
    return members


def _fused(judgements: Sequence[Judgement], settings: RerankSettings) -> list[Judgement]:
    """The judgements with the fused score of each scored document."""
    scored = [item for item in judgements if item.model_score is not None]
    if settings.combine == "rrf":
        by_model = sorted(scored, key=lambda item: (-cast(int, item.model_score), item.rank))
        ranked = [Ranking(tuple(item.docid for item in order), (0.0,) * len(order)) for order in (scored, by_model)]
        fused = reciprocal_rank_fusion(ranked, settings.rrf_k)
        scores = dict(zip(fused.docids, fused.scores, strict=True))
    else:
        prior, weight = _min_max([item.score for item in judgements]), settings.model_weight
        scores = {
            item.docid: weight * item.model_score / 100 + (1 - weight) * bm25
            for item, bm25 in zip(judgements, prior, strict=True)
            if item.model_score is not None
        }
    return [replace(item, fused=scores.get(item.docid)) for item in judgements]


def _min_max(scores: Sequence[float]) -> list[float]:
    least, most = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - least) / (most - least) if most > least else 1.0 for score in scores]


def _order(judgements: Sequence[Judgement]) -> Iterator[str]:
    """Unscored documents at their old ranks, the others by fused score, then old rank."""
    scored = sorted(
        (item for item in judgements if item.fused is not None), key=lambda item: (-cast(float, item.fused), item.rank)
    )
    waiting = iter(scored)
    for item in judgements:
        yield item.docid if item.fused is None else next(waiting).docid
