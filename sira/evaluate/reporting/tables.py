"""The tables of a report as texts, made once: report.md and report.html print the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sira.corpora.audit import Audit
from sira.evaluate.config import Experiment
from sira.evaluate.results import CollectionResults, Row
from sira.evaluate.significance import p_text
from sira.systems.tally import means

HASH_LETTERS = 12
"""Of a fingerprint, where it only has to be told from others; the cell's JSON has all of it."""
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Table:
    """`before` stands over it, `after` says what it holds. `texts` are the columns that are no figures."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    before: str = ""
    after: str = ""
    texts: tuple[int, ...] = (0,)


def short(fingerprint: str) -> str:
    return fingerprint[:HASH_LETTERS]


def first_measure(collection: CollectionResults) -> str:
    """The one that is tested in the table of differences, and drawn."""
    return next(iter(collection.rows[0].evaluation.mean))


def is_significant(collection: CollectionResults, row: Row, measure: str) -> bool:
    comparison = collection.comparisons.get((row.cell.system, measure))
    p = comparison.randomisation.p_corrected if comparison else None
    return p is not None and p < SIGNIFICANT


def is_best(collection: CollectionResults, row: Row, measure: str) -> bool:
    """Whether no other system has more, in the figures that are printed."""
    printed = {other.cell.system: value_text(other, measure) for other in collection.rows}
    return printed[row.cell.system] == max(printed.values())


def value_text(row: Row, measure: str) -> str:
    return f"{row.evaluation.mean[measure]:.4f}"


def coverage_text(row: Row) -> str:
    return f"{row.answered}/{row.evaluation.topics}"


def quality_note(experiment: Experiment, collection: CollectionResults) -> str:
    first = collection.rows[0].evaluation
    return (
        f"Means over {first.topics} judged topics; coverage: those with at least one hit. Ties: {first.tie_rule}. "
        f"Gain: {first.gain}. * differs from {experiment.baseline}: p < {SIGNIFICANT}, two-sided paired randomisation "
        "test, Holm over the systems."
    )


def quality(experiment: Experiment, collection: CollectionResults) -> Table:
    measures = tuple(collection.rows[0].evaluation.mean)
    rows = tuple(
        (
            row.cell.system,
            *(value_text(row, name) + ("*" if is_significant(collection, row, name) else "") for name in measures),
            coverage_text(row),
        )
        for row in collection.rows
    )
    head = ("system", *measures, "coverage")
    return Table("Quality", head, rows, after=quality_note(experiment, collection))


def intervals(experiment: Experiment, collection: CollectionResults) -> Table:
    measures = tuple(collection.rows[0].evaluation.mean)
    rows = tuple(
        (
            row.cell.system,
            *(
                f"{item.difference:+.3f} [{item.low:+.3f}, {item.high:+.3f}]"
                for measure in measures
                if (item := collection.comparisons.get((row.cell.system, measure)))
            ),
        )
        for row in collection.rows
        if row.cell.system != experiment.baseline
    )
    before = f"Differences from {experiment.baseline} with 95 % intervals (paired bootstrap over topics):"
    return Table("Intervals", ("system", *measures), rows, before)


def differences(experiment: Experiment, collection: CollectionResults) -> Table:
    measure = first_measure(collection)
    rows = tuple(
        (
            row.cell.system,
            f"{item.difference:+.4f}",
            f"{item.wins} / {item.ties} / {item.losses}",
            p_text(item.randomisation.p_corrected),
            p_text(item.t_test.p_corrected),
        )
        for row in collection.rows
        if (item := collection.comparisons.get((row.cell.system, measure)))
    )
    return Table(
        "Differences",
        ("system", "difference", "win / tie / loss", "p, randomisation", "p, t-test"),
        rows,
        f"Against {experiment.baseline}, {measure}:",
        "p: two-sided, paired, after Holm's correction over the systems.",
    )


def costs(collection: CollectionResults) -> Table:
    hits = any("expansion_hit_rate" in row.costs for row in collection.rows)
    head = [
        "system",
        "LLM calls a query",
        "ms p50",
        "ms p95",
        "zero results",
        "index growth",
        "tokens in",
        "tokens out",
    ]
    head.append(f"price a query ({collection.currency})" if collection.currency else "price a query")
    rows = tuple(
        (
            row.cell.system,
            f"{row.costs['llm_calls_per_query']:g}",
            *(_milliseconds(row, name) for name in ("ms_per_query_p50", "ms_per_query_p95")),
            f"{row.costs['zero_result_rate']:.1%}",
            f"{row.costs['index_growth']:+.1%}",
            *(_tokens(row, name) for name in ("prompt_tokens_per_query", "completion_tokens_per_query")),
            _price(collection, row),
            f"{row.costs['searches_per_query']:.4g}",
            *([_rate(row)] if hits else []),
        )
        for row in collection.rows
    )
    return Table(
        "Costs", (*head, "searches", *(["expansion hit rate"] if hits else [])), rows, after=_costs_note(collection)
    )


def _costs_note(collection: CollectionResults) -> str:
    jobs = max(row.cell.jobs for row in collection.rows)
    busy = f" Times were taken while {jobs} collections were at work at once on one machine." if jobs > 1 else ""
    if any(row.cell.how.get("agent") for row in collection.rows):
        busy += " Agents answer several topics at once."
    rate = (
        " Expansion hit rate: of the clauses that a model or a first search proposed and that were searched, the share "
        "that some relevant document of the topic holds."
    )
    return (
        f"Over {collection.rows[0].cell.topics} searched topics. Milliseconds: compile and search to full depth, one "
        f"thread, without the LLM; a dash: nothing was searched.{busy} Index growth: bytes against the index without "
        "expansions. Tokens, price and searches a query; a dash: the replies do not tell their tokens, or the price of "
        "their model is not known. A fused system costs what its parts cost, and needs the largest of their indexes. "
        "Calls for documents are not counted."
    ) + (rate if any("expansion_hit_rate" in row.costs for row in collection.rows) else "")


def _price(collection: CollectionResults, row: Row) -> str:
    """With its currency where the head of the column has none."""
    if row.price is None:
        return "-"
    own = "" if collection.currency or not row.price.currency else f" {row.price.currency}"
    return f"{row.costs['price_per_query']:.3g}{own}"


def _rate(row: Row) -> str:
    return f"{row.costs['expansion_hit_rate']:.1%}" if "expansion_hit_rate" in row.costs else "-"


def _tokens(row: Row, name: str) -> str:
    return f"{row.costs[name]:.4g}" if name in row.costs else "-"


def _milliseconds(row: Row, name: str) -> str:
    return f"{row.costs[name]:.2f}" if row.cell.how["searches"] else "-"


def ways(experiment: Experiment, collection: CollectionResults) -> Table:
    """How the topics were answered, for the systems that do more than one search of one program."""
    budgets = {item.name: item.budget.max_pages for item in experiment.systems}
    found = ((row.cell.system, *_way(row, budgets.get(row.cell.system, 0))) for row in collection.rows)
    return Table(
        "Ways",
        (
            "system",
            "searches a topic",
            "routed to",
            "fallback rate",
            "relaxed topics",
            "new pages by search",
            "pages a topic",
            "rerank calls a topic",
            "without a score",
        ),
        tuple(cells for cells in found if any(cell != "-" for cell in cells[2:])),
        after="Fallback rate: topics of low confidence. Relaxed: their program found nothing as it was. New pages: "
        "what no earlier search of the topic had found, means by the number of the search. Pages a topic: distinct "
        "documents delivered, of those that its searches found, and the budget. Without a score: documents that the "
        "model was to score and did not; they keep their ranks.",
        texts=(0, 2, 5, 6, 8),
    )


def _way(row: Row, budget: int) -> list[str]:
    how, topics = row.cell.how, row.cell.topics
    routing: dict[str, int] = dict(how.get("routing", {}))
    fallback = routing.pop("fallback", None)
    rerank = how.get("rerank")
    unscored: dict[str, int] = {} if rerank is None else rerank["unscored"]
    return [
        f"{how['searches'] / topics:.4g}",
        ", ".join(f"{action} {count}" for action, count in routing.items()) or "-",
        "-" if fallback is None else f"{fallback / topics:.1%}",
        str(how["relaxed"]) if "relaxed" in how else "-",
        means([(item["topics"], item["pages"]) for item in how["new_pages"]]) if "new_pages" in how else "-",
        _pages(row, budget),
        "-" if rerank is None else f"{rerank['calls'] / topics:.4g}",
        "-" if rerank is None else ", ".join(f"{reason} {count}" for reason, count in unscored.items()) or "0",
    ]


def agents(collection: CollectionResults) -> Table:
    """What the agents did, a topic on average, and why their episodes stopped."""
    return Table(
        "Agents",
        ("system", "LLM calls", "searches", "documents shown", "stopped"),
        tuple(_agent(row) for row in collection.rows if "agent" in row.cell.how),
        after="Means over topics. Documents shown: different ones whose text the model saw. Stopped: topics by why the "
        "episode ended.",
        texts=(0, 4),
    )


def _agent(row: Row) -> tuple[str, ...]:
    agent, topics = row.cell.how["agent"], row.cell.topics
    return (
        row.cell.system,
        f"{row.cell.llm_calls / topics:.4g}",
        f"{row.cell.how['searches'] / topics:.4g}",
        f"{agent['shown'] / topics:.4g}",
        ", ".join(f"{reason} {count}" for reason, count in agent["stops"].items()),
    )


def _pages(row: Row, budget: int) -> str:
    """`87.3 of 143.2 (budget 100)`, with the searches that the budget did not run where there are some."""
    if (pages := row.cell.how.get("pages")) is None:
        return "-"
    over = f", {pages['over_budget']} searches not run" if pages["over_budget"] else ""
    delivered, found = (row.costs[f"pages_{name}_per_query"] for name in ("delivered", "found"))
    return f"{delivered:.4g} of {found:.4g} (budget {budget}{over})"


def sources(collection: CollectionResults) -> Table:
    """What each figure is computed from."""
    rows = tuple((row.cell.system, row.run, short(row.cell.fingerprint), row.cell.session) for row in collection.rows)
    return Table(
        "Sources",
        ("system", "run", "cell", "timed in session"),
        rows,
        after="Every figure of a system is computed from its run. Cell: the beginning of the fingerprint over all that "
        "decides the ranking (settings, inputs, code), whole in the JSON beside the run; config.json has the "
        "settings, environment.json the sessions.",
        texts=(0, 1, 2, 3),
    )


def tables(experiment: Experiment, collection: CollectionResults) -> list[Table]:
    """All that have rows, in the order of the report."""
    found = [
        quality(experiment, collection),
        intervals(experiment, collection),
        differences(experiment, collection),
        costs(collection),
        ways(experiment, collection),
        agents(collection),
        sources(collection),
    ]
    return [table for table in found if table.rows]


def notes(collection: CollectionResults, audit: Audit) -> Iterator[str]:
    """What else must be known to trust the figures, a line each."""
    yield from audit.lines()
    yield from collection.left_out
    if collection.self_hits_ignored:
        yield "a document whose id is the qid is no hit here (ignore_self_hits); removed:"
        yield from (f"{row.cell.system}: {row.cell.self_hits}" for row in collection.rows)
    for row in collection.rows:
        name = row.cell.system
        yield from (f"{name}: {warning}" for warning in row.evaluation.warnings)
        if row.cell.unsketched:
            yield f"{name}: {row.cell.unsketched} topic(s) without a sketch or a text ran as plain BM25"
        if row.cell.unanswered:
            yield f"{name}: {row.cell.unanswered} call(s) of its texts ended in an error; the next run asks again"
        if missing := row.cell.how.get("missing"):
            yield f"{name}: {missing} topic(s) that its run lacks count as topics without a hit"
