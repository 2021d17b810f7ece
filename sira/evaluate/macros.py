"""Macro rows: each system's unweighted mean over several collections, as tables over BEIR or CQADupStack print it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sira.evaluate.config import Experiment, MacroConfig
from sira.evaluate.fingerprint import digest
from sira.evaluate.results import CollectionResults, Row
from sira.evaluate.significance import Comparison
from sira.evaluate.strata import compare_strata, stratified_interval


@dataclass(frozen=True, slots=True)
class MacroRow:
    """One system over all collections of a macro. `interval` is that of the first measure, `run` names the run files
    from the results folder, and `cell` is a hash over the fingerprints of their cells."""

    system: str
    mean: Mapping[str, float]
    interval: tuple[float, float]
    answered: int
    run: str
    cell: str


@dataclass(frozen=True, slots=True)
class MacroResults:
    """The systems that are finished on each of the collections `of`, in the order of the table; `topics` are all judged
    ones. Comparisons with the baseline by system, measure: see sira.evaluate.strata."""

    name: str
    of: tuple[str, ...]
    topics: int
    rows: tuple[MacroRow, ...]
    comparisons: Mapping[tuple[str, str], Comparison]

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(self.rows[0].mean)


def macro_results(experiment: Experiment, results: Sequence[CollectionResults]) -> list[MacroResults]:
    """The macros of an experiment whose collections are all among the results."""
    found = {item.name: item for item in results}
    return [
        _macro(experiment, macro, [found[name] for name in macro.of])
        for macro in experiment.macros
        if all(name in found for name in macro.of)
    ]


def _macro(experiment: Experiment, macro: MacroConfig, members: Sequence[CollectionResults]) -> MacroResults:
    by_name = [{row.cell.system: row for row in member.rows} for member in members]
    names = [name for name in by_name[0] if all(name in rows for rows in by_name)]
    rows = {name: [found[name] for found in by_name] for name in names}
    measures = list(rows[names[0]][0].evaluation.mean)
    comparisons: dict[tuple[str, str], Comparison] = {}
    for measure in measures:
        strata = {name: [row.evaluation.per_topic[measure] for row in found] for name, found in rows.items()}
        baseline = strata.pop(experiment.baseline)
        family = compare_strata(strata, baseline, measure=measure, baseline_name=experiment.baseline)
        comparisons |= {(item.system, measure): item for item in family}
    return MacroResults(
        name=macro.name,
        of=macro.of,
        topics=sum(row.evaluation.topics for row in rows[names[0]]),
        rows=tuple(_row(name, found, measures, macro.of) for name, found in rows.items()),
        comparisons=comparisons,
    )


def _row(name: str, rows: Sequence[Row], measures: Sequence[str], of: Sequence[str]) -> MacroRow:
    folder = f"{{{','.join(of)}}}" if len(of) > 1 else of[0]
    return MacroRow(
        system=name,
        mean={measure: sum(row.evaluation.mean[measure] for row in rows) / len(rows) for measure in measures},
        interval=stratified_interval([row.evaluation.per_topic[measures[0]] for row in rows]),
        answered=sum(row.answered for row in rows),
        run=f"runs/{folder}/{name}.trec",
        cell=digest([row.cell.fingerprint for row in rows]),
    )
