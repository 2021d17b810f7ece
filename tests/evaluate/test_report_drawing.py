"""The small parts of a report's figures."""

from __future__ import annotations

import pytest

from sira.evaluate.reporting.drawing import log_ticks, logarithmic, series, shortened, ticks, ticks_between
from sira.evaluate.reporting.pareto import Point, frontier


def test_thirty_series_differ_in_colour_or_shape() -> None:
    assert len({(item.colour, item.shape) for item in map(series, range(31))}) == 31


@pytest.mark.parametrize(
    ("most", "expected"),
    [(1, [0, 0.5, 1]), (0.81, [0, 0.5, 1]), (4, [0, 1, 2, 3, 4]), (0, [0, 0.5, 1]), (730, [0, 200, 400, 600, 800])],
)
def test_an_axis_from_nothing_goes_up_to_the_value(most: float, expected: list[float]) -> None:
    assert ticks(most) == pytest.approx(expected)


@pytest.mark.parametrize(("low", "high"), [(0.52, 0.81), (0, 0), (1, 1), (0.7, 0.70001), (0, 1), (0.999, 1)])
def test_an_axis_around_points_holds_them_all(low: float, high: float) -> None:
    found = ticks_between(low, high)
    assert found[0] <= low + 1e-9
    assert found[-1] >= high - 1e-9
    assert 2 <= len(found) <= 9


def test_a_logarithmic_axis_holds_its_ends() -> None:
    assert log_ticks(2.95, 22.6) == pytest.approx([2, 5, 10, 20, 50])
    assert log_ticks(5, 5) == pytest.approx([5, 10])
    assert logarithmic(1, 1000, 0, 300)(10) == pytest.approx(100)
    assert logarithmic(5, 5, 0, 300)(5) == 150


def test_a_long_name_loses_its_middle() -> None:
    assert shortened("control-documents-shuffled", 12) == "contro…ffled"
    assert len(shortened("x" * 90, 24)) == 24
    assert shortened("short", 24) == "short"


def test_the_frontier_leaves_out_what_another_beats_or_equals() -> None:
    points = [Point(name, cost, quality, series(0)) for name, cost, quality in (
        ("dear", 9, 0.7), ("cheap", 1, 0.5), ("twin", 1, 0.5), ("worse", 2, 0.4), ("best", 5, 0.8), ("as good", 6, 0.8),
    )]  # fmt: skip
    assert [point.name for point in frontier(points)] == ["cheap", "best"]
