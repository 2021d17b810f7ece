"""What each part of the method adds, over all combinations of the others: main effects from a folder of `sira run`.

    python -m benchmarks.ablation RESULTS [--measure nDCG@10] [--json]

RESULTS comes from eval_configs/ablation.toml. An effect is the difference, topic by topic, between the means over all
combinations with one level of a factor and with another; intervals are of the paired bootstrap over topics. Gate and
lambda are compared where there are sketches, combine where there are expansions, since elsewhere they change nothing.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

from benchmarks._measure import Report, Row
from sira.errors import InputError
from sira.evaluate.significance import compare

FACTORS = ("documents", "sketches", "gate", "lambda", "combine")
NEEDS = {"gate": ("sketches", "yes"), "lambda": ("sketches", "yes"), "combine": ("documents", "expanded")}
"""Where a factor changes anything."""

MEAN = "mean at the second"

Levels = tuple[str, ...]
"""One level a factor, in the order of FACTORS; "-" where the factor changes nothing."""
Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Factorial:
    """The values of one collection, topic by topic, by levels."""

    collection: str
    cells: Mapping[Levels, Values]

    def levels(self, factor: str) -> list[str]:
        at = FACTORS.index(factor)
        found = dict.fromkeys(levels[at] for levels in self.cells if levels[at] != "-")
        return sorted(found, key=lambda level: level not in ("plain", "no"))

    def mean(self, given: Mapping[str, str]) -> dict[str, float]:
        """Values by topic, averaged over all combinations with these levels.

        Raises InputError where a combination was not run.
        """
        axes = [[given[factor]] if factor in given else self.levels(factor) for factor in FACTORS]
        chosen = [self._cell(dict(zip(FACTORS, levels, strict=True))) for levels in product(*axes)]
        return {qid: sum(values[qid] for values in chosen) / len(chosen) for qid in chosen[0]}

    def _cell(self, levels: Mapping[str, str]) -> Values:
        key = tuple(
            "-" if factor in NEEDS and levels[NEEDS[factor][0]] != NEEDS[factor][1] else levels[factor]
            for factor in FACTORS
        )
        if key not in self.cells:
            named = ", ".join(f"{factor} {level}" for factor, level in zip(FACTORS, key, strict=True))
            raise InputError(f"{self.collection}: no system has {named}: the factorial must be complete")
        return self.cells[key]

    def effect(self, factor: str, level: str, against: str, **given: str) -> tuple[Values, Values]:
        where = {**dict([NEEDS[factor]] if factor in NEEDS else []), **given}
        return self.mean({**where, factor: level}), self.mean({**where, factor: against})


def read_results(folder: Path, measure: str) -> list[Factorial]:
    """Raises InputError where the folder is none of `sira run`, or lacks the measure."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))["experiment"]
        with (folder / "per_query.csv").open(encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.DictReader(stream) if row["measure"] == measure]
    except FileNotFoundError as error:
        raise InputError(
            f"{error.filename}: is missing: make the folder with `sira run eval_configs/ablation.toml`"
        ) from None
    if not rows:
        raise InputError(f"{folder}: has no values of {measure}: choose one of the experiment's measures")
    by_name = {system["name"]: levels_of(system) for system in config["systems"]}
    cells: dict[str, dict[Levels, dict[str, float]]] = {}
    for row in rows:
        levels = by_name[row["system"]]
        cells.setdefault(row["collection"], {}).setdefault(levels, {})[row["qid"]] = float(row["value"])
    return [Factorial(name, found) for name, found in cells.items()]


def levels_of(system: Mapping[str, Any]) -> Levels:
    sketched, expanded = system["sketches"] is not None, system["documents"] != "plain"
    return (
        system["documents"],
        "yes" if sketched else "no",
        system["query_gate"] if sketched else "-",
        f"{system['sketch_weight']:g}" if sketched else "-",
        system["combine"] if expanded else "-",
    )


def effects(factorial: Factorial) -> Iterator[Row]:
    for factor in FACTORS:
        for against, level in combinations(factorial.levels(factor), 2):
            high, low = factorial.effect(factor, level, against)
            yield _row(factorial, f"{factor}: {level} against {against}", high, low)
    parts = (("documents", "expanded", "plain"), ("sketches", "yes", "no"))
    for (factor, level, against), (other, *at) in zip(parts, reversed(parts), strict=True):
        for where in reversed(at):
            high, low = factorial.effect(factor, level, against, **{other: where})
            yield _row(factorial, f"{factor}: {level} against {against}, where {other} = {where}", high, low)


def _row(factorial: Factorial, name: str, high: Values, low: Values) -> Row:
    item = compare(high, low)
    p = item.randomisation.p
    return {
        "collection": factorial.collection,
        "effect": name,
        MEAN: f"{sum(low.values()) / len(low):.4f}",
        "difference": f"{item.difference:+.4f} [{item.low:+.4f}, {item.high:+.4f}]",
        "p": None if p is None else f"{p:.4f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="main effects of a factorial experiment")
    parser.add_argument("results", type=Path, help="the folder that sira run wrote")
    parser.add_argument("--measure", default="nDCG@10", help="one of the experiment's measures (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    report = Report("ablation", {"measure": arguments.measure, "interval": "95 %, paired bootstrap over topics"})
    try:
        for factorial in read_results(arguments.results, arguments.measure):
            report.rows += effects(factorial)
    except InputError as error:
        parser.error(str(error))
    report.notes.append("p: two-sided paired randomisation test of each effect alone, not corrected")
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
