"""From finished cells to the results: effectiveness, cost, significance. Everything is recomputed from stored runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sira.evaluate.cells import Cell, stored_run
from sira.evaluate.config import Experiment
from sira.evaluate.hits import Hits, stored_hits
from sira.evaluate.inputs import Inputs, of_no_topic
from sira.evaluate.metrics import Evaluation, Measure, evaluate
from sira.evaluate.pricing import Amount, price_of_cell
from sira.evaluate.significance import Comparison, compare, compare_family
from sira.evaluate.windows import Windows, stored_windows
from sira.lucene.manifest import read_manifest

DEPTHS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
"""The ranks at which recall is taken for the curve of a report, up to the depth of the experiment, which is one too."""


@dataclass(frozen=True, slots=True)
class Row:
    """One system on one collection. `interval` is the 95 % bootstrap interval of the mean of the first measure,
    `recall` the mean recall by depth. `price` is that of all topics, None where it is not known."""

    cell: Cell
    evaluation: Evaluation
    costs: Mapping[str, float]
    price: Amount | None
    interval: tuple[float, float]
    recall: Mapping[int, float]
    windows: Windows

    @property
    def answered(self) -> int:
        """Judged topics with at least one hit: the coverage, of `evaluation.topics`."""
        return self.cell.topics - self.cell.zero_results

    @property
    def run(self) -> str:
        """The run file, from the results folder."""
        return f"runs/{self.cell.collection}/{self.cell.system}.trec"


@dataclass(frozen=True, slots=True)
class CollectionResults:
    """The rows of one collection in the order of the systems; comparisons with the baseline by system, measure; the
    texts of the topics by qid."""

    name: str
    texts: Mapping[str, str]
    self_hits_ignored: bool
    rows: tuple[Row, ...]
    comparisons: Mapping[tuple[str, str], Comparison]
    left_out: tuple[str, ...]

    @property
    def currency(self) -> str | None:
        """The one currency of all prices that are known; None where there is none, or several."""
        found = {row.price.currency for row in self.rows if row.price is not None and row.price.currency is not None}
        return found.pop() if len(found) == 1 else None


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def costs(cell: Cell, price: Amount | None = None, hits: Hits | None = None) -> dict[str, float]:
    """What a topic costs. Milliseconds are of compiling and searching to full depth, without the LLM. What is not known
    or has no meaning for a system is left out: tokens where those of some calls are not told, the price, the expansion
    hit rate, and pages (means over the topics of several searches)."""
    total = [a + b for a, b in zip(cell.compile_ms, cell.search_ms, strict=True)]
    tokens = {} if cell.untold else {name: count / cell.topics for name, count in cell.usage.items()}
    return {
        "zero_result_rate": cell.zero_results / cell.topics,
        "ms_per_query_p50": statistics.median(total) if total else 0.0,
        "ms_per_query_p95": percentile(total, 0.95),
        "llm_calls_per_query": cell.llm_calls / cell.topics,
        **{f"{name}_per_query": count for name, count in tokens.items()},
        **({} if price is None else {"price_per_query": price.value / cell.topics}),
        "searches_per_query": cell.searches / cell.topics,
        **{f"pages_{name}_per_query": count for name, count in _pages(cell).items()},
        "index_growth": cell.index_bytes / cell.plain_bytes - 1,
        **({} if hits is None or hits.rate is None else {"expansion_hit_rate": hits.rate}),
    }


def _pages(cell: Cell) -> dict[str, float]:
    """Distinct documents that several searches found, and that their budget delivered: means over their topics."""
    told = cell.how.get("pages")
    return {name: told[name] / told["topics"] for name in ("found", "delivered")} if told else {}


def collection_results(
    experiment: Experiment, inputs: Inputs, cells: Mapping[str, Cell], out: Path
) -> CollectionResults:
    """Evaluate the stored runs of one collection and compare each system with the baseline (Holm over the systems).

    `cells` by system, that of the baseline among them; `experiment` has the collection as its TOML says.
    """
    prices: dict[str, Amount | None] = {}
    for name, cell in cells.items():
        system = experiment.system(name)
        parts = [prices[part] for part in system.of]
        prices[name] = price_of_cell(cell, system, experiment.collection(inputs.config.name), parts)
    rows = [_row(experiment, inputs, (cell, prices[name]), out) for name, cell in cells.items()]
    by_name = {row.cell.system: row.evaluation for row in rows}
    comparisons: dict[tuple[str, str], Comparison] = {}
    for measure in by_name[experiment.baseline].per_topic:
        others = {name: item.per_topic[measure] for name, item in by_name.items() if name != experiment.baseline}
        if others:
            baseline = by_name[experiment.baseline].per_topic[measure]
            family = compare_family(others, baseline, measure=measure, baseline_name=experiment.baseline)
            comparisons |= {(item.system, measure): item for item in family}
    return CollectionResults(
        name=inputs.config.name,
        texts={topic.qid: topic.text for topic in inputs.topics},
        self_hits_ignored=inputs.ignore_self_hits,
        rows=tuple(rows),
        comparisons=comparisons,
        left_out=tuple(_left_out(inputs, rows, out)),
    )


def _row(experiment: Experiment, inputs: Inputs, priced: tuple[Cell, Amount | None], out: Path) -> Row:
    cell, price = priced
    wanted = list(dict.fromkeys(str(Measure.parse(text)) for text in experiment.measures))
    depths = [*(depth for depth in DEPTHS if depth < experiment.depth), experiment.depth]
    whole = evaluate(
        inputs.qrels,
        stored_run(out, cell, inputs),
        [*wanted, *(f"Recall@{depth}" for depth in depths)],
        ties=experiment.ties,
        ignore_self_hits=inputs.ignore_self_hits,
    )
    evaluation = replace(
        whole,
        per_topic={measure: whole.per_topic[measure] for measure in wanted},
        mean={measure: whole.mean[measure] for measure in wanted},
    )
    values = evaluation.per_topic[wanted[0]]
    against_nothing = compare(values, dict.fromkeys(values, 0.0))
    return Row(
        cell,
        evaluation,
        costs(cell, price, stored_hits(cell, inputs.qrels, out)),
        price,
        interval=(against_nothing.low, against_nothing.high),
        recall={depth: whole.mean[f"Recall@{depth}"] for depth in depths},
        windows=stored_windows(out / "runs" / cell.collection / f"{cell.system}.programs.jsonl"),
    )


def _left_out(inputs: Inputs, rows: Sequence[Row], out: Path) -> Iterator[str]:
    """What of the inputs is in no index and no search, a line each."""
    for name in dict.fromkeys(row.cell.index for row in rows):
        manifest = read_manifest(out / "indexes" / name)
        if manifest is None:
            continue
        if manifest.expansion is None:
            skipped = ", ".join(f"{reason} {count}" for reason, count in manifest.skipped.items()) or "none"
            counts = f"read {manifest.read}, indexed {manifest.indexed}, of them empty {manifest.empty}"
            yield f"corpus: {counts}, skipped: {skipped}"
            yield from manifest.skipped_examples[:5]
        else:
            expired, unknown = manifest.expansion["counts"].get("rows_expired", 0), manifest.expansion["unknown_docids"]
            yield f"{name}: rows of expansions that expired: {expired}; of no document here: {unknown}"
    for name, sketches in inputs.sketches.items():
        yield from of_no_topic(sketches, f"sketches {name}", inputs)
    for row in rows:
        yield from (f"{row.cell.system}: {line}" for line in row.cell.left_out)
