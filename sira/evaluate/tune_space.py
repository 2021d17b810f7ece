"""The grid of a tuning: which values of which parameters, first coarse, then finer around the best point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import product
from math import inf, prod, sqrt

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
        Parameter("k1", "k1", (0.4, 0.9, 1.5, 2.5), geometric=True),
        Parameter("b", "b", (0.2, 0.4, 0.6, 0.8, 1.0), highest=1.0),
        Parameter("lambda", "sketch_weight", (0.25, 0.5, 1.0), geometric=True),
        Parameter("tau", "max_df_ratio", (0.01, 0.05, 0.2), geometric=True, highest=1.0),
        Parameter("w_e", "expansion_weight", (0.5, 1.0, 2.0), geometric=True),
    )
}


_MOST_VALUES = 1000
"""Of one parameter: a step that is too fine is a slip."""


def parse_parameter(text: str) -> Parameter:
    """`k1`, or with a coarse grid of one's own `k1=0.6,0.9,1.2`, `k1=0.3:0.5:0.1` (first, last, step; both ends count)
    or a list of both. A value that stands twice counts once.

    Raises InputError for an unknown name, values that are no numbers >= 0, and a range whose step is 0 or whose end is
    below its beginning; what values a parameter may have is checked by the settings themselves.
    """
    name, equals, listed = text.partition("=")
    if name not in PARAMETERS:
        raise InputError(f"parameter {name!r} is unknown; choose {', '.join(PARAMETERS)}")
    known = PARAMETERS[name]
    if not equals:
        return known
    values: set[float] = set()
    for part in listed.split(","):
        values |= _numbers(part, f"parameter {text!r}", f"{name}={_listed(known.values)}")
    return replace(known, values=tuple(sorted(values)))


def _numbers(part: str, place: str, example: str) -> set[float]:
    """Of one number, or of `first:last:step`. In decimals, lest 0.3 + 2 * 0.1 go beyond 0.5."""
    try:
        numbers = [Decimal(number.strip()) for number in part.split(":")]
    except InvalidOperation:
        numbers = []
    if len(numbers) not in (1, 3) or not all(number.is_finite() and number >= 0 for number in numbers):
        raise InputError(f"{place}: write numbers >= 0, such as {example}, or ranges first:last:step")
    if len(numbers) == 1:
        return {float(numbers[0])}
    first, last, step = numbers
    if step == 0 or last < first:
        raise InputError(f"{place}: {part} is no range first:last:step: give a step above 0 and a last not below first")
    if (last - first) / step >= _MOST_VALUES:
        raise InputError(f"{place}: {part} has more than {_MOST_VALUES} values: give a larger step")
    return {float(first + number * step) for number in range(int((last - first) / step) + 1)}


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
