"""The figures of an experiment as files for programs: results.json, per_query.csv and significance.json."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sira.corpora.files import replacing
from sira.evaluate.macros import MacroResults
from sira.evaluate.results import CollectionResults


def write_results(results: Sequence[CollectionResults], macros: Sequence[MacroResults], out: Path) -> None:
    """results.json (a list of {collection, system, metric, value, topics}, a price with its `currency`), per_query.csv
    and significance.json. A macro stands for a collection under its name."""
    entries: list[dict[str, Any]] = []
    for collection in results:
        for row in collection.rows:
            place = {"collection": collection.name, "system": row.cell.system}
            judged, searched = {"topics": row.evaluation.topics}, {"topics": row.cell.topics}
            currency = None if row.price is None else row.price.currency
            entries += [
                {**place, "metric": name, "value": value, **judged} for name, value in row.evaluation.mean.items()
            ]
            entries += [
                {**place, "metric": name, "value": value, **searched}
                | ({"currency": currency} if name == "price_per_query" else {})
                for name, value in row.costs.items()
            ]
    for macro in macros:
        for row in macro.rows:
            place = {"collection": macro.name, "system": row.system}
            entries += [
                {**place, "metric": name, "value": value, "topics": macro.topics} for name, value in row.mean.items()
            ]
    with replacing(out / "results.json") as stream:
        json.dump(entries, stream, indent=1)
    with replacing(out / "significance.json") as stream:
        json.dump(
            [
                {"collection": item.name, **comparison.to_dict()}
                for item in (*results, *macros)
                for comparison in item.comparisons.values()
            ],
            stream,
            indent=1,
        )
    with replacing(out / "per_query.csv") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["collection", "system", "measure", "qid", "value"])
        for collection in results:
            for row in collection.rows:
                for measure, values in row.evaluation.per_topic.items():
                    writer.writerows(
                        (collection.name, row.cell.system, measure, qid, repr(value)) for qid, value in values.items()
                    )
