"""Routing: what one topic is worth, predicted from index statistics. Pure: it decides, its caller acts.

Predictors before the search (Zhao, Scholer and Tsegay 2008; He and Ounis 2004) need df alone; those after it look at
the scores of the plain BM25 ranking (Shtok and others 2012). No predictor reads a document or calls a model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from sira.compile.gates import idf
from sira.compile.statistics import Statistics
from sira.errors import InputError
from sira.records import Ranking, Topic

Action = Literal["plain", "compiled", "several", "agent"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a topic leaves the way of one compiled search. Chosen by argument, on no test set.

    `plain` (no LLM call) is for head queries: at most `head_words` words after analysis, all of them in the index, the
    rarest with an idf of at least `head_idf_share` of the largest possible; and hits that are few, or whose scores are
    not all alike: the first has at least `head_ratio` times the score of the hit of rank `score_depth`.

    `several` needs at least `several_words` words (a question of many constraints) and a first hit that is not clear,
    with less than `clear_ratio` times that score: a long query that one document answers, such as a whole passage,
    stays with one search.

    `fallback` is the action where confidence is low: no hit, less than `known_share` of the distinct words in the
    index, or no word with more than `low_idf_share` of the largest idf. `agent` is for callers that have one: the
    commands and experiments of sira refuse it.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}  # as a table of a TOML file

    head_words: int = 3
    head_idf_share: float = 0.3
    head_ratio: float = 1.05
    clear_ratio: float = 1.2
    score_depth: int = 10
    several_words: int = 40
    known_share: float = 0.5
    low_idf_share: float = 0.1
    fallback: Action = "compiled"

    def __post_init__(self) -> None:
        for name, least in (("head_words", 0), ("score_depth", 2), ("several_words", 1)):
            if getattr(self, name) < least:
                raise InputError(f"routing: {name} = {getattr(self, name)}: give {least} or more")
        for name in ("head_idf_share", "known_share", "low_idf_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"routing: {name} = {getattr(self, name)}: give a share between 0 and 1")
        for name in ("head_ratio", "clear_ratio"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 1):
                raise InputError(f"routing: {name} = {getattr(self, name)}: give a finite number >= 1")
        if self.fallback not in get_args(Action):
            raise InputError(f"routing: fallback = {self.fallback!r}: choose {', '.join(get_args(Action))}")


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a topic, and why, in one line. `fallback` says that confidence was low."""

    action: Action
    reason: str
    predictors: Mapping[str, float] = field(default_factory=dict[str, float])
    fallback: bool = False


def predictors(
    topic: Topic, statistics: Statistics, ranking: Ranking | None = None, score_depth: int = 10
) -> dict[str, float]:
    """The predictors of one topic; those of the ranking only where it is given.

    `words`, the query's terms after analysis, with repeats; `distinct`; `known`, those of them with df > 0. Over the
    known words: `max_idf`, `average_idf` (Lucene's idf), `max_idf_share` (max_idf over the idf of df 1, so that it
    means the same in collections of any size), `scq_sum` and `scq_max`: SCQ of a word is (1 + ln f) ln(1 + N / df),
    where f should be its frequency in the collection; statistics hold df only, which stands in for it.

    `hits`; `top_ratio`, the first score over that of rank `score_depth` (of the last hit in a shorter ranking), 1 where
    the latter is 0; `score_variation`, the standard deviation over the mean of the first `score_depth` scores (NQC,
    with the mean in place of the collection's own score, which BM25 does not have).
    """
    (terms,) = statistics.analyze([topic.text])
    distinct = list(Counter(terms))
    documents = statistics.document_count
    known = [df for df in (statistics.df(distinct) if distinct else []) if df > 0]
    idfs = [idf(df, documents) for df in known]
    scq = [(1 + math.log(df)) * math.log(1 + documents / df) for df in known]
    most = idf(1, documents)
    found: dict[str, float] = {
        "words": len(terms),
        "distinct": len(distinct),
        "known": len(known),
        "max_idf": max(idfs, default=0.0),
        "average_idf": math.fsum(idfs) / len(idfs) if idfs else 0.0,
        "max_idf_share": max(idfs, default=0.0) / most if most > 0 else 0.0,
        "scq_sum": math.fsum(scq),
        "scq_max": max(scq, default=0.0),
    }
    return found if ranking is None else found | _after(ranking, score_depth)


def _after(ranking: Ranking, depth: int) -> dict[str, float]:
    scores = ranking.scores[:depth]
    if not scores:
        return {"hits": 0, "top_ratio": 1.0, "score_variation": 0.0}
    mean = math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    return {
        "hits": len(ranking),
        "top_ratio": scores[0] / scores[-1] if scores[-1] > 0 else 1.0,
        "score_variation": deviation / mean if mean > 0 else 0.0,
    }


def route(
    topic: Topic, statistics: Statistics, ranking: Ranking | None = None, thresholds: Thresholds | None = None
) -> Decision:
    """Decide between plain BM25, one compiled search, several, and the agent.

    `ranking` is that of plain BM25, to at least `score_depth` hits. Without it the answer is neither `plain` nor
    `several`, for both are believed only with scores at hand.
    """
    limits = thresholds or Thresholds()
    found = predictors(topic, statistics, ranking, limits.score_depth)
    doubt = _doubt(found, limits)
    if doubt is not None:
        return Decision(limits.fallback, f"low confidence: {doubt}", found, fallback=True)
    if ranking is None:
        return Decision("compiled", "one compiled search: no scores to judge by", found)
    words, hits, ratio = int(found["words"]), int(found["hits"]), found["top_ratio"]
    few = hits < limits.score_depth
    scores = f"the first hit scores {ratio:.2f} times as much as that of rank {limits.score_depth}"
    if (
        (few or ratio >= limits.head_ratio)
        and words <= limits.head_words
        and found["known"] == found["distinct"]
        and found["max_idf_share"] >= limits.head_idf_share
    ):
        share = f"a word with {found['max_idf_share']:.0%} of the largest idf"
        said = f"only {hits} hit{'s' * (hits != 1)}" if few else scores
        return Decision("plain", f"head query: {words} known word{'s' * (words != 1)}, {share}, and {said}", found)
    if words >= limits.several_words and (few or ratio < limits.clear_ratio):
        return Decision("several", f"a question of {words} words, and no first hit that stands out", found)
    return Decision("compiled", "one compiled search: neither a clear head query nor a long question", found)


def _doubt(found: Mapping[str, float], limits: Thresholds) -> str | None:
    """Why confidence is low; None where it is not."""
    words, known = int(found["distinct"]), int(found["known"])
    if words == 0:
        return "no word of the query is left after analysis"
    if known == 0:
        return "no word of the query is in the index"
    if found.get("hits") == 0:
        return "plain BM25 finds nothing"
    if known < limits.known_share * words:
        return f"only {known} of {words} words are in the index"
    if found["max_idf_share"] <= limits.low_idf_share:
        return f"the rarest word has {found['max_idf_share']:.0%} of the largest idf"
    return None


def route_counts(decisions: Iterable[Decision]) -> dict[str, int]:
    """Topics by action, all four named, then `fallback`: how many were of low confidence, whatever their action."""
    counts: dict[str, int] = dict.fromkeys((*get_args(Action), "fallback"), 0)
    for decision in decisions:
        counts[decision.action] += 1
        counts["fallback"] += decision.fallback
    return counts
