"""What calls cost, from dated tables: the one of the job's TOML, else the one that comes with sira."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from sira.llm.base import Usage
from sira.llm.settings import ModelSettings, Price


@cache
def price_table() -> dict[str, Price]:
    """Prices by model name, as sira ships them."""
    data = tomllib.loads(resources.files("sira.llm").joinpath("prices.toml").read_text(encoding="utf-8"))
    return {name: Price.model_validate(row) for name, row in data.items()}


def price_of(settings: ModelSettings) -> Price | None:
    """The settings' own price, or the table's for a hosted model of that name; None where none is known."""
    if settings.price is not None:
        return settings.price
    return price_table().get(settings.model) if settings.backend in ("openai", "batch-file") else None


def cost(usage: Usage, gpu_seconds: float, price: Price) -> float:
    """In the currency of the price."""
    cached_rate = price.input_per_million if price.cached_input_per_million is None else price.cached_input_per_million
    fresh = usage.prompt_tokens - usage.cached_tokens
    tokens = fresh * price.input_per_million + usage.cached_tokens * cached_rate
    return (tokens + usage.completion_tokens * price.output_per_million) / 1e6 + gpu_seconds / 3600 * price.gpu_hour
