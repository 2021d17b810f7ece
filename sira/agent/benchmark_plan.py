"""What a benchmark's run would be: questions, files, and the most that it can take; nothing is opened or asked."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path

from sira.agent.benchmark import Setup
from sira.agent.benchmark_inputs import Inputs, Labels
from sira.agent.budget import Limits
from sira.llm.prices import price_of
from sira.llm.settings import ModelSettings, Price


def plan_lines(
    inputs: Inputs,
    setup: Setup,
    labels: Labels,
    *,
    questions: int,
    index: str,
    model: ModelSettings | None,
    at_once: int,
) -> list[str]:
    """One line a fact. Bounds are upper ones, of all questions."""
    table, limits, tools = inputs.file.table, setup.limits, setup.tools
    lines = [
        f"benchmark  {table.id} ({table.name}), set {inputs.set_name}"
        + (f", variant {setup.variant}" if setup.variant else ""),
        f"questions  {questions}",
        f"index      {index}",
        f"tools      {tools.profile}, depth {tools.depth}, BM25 k1 = {tools.scoring.k1:g}, b = {tools.scoring.b:g}",
        f"prompt     {setup.prompt}",
    ]
    for item in fields(Labels):
        path: Path | None = getattr(labels, item.name)
        if path is not None:
            lines.append(f"{item.name.split('_')[0]:<10} {path}" + ("" if path.is_file() else " (is not there)"))
    if labels.qrels is None:
        there = inputs.collection is not None and bool(inputs.collection.qrels)
        lines.append(f"qrels      {'of ' + inputs.collection.source if there and inputs.collection else 'none'}")
    lines.append(f"a question {_bounds(limits)}")
    factor = 1.0 if setup.difficulty is None else setup.difficulty.most
    lines.append(f"time       {_time(limits, questions, at_once, factor)}")
    tokens = _tokens(limits, model, factor)
    lines.append(f"tokens     {'not bounded: give --tokens' if tokens is None else f'at most {tokens * questions:,}'}")
    lines.append(f"price      {_price(limits, tokens, questions, model)}")
    return lines


def _bounds(limits: Limits) -> str:
    told = {
        "s": limits.time_s,
        "turns": limits.turns,
        "tokens": limits.tokens,
        "money": limits.price,
    }
    parts = [f"{value:g} {unit}" for unit, value in told.items() if value is not None]
    steer = "never told to answer" if limits.steer_ratio is None else f"told to answer at {limits.steer_ratio:g}"
    return f"{', '.join(parts)}; {steer}"


def _time(limits: Limits, questions: int, at_once: int, factor: float) -> str:
    if limits.time_s is None:
        return "not bounded: give --time"
    seconds = limits.time_s * factor * math.ceil(questions / at_once)
    return f"at most {seconds / 3600:.2f} h, {at_once} at once (retries not counted)"


def _tokens(limits: Limits, model: ModelSettings | None, factor: float) -> int | None:
    """Of one question, as an endpoint bills them; the call that passes the bound is not counted. A turn takes at most
    the model's context."""
    context = None if model is None else model.context_tokens
    turns = None if limits.turns is None or context is None else math.ceil(limits.turns * factor) * context
    known = [value for value in (limits.tokens, turns) if value is not None]
    return min(known) if known else None


def _price(limits: Limits, tokens: int | None, questions: int, model: ModelSettings | None) -> str:
    price = None if model is None else price_of(model)
    if price is None:
        return "not known: no model named" if model is None else "not known: give [model.price]"
    if price.gpu_hour > 0:
        return f"by the hour of a GPU ({price.gpu_hour:g} {price.currency})"
    if limits.price is not None:
        return f"at most {limits.price * questions:,.4f} {price.currency}"
    if tokens is None:
        return f"not bounded: give --tokens or --price ({price.currency} known per token)"
    return (
        f"at most {_dearest(price) * tokens * questions / 1e6:,.4f} {price.currency} (all tokens at the dearest rate)"
    )


def _dearest(price: Price) -> float:
    return max(price.input_per_million, price.output_per_million, price.cached_input_per_million or 0.0)
