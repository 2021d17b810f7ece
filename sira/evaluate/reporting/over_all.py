"""Tables over several collections: macro rows, and what the grids selected."""

from __future__ import annotations

from collections.abc import Iterator

from sira.evaluate.config import Experiment
from sira.evaluate.macros import MacroResults
from sira.evaluate.reporting.contents import Report
from sira.evaluate.reporting.tables import SIGNIFICANT, Table, notes, short
from sira.evaluate.results import CollectionResults
from sira.evaluate.selection import Choice
from sira.evaluate.significance import p_text


def macro_tables(experiment: Experiment, macro: MacroResults) -> list[Table]:
    """Quality, and the comparison with the baseline where there are other systems."""
    return [table for table in (_quality(experiment, macro), _differences(experiment, macro)) if table.rows]


def is_significant_over(macro: MacroResults, system: str, measure: str) -> bool:
    comparison = macro.comparisons.get((system, measure))
    p = comparison.randomisation.p_corrected if comparison else None
    return p is not None and p < SIGNIFICANT


def value_over(macro: MacroResults, system: str, measure: str) -> str:
    return next(f"{row.mean[measure]:.4f}" for row in macro.rows if row.system == system)


def is_best_over(macro: MacroResults, system: str, measure: str) -> bool:
    """Whether no other system has more, in the figures that are printed."""
    return value_over(macro, system, measure) == max(value_over(macro, row.system, measure) for row in macro.rows)


def _quality(experiment: Experiment, macro: MacroResults) -> Table:
    first = macro.measures[0]
    development = [name for name in macro.of if experiment.collection(name).development]
    bases = ", ".join(grid.system for grid in experiment.selecting)
    chosen = (
        f" Of these {', '.join(development)} had a part in the selection of {bases}." if development and bases else ""
    )
    rows = tuple(
        (
            row.system,
            *(
                value_over(macro, row.system, name) + ("*" if is_significant_over(macro, row.system, name) else "")
                for name in macro.measures
            ),
            f"[{row.interval[0]:.4f}, {row.interval[1]:.4f}]",
            f"{row.answered}/{macro.topics}",
            short(row.cell),
        )
        for row in macro.rows
    )
    return Table(
        "Quality",
        ("system", *macro.measures, f"{first}, 95 %", "coverage", "cells"),
        rows,
        after=f"Unweighted means over {len(macro.of)} collections ({', '.join(macro.of)}) of their means; systems that "
        f"are finished on all of them.{chosen} Interval: bootstrap over topics within each collection. * differs from "
        f"{experiment.baseline}: p < {SIGNIFICANT}, two-sided randomisation of the systems within topics, on the "
        f"difference of these means, Holm over the systems. Cells: hash over those of {macro.rows[0].run} and so on.",
        texts=(0, len(macro.measures) + 1, len(macro.measures) + 3),
    )


def _differences(experiment: Experiment, macro: MacroResults) -> Table:
    measure = macro.measures[0]
    rows = tuple(
        (
            row.system,
            f"{item.difference:+.4f}",
            f"[{item.low:+.4f}, {item.high:+.4f}]",
            f"{item.wins} / {item.ties} / {item.losses}",
            p_text(item.randomisation.p_corrected),
        )
        for row in macro.rows
        if (item := macro.comparisons.get((row.system, measure)))
    )
    return Table(
        "Differences",
        ("system", "difference", "95 %", "collections won / tied / lost", "p, randomisation"),
        rows,
        f"Against {experiment.baseline}, {measure}:",
        texts=(0, 2),
    )


def choice_table(choice: Choice) -> Table:
    """All development figures of one grid."""
    rows = tuple(
        (
            row,
            *(f"{means[name]:.4f}" for name in choice.collections),
            f"{choice.mean(row):.4f}",
            "selected" if row == choice.row else "",
        )
        for row, means in choice.figures.items()
    )
    values = ", ".join(f"{name} = {value}" for name, value in choice.values.items())
    return Table(
        "Rows of the grid on development",
        ("row", *choice.collections, "mean", ""),
        rows,
        after=f"{choice.system} stands for {choice.row} ({values}) everywhere: the highest mean {choice.measure} over "
        "the collections of development, of equal ones the earlier row. The other collections had no part in it.",
        texts=(0, len(choice.collections) + 2),
    )


def notes_of(report: Report, collection: CollectionResults) -> Iterator[str]:
    """What must be known of a collection, a line each: what of its rows was selected, and where; then its notes."""
    config = report.experiment.collection(collection.name)
    if config.development:
        yield "a collection of development: settings may be chosen on it"
    there = {row.cell.system for row in collection.rows}
    for choice in report.choices:
        if choice.system in there:
            values = ", ".join(f"{name} = {value}" for name, value in choice.values.items())
            yield (
                f"{choice.system}: selected on {', '.join(choice.collections)} by {choice.measure} "
                f"({choice.mean(choice.row):.4f}): {values}"
            )
    yield from notes(collection, report.audits[collection.name])
