"""What the calls of a cell cost: its stored tokens at today's prices, so that another price redoes no cell.

Prices are those of `sira.llm.prices`: a model's own [model.price], else the table that comes with sira. Where the price
of some calls, or their tokens, are not known, the cell has no price; a price by the hour of a GPU says nothing of a
call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sira.corpora.rows import json_rows
from sira.evaluate.cells import Cell
from sira.evaluate.config import CollectionConfig, LiveSketches
from sira.evaluate.inputs import of_collection
from sira.evaluate.system_config import SystemConfig
from sira.llm import Usage
from sira.llm.prices import cost, price_of, price_table
from sira.llm.settings import ModelSettings, Price, read_model


@dataclass(frozen=True, slots=True)
class Amount:
    """`currency` is None where nothing was called, which costs nothing in any."""

    value: float = 0.0
    currency: str | None = None

    def __str__(self) -> str:
        """Four figures, as `0.0123 USD`."""
        return f"{self.value:.4g}" + (f" {self.currency}" if self.currency else "")


def price_of_cell(
    cell: Cell, system: SystemConfig, collection: CollectionConfig, parts: Iterable[Amount | None]
) -> Amount | None:
    """For all topics of the cell; `parts` are the prices of what a fused system is made of. None: not known.

    `collection` is as the TOML has it, with the models of its sketches.
    """
    return added([*(_price(spent, what, system, collection) for what, spent in cell.spent.items()), *parts])


def added(amounts: Iterable[Amount | None]) -> Amount | None:
    """None where one is not known, or where currencies differ."""
    total = Amount()
    for amount in amounts:
        if amount is None or (amount.currency and total.currency and amount.currency != total.currency):
            return None
        total = Amount(total.value + amount.value, total.currency or amount.currency)
    return total


def spent_at(usage: Usage, price: Price | None) -> Amount | None:
    """None without a price, or with one by the hour alone."""
    if price is None or price.gpu_hour > 0:
        return None
    return Amount(cost(usage, 0.0, price), price.currency)


def _price(spent: Mapping[str, int], what: str, system: SystemConfig, collection: CollectionConfig) -> Amount | None:
    if spent["untold"]:
        return None
    usage = Usage(spent["prompt_tokens"], spent["completion_tokens"], spent["cached_tokens"])
    if what == "rerank":
        return None if system.rerank is None else spent_at(usage, price_of(read_model(system.rerank.llm)))
    asked = asked_of(system, collection)
    price = recorded_price(asked) if isinstance(asked, Path) else None if asked is None else price_of(asked)
    return spent_at(usage, price)


def asked_of(system: SystemConfig, collection: CollectionConfig) -> ModelSettings | Path | None:
    """Who makes the sketches or texts of a system: a model, or the file that holds its recorded replies."""
    if system.llm is not None:
        return read_model(system.llm)
    if system.replies is not None:
        return of_collection(system.replies, collection.name)
    given = None if system.sketches is None else collection.sketches.get(system.sketches)
    if isinstance(given, LiveSketches):
        return read_model(given.llm)
    return None if given is None else Path(given)


def recorded_price(path: Path) -> Price | None:
    """The price of the one hosted model that the rows of a file name as theirs; None where they name none or several,
    or one without a price."""
    models: set[str | None] = set()
    for _, row in json_rows(path):
        models.add(_model(row))
        if len(models) > 1:
            return None
    (name,) = models or {None}
    return price_table().get(name) if name else None


def _model(row: Mapping[str, Any]) -> str | None:
    """The hosted model that a row says made it: `model`, or that of its provenance."""
    provenance: Any = row.get("provenance")
    told: Any = row.get("model")
    if told is None and isinstance(provenance, dict):
        told = cast("dict[str, Any]", provenance).get("model")
    if isinstance(told, dict):
        identity = cast("dict[str, Any]", told)
        told = identity.get("model") if identity.get("backend") in ("openai", "batch-file") else None
    return told if isinstance(told, str) else None
