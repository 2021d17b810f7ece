"""Accuracy by one judge, with what was not judged, and the calibration of the answers' confidence.

An episode without an answer counts against the agent; an answer that the judge could not judge counts neither way and
is named, with the bounds between which accuracy lies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sira.agent.answer import parse_answer
from sira.evaluate.agents.calibration import DEFINITIONS, UNSTATED, Definition, Stated, calibration_error
from sira.evaluate.agents.episodes import Episode
from sira.evaluate.agents.intervals import Interval, interval
from sira.evaluate.agents.judgments import Judged, response_hash
from sira.evaluate.agents.verdicts import Verdict
from sira.evaluate.pricing import Amount, spent_at
from sira.llm.base import Usage
from sira.llm.settings import Price

STALE = "stale"
"""Why a verdict does not count: it is of an answer that the run no longer has."""
NOT_ASKED = "not_asked"


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The verdicts of one judge on one run.

    `over_completed` is correct / judged. `over_all` counts episodes without an answer as wrong and leaves the
    `unjudged` answers out; `bounds` are what it is if all of these are wrong, or right. `values` are 1 and 0 by qid,
    as they go into `over_all`. Intervals are 95 % percentile bootstrap over questions. None: nothing to divide by.
    """

    judge: str
    label: str
    mode: str
    fingerprint: str
    questions: int
    answered: int
    judged: int
    correct: int
    reasons: Mapping[str, str]
    """qid -> why an answer has no verdict."""
    over_all: float | None
    bounds: Interval | None
    interval: Interval | None
    over_completed: float | None
    interval_completed: Interval | None
    calibration: Mapping[Definition, float | None]
    stating: int
    """Judged answers that state a confidence in a line of their own."""
    salvaged: int
    price: Amount | None
    """Of all replies of the judge; None where its price is not known."""
    values: Mapping[str, float]
    verdicts: Mapping[str, Verdict]
    """Of the answers that are judged."""

    @property
    def unjudged(self) -> Mapping[str, int]:
        """Reason -> answers."""
        return dict(Counter(self.reasons.values()))


def accuracy(episodes: Iterable[Episode], judged: Judged) -> Accuracy:
    """The accuracy by one judge."""
    values: dict[str, float] = {}
    verdicts: dict[str, Verdict] = {}
    reasons: dict[str, str] = {}
    stated: dict[Definition, list[Stated]] = {definition: [] for definition in DEFINITIONS}
    questions = answered = stating = 0
    for episode in episodes:
        questions += 1
        if not episode.answered:
            values[episode.qid] = 0.0
            continue
        answered += 1
        verdict = judged.verdicts.get(episode.qid)
        if verdict is None or verdict.correct is None or verdict.response != response_hash(episode.answer):
            reasons[episode.qid] = _why(episode, verdict)
            continue
        values[episode.qid], verdicts[episode.qid] = float(verdict.correct), verdict
        own = parse_answer(episode.answer).confidence
        stating += own is not None
        stated["pi-serini"].append(Stated(UNSTATED if own is None else own, verdict.correct))
        read = verdict.confidence
        stated["hle"].append(Stated(UNSTATED if read is None else read, verdict.correct))
    correct = sum(item.correct is True for item in verdicts.values())
    completed = {qid: float(item.correct is True) for qid, item in verdicts.items()}
    lost = len(reasons)
    return Accuracy(
        judge=judged.name,
        label=judged.label,
        mode=judged.mode,
        fingerprint=judged.fingerprint,
        questions=questions,
        answered=answered,
        judged=len(verdicts),
        correct=correct,
        reasons=reasons,
        over_all=correct / len(values) if values else None,
        bounds=(correct / questions, (correct + lost) / questions) if questions else None,
        interval=interval(values),
        over_completed=correct / len(verdicts) if verdicts else None,
        interval_completed=interval(completed),
        calibration={name: calibration_error(items, name) for name, items in stated.items()},
        stating=stating,
        price=_price(judged),
        salvaged=sum(item.salvaged for item in verdicts.values()),
        values=values,
        verdicts=verdicts,
    )


def _price(judged: Judged) -> Amount | None:
    told = judged.manifest.get("price")
    if told is None:
        return None
    try:
        price = Price.model_validate(told)
    except ValueError:
        return None
    return spent_at(sum((item.usage for item in judged.verdicts.values()), Usage()), price)


def _why(episode: Episode, verdict: Verdict | None) -> str:
    if verdict is None:
        return NOT_ASKED
    if verdict.response != response_hash(episode.answer):
        return STALE
    return "unknown" if verdict.unjudged is None else verdict.unjudged.value
