"""The grid of a tuning: which values of which parameters, first coarse, then finer around the best point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, isfinite, prod, sqrt

from sira.errors import InputError

Point = tuple[float, ...]
"""One value of each parameter, in the order of the space."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """`name` as users write it, `key` as in a [[systems]] table; `values` are the coarse grid. Between two of them lies
    their geometric mean if `geometric` (and both are above 0), else their arithmetic one. No value is below 0 or above
    `highest`."""

    name: str
    key: str
    values: tuple[float, ...]
    geometric: bool = False
    highest: float = inf

    def between(self, low: float, high: float) -> float:
        """The value halfway, rounded to four significant digits."""
        middle = sqrt(low * high) if self.geometric and low > 0 else (low + high) / 2
        return float(f"{middle:.4g}")


PARAMETERS: Mapping[str, Parameter] = {
    item.name: item
    for item in (
        Parameter("k1", "k1", (0.4, 0.9, 1.5, 2.5)),
        Parameter("b", "b", (0.2, 0.4, 0.6, 0.8, 1.0), highest=1.0),
        Parameter("lambda", "sketch_weight", (0.25, 0.5, 1.0), geometric=True),
        Parameter("tau", "max_df_ratio", (0.01, 0.05, 0.2), geometric=True, highest=1.0),
        Parameter("w_e", "expansion_weight", (0.5, 1.0, 2.0), geometric=True),
    )
}


def parse_parameter(text: str) -> Parameter:
    """`k1`, or `k1=0.6,0.9,1.2` with a coarse grid of one's own.

    Raises InputError for an unknown name or values that are no distinct numbers >= 0; ranges are checked by the
    settings themselves.
    """
    name, equals, listed = text.partition("=")
    if name not in PARAMETERS:
        raise InputError(f"parameter {name!r} is unknown; choose {', '.join(PARAMETERS)}")
    known = PARAMETERS[name]
    if not equals:
        return known
    try:
        values = tuple(float(value) for value in listed.split(","))
    except ValueError:
        values = ()
    if not values or len(set(values)) < len(values) or not all(isfinite(value) and value >= 0 for value in values):
        raise InputError(f"parameter {text!r}: write distinct numbers >= 0, such as {name}={_listed(known.values)}")
    return replace(known, values=tuple(sorted(values)))


@dataclass(frozen=True, slots=True)
class Space:
    """The parameters and the point from which a tuning starts: the settings as they are (`default`)."""

    parameters: tuple[Parameter, ...]
    default: Point

    def __post_init__(self) -> None:
        names = [item.name for item in self.parameters]
        if not names:
            raise InputError(f"no parameter to tune; choose some of {', '.join(PARAMETERS)}")
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"parameter {twice[0]!r} is given twice")

    def axes(self) -> tuple[tuple[float, ...], ...]:
        """The coarse values of each parameter, the default's among them, ascending."""
        return tuple(
            tuple(sorted({*item.values, value})) for item, value in zip(self.parameters, self.default, strict=True)
        )

    def coarse(self) -> Iterator[Point]:
        """Every point of the coarse grid, the default first."""
        yield self.default
        yield from (point for point in product(*self.axes()) if point != self.default)

    def size(self) -> int:
        """The number of points of the coarse grid."""
        return prod(len(axis) for axis in self.axes())

    def finer(self, axes: Sequence[Sequence[float]], best: Point) -> tuple[tuple[tuple[float, ...], ...], list[Point]]:
        """The axes of a grid around `best`, and its points but `best`: of each parameter its value there and the ones
        halfway to its neighbours on the `axes`. The grid does not grow beyond its ends."""
        around: list[tuple[float, ...]] = []
        for item, axis, value in zip(self.parameters, axes, best, strict=True):
            at = list(axis).index(value)
            lower = [item.between(axis[at - 1], value)] if at else []
            upper = [item.between(value, axis[at + 1])] if at + 1 < len(axis) else []
            around.append(tuple(sorted({*lower, value, *upper})))
        return tuple(around), [point for point in product(*around) if point != best]

    def changes(self, point: Point) -> dict[str, float]:
        """The point as keys of a [[systems]] table."""
        return {item.key: value for item, value in zip(self.parameters, point, strict=True)}

    def named(self, point: Point) -> dict[str, float]:
        return {item.name: value for item, value in zip(self.parameters, point, strict=True)}

    def at_border(self, point: Point) -> tuple[str, ...]:
        """The parameters that moved from the default to the first or last value of the coarse grid, where a better one
        may lie beyond."""
        moved = zip(self.parameters, self.axes(), self.default, point, strict=True)
        return tuple(
            item.name
            for item, axis, default, value in moved
            if value not in (default, 0, item.highest) and value in (axis[0], axis[-1])
        )


def _listed(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)
