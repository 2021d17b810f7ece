"""[[grid]] of an experiment: rows of the table made from a base row and the product of some keys' values.

    [[grid]]
    system = "both"
    sketch_weight = [0.25, 0.5]
    max_df_ratio = [0.01, 0.05]

makes four systems, `both+sketch_weight=0.25+max_df_ratio=0.01` and so on, the last key the fastest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import product
from math import prod
from typing import Any, TypeGuard, cast

from pydantic import Field, ValidationError

from sira.evaluate.system_config import MAX_NAME, Strict, SystemConfig

Scalar = bool | int | float | str
MAX_ROWS = 10_000
"""Rows of one grid."""

_OWN = ("system", "select")
_FIXED = ("name", "kind", "of", "params", "routing", "budget", "rerank", "feedback", "gate", "agent")
"""Keys that no grid varies: they name things, or are tables or lists themselves."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class GridConfig(Strict):
    """One grid: `values` are those of each key, in the order of the file.

    `select`: False picks nothing; True, or the name of a measure, has the best row run under the name of the base.
    """

    system: str
    select: bool | str = False
    values: dict[str, tuple[Scalar, ...]] = Field(min_length=1)

    def rows(self) -> dict[str, dict[str, Scalar]]:
        """The values of each row by its name. Raises ValueError for more than MAX_ROWS, or a name that stands twice or
        is too long."""
        if (count := prod(map(len, self.values.values()))) > MAX_ROWS:
            raise ValueError(f"grid of {self.system!r}: makes {count} rows, {MAX_ROWS} at most: give fewer values")
        found: dict[str, dict[str, Scalar]] = {}
        for point in product(*self.values.values()):
            values = dict(zip(self.values, point, strict=True))
            name = "+".join([self.system, *(f"{key}={_spelled(value)}" for key, value in values.items())])
            if name in found:
                raise ValueError(f"grid of {self.system!r}: two rows would have the name {name!r}: leave one value out")
            if len(name) > MAX_NAME:
                raise ValueError(f"grid of {self.system!r}: the name {name!r} has more than {MAX_NAME} letters")
            found[name] = values
        return found

    def axes(self) -> tuple[str, str] | None:
        """The two keys with more than one value, where there are exactly two."""
        keys = [key for key, values in self.values.items() if len(values) > 1]
        return (keys[0], keys[1]) if len(keys) == 2 else None


def with_grids(data: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of an experiment's TOML with the rows of its grids among the systems, each behind its base.

    Raises ValueError naming the grid and its fault; what else is wrong with a table stays as it is, to be found by its
    own checks.
    """
    tables, systems = data.get("grid"), data.get("systems")
    if not _are_tables(tables) or not _are_tables(systems):
        return dict(data)
    rows = [dict(row) for row in systems]
    names = [row.get("name") for row in rows]
    grids = [_parsed(table, names) for table in tables]
    for grid in grids:
        at = next(place for place, row in enumerate(rows) if row.get("name") == grid.system)
        made = [{**rows[at], **values, "name": name} for name, values in grid.rows().items()]
        _check_types(grid, made)
        taken = {row.get("name") for row in rows}
        if twice := [row["name"] for row in made if row["name"] in taken]:
            raise ValueError(f"grid of {grid.system!r}: system {twice[0]!r} stands there already: names must differ")
        while at + 1 < len(rows) and rows[at + 1].get("name") not in names:  # behind the rows of an earlier grid
            at += 1
        rows[at + 1 : at + 1] = made
    return {**data, "systems": rows, "grid": [grid.model_dump() for grid in grids]}


def _check_types(grid: GridConfig, rows: Iterable[Mapping[str, Any]]) -> None:
    """Raises ValueError for a value of the grid that its key cannot have; other faults of the base stay its own."""
    for row in rows:
        try:
            SystemConfig.model_validate(row)
        except ValidationError as error:
            for fault in error.errors():
                if (key := str(fault["loc"][0])) in grid.values:
                    raise ValueError(f"grid of {grid.system!r}: {key} = {row[key]!r}: {fault['msg']}") from None


def _are_tables(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(item, dict) for item in cast("list[object]", value))


def _parsed(table: Mapping[str, Any], names: list[Any]) -> GridConfig:
    base, select = table.get("system"), table.get("select", False)
    if not isinstance(base, str) or base not in names:
        known = ", ".join(str(name) for name in names)
        raise ValueError(f"grid: `system` = {base!r} is none of the [[systems]]: {known}")
    where = f"grid of {base!r}"
    if not isinstance(select, bool | str):
        raise ValueError(f"{where}: `select` = {select!r}: give true, false or the name of a measure")
    values: dict[str, tuple[Scalar, ...]] = {}
    for key, given in table.items():
        if key in _OWN:
            continue
        if key not in SystemConfig.model_fields:
            raise ValueError(f"{where}: {key!r} is no key of a system")
        if key in _FIXED:
            raise ValueError(f"{where}: {key!r} cannot vary in a grid: write [[systems]] rows for that")
        listed = cast("list[object]", given) if isinstance(given, list) else []
        if not listed or not all(isinstance(value, bool | int | float | str) for value in listed):
            raise ValueError(f"{where}: {key!r} = {given!r}: give a list of numbers or texts")
        values[key] = tuple(cast("list[Scalar]", listed))
    if not values:
        raise ValueError(f"{where}: names no key to vary, such as sketch_weight = [0.25, 0.5]")
    return GridConfig(system=base, select=select, values=values)


def _spelled(value: Scalar) -> str:
    """A value as a part of a name, which is that of a file too."""
    text = value if isinstance(value, str) else json.dumps(value)
    return _UNSAFE.sub("-", text)
