"""Analyzers side by side: one language's collection indexed by each, topic by topic, from a folder of `sira run`.

    python -m benchmarks.multilingual RESULTS [--measure nDCG@10] [--system bm25] [--json]

RESULTS comes from eval_configs/multilingual.toml, or any experiment in which one source stands under several names.
Each analyzer is compared with the first that the file names for its source: differences with 95 % intervals of the
paired bootstrap over topics, p of the paired randomisation test after Holm's correction over the analyzers.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks._measure import Report, Row
from sira.errors import InputError
from sira.evaluate.significance import compare, compare_family, p_text

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Source:
    """The values of one source, topic by topic, by the analyzers of its indexes in the order of the file."""

    name: str
    analyzers: Mapping[str, Values]

    def rows(self, measure: str) -> list[Row]:
        first, *others = self.analyzers
        baseline = self.analyzers[first]
        family = compare_family({name: self.analyzers[name] for name in others}, baseline, baseline_name=first)
        against = {item.system: item for item in family}
        rows: list[Row] = []
        for name, values in self.analyzers.items():
            mean = compare(values, dict.fromkeys(values, 0.0))
            row: Row = {
                "collection": self.name,
                "analyzer": name,
                measure: f"{mean.difference:.4f} [{mean.low:.3f}, {mean.high:.3f}]",
            }
            if found := against.get(name):
                row[f"against the first, {measure}"] = f"{found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
                row["win / tie / loss"] = f"{found.wins} / {found.ties} / {found.losses}"
                row["p"] = p_text(found.randomisation.p_corrected)
            rows.append(row)
        return rows


def read_results(folder: Path, measure: str, system: str) -> list[Source]:
    """Raises InputError where the folder is none of `sira run`, lacks measure or system, or names no source twice."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))["experiment"]
        with (folder / "per_query.csv").open(encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.DictReader(stream) if (row["measure"], row["system"]) == (measure, system)]
    except FileNotFoundError as error:
        raise InputError(
            f"{error.filename}: is missing: make the folder with `sira run eval_configs/multilingual.toml`"
        ) from None
    if not rows:
        raise InputError(f"{folder}: has no values of {measure} for system {system!r}: choose others")
    values: dict[str, dict[str, float]] = {}
    for row in rows:
        values.setdefault(row["collection"], {})[row["qid"]] = float(row["value"])
    sources: dict[str, dict[str, Values]] = {}
    for item in config["collections"]:
        sources.setdefault(item["source"], {})[item["analyzer"]] = values[item["name"]]
    found = [Source(Path(source).name, analyzers) for source, analyzers in sources.items() if len(analyzers) > 1]
    if not found:
        raise InputError(f"{folder}: no source stands there under two analyzers: there is nothing to compare")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, metavar="RESULTS", help="the results folder of `sira run`")
    parser.add_argument("--measure", default="nDCG@10", help="a measure of the experiment (%(default)s)")
    parser.add_argument("--system", default="bm25", help="a system of the experiment (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    report = Report("multilingual", {"measure": arguments.measure, "system": arguments.system})
    for source in read_results(arguments.results, arguments.measure, arguments.system):
        report.rows += source.rows(arguments.measure)
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
