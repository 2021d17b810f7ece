"""Figures as reports print them; a dash for what is not known."""

from __future__ import annotations

from sira.evaluate.agents.intervals import Interval
from sira.tables import printable

UNKNOWN = "-"


def percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{100 * value:.1f}%"


def interval_text(interval: Interval | None) -> str:
    return "" if interval is None else f"[{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]"


def with_interval(value: float | None, interval: Interval | None) -> str:
    return f"{percent(value)} {interval_text(interval)}".strip()


def number(value: float | None, digits: int = 1) -> str:
    """Whole numbers without a point."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if value == int(value) else f"{value:,.{digits}f}"


def four(value: float | None) -> str:
    """Four places, as measures are printed."""
    return UNKNOWN if value is None else f"{value:.4f}"


def figures(value: float | None, unit: str = "") -> str:
    """Four figures, for prices and times."""
    return UNKNOWN if value is None else f"{value:.4g}" + (f" {unit}" if unit else "")


def some(items: tuple[str, ...] | list[str], most: int = 5) -> str:
    """The first ones, on one line, so that none of them acts."""
    return ", ".join(map(printable, items[:most])) + (f", ... ({len(items)} in all)" if len(items) > most else "")
