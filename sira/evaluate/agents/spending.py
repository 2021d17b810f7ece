"""What a run cost: price, tokens, seconds, tool calls; and how they spread over questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from statistics import fmean, quantiles

from sira.evaluate.agents.episodes import Episode
from sira.evaluate.pricing import Amount, added

SPREAD = ("n", "min", "p25", "median", "mean", "p75", "p90", "p95", "max")
TOTAL = "all tools"


@dataclass(frozen=True, slots=True)
class Spread:
    """How values spread; percentiles are interpolated linearly. Fields as in SPREAD."""

    n: int
    least: float
    p25: float
    median: float
    mean: float
    p75: float
    p90: float
    p95: float
    most: float

    def row(self) -> dict[str, float]:
        return dict(zip(SPREAD, astuple(self), strict=True))


def spread(values: Iterable[float]) -> Spread | None:
    """None without a value."""
    listed = sorted(values)
    if not listed:
        return None
    cuts = quantiles(listed, n=100, method="inclusive") if len(listed) > 1 else listed * 99
    p25, median, p75, p90, p95 = (cuts[percent - 1] for percent in (25, 50, 75, 90, 95))
    return Spread(len(listed), listed[0], p25, median, fmean(listed), p75, p90, p95, listed[-1])


@dataclass(frozen=True, slots=True)
class Costs:
    """`total` is None where the price of some episode is not known, or currencies differ; `priced` counts those of a
    known price. `per_question` and `per_correct` divide the total (the latter by the answers that the first judge found
    correct)."""

    questions: int
    priced: int
    total: Amount | None
    per_question: float | None
    per_correct: float | None

    @property
    def currency(self) -> str:
        return (self.total.currency or "") if self.total is not None else ""


def costs(episodes: Iterable[Episode], correct: int | None) -> Costs:
    """Of all episodes that ran; one of status `missing` cost nothing."""
    listed = [episode for episode in episodes if episode.file]
    prices = [episode.price for episode in listed]
    total = added(prices) if listed else None
    return Costs(
        questions=len(listed),
        priced=sum(price is not None for price in prices),
        total=total,
        per_question=total.value / len(listed) if total is not None else None,
        per_correct=total.value / correct if total is not None and correct else None,
    )


def measured(episodes: Iterable[Episode]) -> dict[str, dict[str, float]]:
    """quantity -> qid -> value, of the episodes that recorded it: calls of each tool and of all, seconds, turns,
    tokens, price, and the sizes of the layers."""
    listed = [episode for episode in episodes if episode.file]
    tools = dict.fromkeys(tool for episode in listed for tool in episode.calls)
    found: dict[str, dict[str, float]] = {
        f"calls: {TOTAL}": {episode.qid: float(episode.total_calls) for episode in listed},
        **{f"calls: {tool}": {item.qid: float(item.calls.get(tool, 0)) for item in listed} for tool in tools},
        "seconds": {item.qid: item.seconds for item in listed if item.seconds is not None},
        "turns of the model": {item.qid: float(item.turns) for item in listed if item.turns is not None},
        "input tokens": {item.qid: float(item.usage.prompt_tokens) for item in listed if item.usage is not None},
        "output tokens": {item.qid: float(item.usage.completion_tokens) for item in listed if item.usage is not None},
        "price": {item.qid: item.price.value for item in listed if item.price is not None},
        "documents surfaced": {item.qid: float(len(item.surfaced)) for item in listed if item.surfaced is not None},
    }
    return {name: values for name, values in found.items() if values}


def spreads(values: Mapping[str, Mapping[str, float]]) -> dict[str, Spread]:
    """The spread of each quantity."""
    return {name: one for name, by_qid in values.items() if (one := spread(by_qid.values())) is not None}


@dataclass(frozen=True, slots=True)
class HitDepth:
    """At which ranks of the surfaced order labels stand: `first` of each question with one, `every` of all labels."""

    with_hits: int
    without_hits: int
    hits: int
    first: Spread | None
    every: Spread | None


def hit_depth(ranks: Mapping[str, Sequence[int | None]]) -> HitDepth:
    """From qid -> the ranks of its labels, None for one that did not surface."""
    found = {qid: [rank for rank in listed if rank is not None] for qid, listed in ranks.items()}
    hits = [listed for listed in found.values() if listed]
    return HitDepth(
        with_hits=len(hits),
        without_hits=len(found) - len(hits),
        hits=sum(map(len, hits)),
        first=spread(min(listed) for listed in hits),
        every=spread(rank for listed in hits for rank in listed),
    )
