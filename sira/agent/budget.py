"""What an episode may use: wall clock, turns, tokens, price; when it is told to answer, and when it ends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from sira.agent.base import StopReason
from sira.agent.clock import Clock
from sira.errors import InputError
from sira.llm.base import Usage
from sira.llm.prices import cost
from sira.llm.settings import Price

DEFAULT_TIME_S = 300.0
DEFAULT_STEER_RATIO = 0.7


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one episode; None is no bound of this kind, and one of time or turns there must be.

    `time_s` is wall clock, all waiting included. `tokens` counts prompt and completion of every call, as an endpoint
    bills them; `price` is in the currency of the model's price. At `steer_ratio` of the time the model is told to
    answer, and its tools are blocked; None: never. With `steer_all` the same holds for every other bound. Raises
    InputError for a bound that is not above 0.
    """

    time_s: float | None = DEFAULT_TIME_S
    turns: int | None = None
    tokens: int | None = None
    price: float | None = None
    steer_ratio: float | None = DEFAULT_STEER_RATIO
    steer_all: bool = True

    def __post_init__(self) -> None:
        for name, unit in (("time_s", "seconds"), ("turns", "turns"), ("tokens", "tokens"), ("price", "money")):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
                raise InputError(f"budget: {name} = {value!r}: give a number of {unit} above 0, or leave it out")
        if self.time_s is None and self.turns is None:
            raise InputError("budget: neither time nor turns are bounded, so that an episode might never end: give one")
        if self.steer_ratio is not None and not 0 < self.steer_ratio <= 1:
            raise InputError(f"budget: steer_ratio = {self.steer_ratio!r}: give a share above 0 and up to 1")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Scales time and turns by how hard a question looks before the first search.

    The predictor is one of `sira.search.routing.predictors`; by default `max_idf_share`, the idf of the question's
    rarest known word over the largest possible: 1 where one word alone picks out a document, low where all its words
    are common. At `easy` or beyond the factor is `least`, at `hard` or beyond `most`, and in between it runs in a
    straight line. Chosen by argument, calibrated on no collection.
    """

    predictor: str = "max_idf_share"
    easy: float = 1.0
    hard: float = 0.4
    least: float = 0.5
    most: float = 2.0

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.easy, self.hard, self.least, self.most))) or self.easy == self.hard:
            raise InputError("difficulty: easy and hard must be two different finite numbers")
        if not 0 < self.least <= self.most:
            raise InputError(f"difficulty: least = {self.least}, most = {self.most}: give 0 < least <= most")

    def factor(self, predictors: Mapping[str, float]) -> float:
        """By what time and turns are multiplied. Raises InputError for a predictor that is not there."""
        if self.predictor not in predictors:
            known = ", ".join(sorted(predictors))
            raise InputError(f"difficulty: there is no predictor {self.predictor!r}: choose {known}")
        share = (self.easy - predictors[self.predictor]) / (self.easy - self.hard)
        return self.least + min(1.0, max(0.0, share)) * (self.most - self.least)

    def scaled(self, limits: Limits, predictors: Mapping[str, float]) -> Limits:
        factor = self.factor(predictors)
        return replace(
            limits,
            time_s=None if limits.time_s is None else limits.time_s * factor,
            turns=None if limits.turns is None else max(1, round(limits.turns * factor)),
        )


class Budget:
    """The bounds of one episode as they are used up. The time begins when it is made."""

    def __init__(self, limits: Limits, clock: Clock, price: Price | None = None) -> None:
        """Raises InputError for a bound on the price where no price is known."""
        if limits.price is not None and price is None:
            raise InputError("budget: a bound on the price, but the model's is not known: give it in [model.price]")
        self.limits, self.usage, self.turns = limits, Usage(), 0
        self._clock, self._price = clock, price
        self._started = clock.now()

    @property
    def deadline(self) -> float | None:
        """On the clock."""
        return None if self.limits.time_s is None else self._started + self.limits.time_s

    @property
    def elapsed_s(self) -> float:
        return self._clock.now() - self._started

    @property
    def remaining_s(self) -> float | None:
        return None if self.limits.time_s is None else self.limits.time_s - self.elapsed_s

    @property
    def tokens(self) -> int:
        return self.usage.prompt_tokens + self.usage.completion_tokens

    @property
    def amount(self) -> float | None:
        """What the calls cost so far; None where no price is known."""
        return None if self._price is None else cost(self.usage, 0.0, self._price)

    def price_json(self) -> dict[str, Any] | None:
        """The amount, its currency and the date of the price list; None where no price is known."""
        if self._price is None:
            return None
        amount = cost(self.usage, 0.0, self._price)
        return {"amount": round(amount, 8), "currency": self._price.currency, "date": self._price.date.isoformat()}

    def spend(self, usage: Usage, *, turn: bool = True) -> None:
        """One call of the model; `turn`: it gave a turn of the conversation."""
        self.turns += turn
        self.usage += usage

    def shares(self) -> dict[StopReason, float]:
        """Of each bound that there is, the share that was used."""
        limits = self.limits
        used: list[tuple[StopReason, float | None, float | None]] = [
            (StopReason.TIME, self.elapsed_s, limits.time_s),
            (StopReason.TURNS, self.turns, limits.turns),
            (StopReason.TOKENS, self.tokens, limits.tokens),
            (StopReason.PRICE, self.amount, limits.price),
        ]
        return {reason: spent / bound for reason, spent, bound in used if bound is not None and spent is not None}

    def exhausted(self) -> StopReason | None:
        """The first bound that is used up."""
        return next((reason for reason, share in self.shares().items() if share >= 1), None)

    def to_steer(self, *, time_alone: bool = False) -> StopReason | None:
        """The first bound of which so much is used that the model has to answer: its last turn at the latest."""
        ratio, turns = self.limits.steer_ratio, self.limits.turns
        if ratio is None:
            return None
        shares = self.shares()
        if turns is not None and 0 < self.turns == turns - 1:
            shares[StopReason.TURNS] = 1.0
        steering = (StopReason.TIME,) if time_alone or not self.limits.steer_all else tuple(shares)
        return next((reason for reason in steering if shares.get(reason, 0.0) >= ratio), None)

    def status_line(self) -> str:
        """What is left, for the model; "" where nothing of it is bounded."""
        limits = self.limits
        parts: list[str] = []
        if limits.time_s is not None:
            parts.append(f"{max(0, math.floor(limits.time_s - self.elapsed_s))} s of {limits.time_s:g} s")
        if limits.turns is not None:
            parts.append(f"{max(0, limits.turns - self.turns)} of {limits.turns} turns")
        if limits.tokens is not None:
            parts.append(f"{max(0, limits.tokens - self.tokens)} of {limits.tokens} tokens")
        return f"[Left: {', '.join(parts)}]" if parts else ""
