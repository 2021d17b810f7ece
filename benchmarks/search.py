"""Weighted programs of 40 terms on 60,000 real texts: sira, the stock Pyserini path, and Lucene alone.

    python -m benchmarks.search [--queries 200] [--k 1000 100 10] [--json]

sira and Pyserini give external docids and scores to Python; Lucene alone gives neither, and its queries are built
beforehand. The stock path searches each term in one field (25 words in `contents`, 15 terms in `expansion`), as its
users do; sira searches all 40 in both. "stock, both fields" runs what sira's `sum` runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks._measure import (
    Goal,
    Report,
    Row,
    alternate,
    median,
    options,
    p95,
    ratio,
    timed,
)
from benchmarks._peers import Raw, Stock, fields
from benchmarks.corpus import Corpus, prepare, programs
from sira.lucene.reader import Index
from sira.program import Program, Scoring

K_OF_GOALS = 1000
GOALS = (  # over, under, relation, bar
    ("stock", "sira sum", ">=", 8.0),
    ("stock", "sira bm25f", ">=", 5.0),
    ("sira sum", "raw sum", "<=", 1.3),
    ("sira bm25f", "raw bm25f", "<=", 1.3),
)


def both(program: Program) -> Any:
    """Every term in both fields, as `sum` scores it."""
    for clause in program.clauses:
        for name in ("contents", "expansion"):
            yield name, clause.label, clause.weight


def measure(corpus: Corpus, *, queries: int, ks: list[int], rounds: int, fresh: bool) -> Report:
    path = corpus.index(fresh=fresh)
    index = Index(path)
    bm25f = programs(index, corpus, queries)
    sums = [replace(program, scoring=Scoring(combine="sum")) for program in bm25f]
    scoring = bm25f[0].scoring
    stock, raw = Stock(path, scoring.k1, scoring.b), Raw(path, scoring.k1, scoring.b)
    raw_sums, raw_bm25f = [raw.query(program) for program in sums], [raw.query(program) for program in bm25f]
    report = Report(
        "search",
        {"documents": index.document_count, "segments": index.segments, "programs": queries, "rounds": rounds},
    )
    for k in ks:
        peers: dict[str, Callable[[], list[float]]] = {
            "sira sum": partial(timed, lambda program: index.search(program, k), sums),  # noqa: B023
            "sira bm25f": partial(timed, lambda program: index.search(program, k), bm25f),  # noqa: B023
            "stock": partial(timed, lambda program: stock.search(fields(program), k), bm25f),  # noqa: B023
            "stock, both fields": partial(timed, lambda program: stock.search(both(program), k), bm25f),  # noqa: B023
            "raw sum": partial(timed, lambda query: raw.search(query, k), raw_sums),  # noqa: B023
            "raw bm25f": partial(timed, lambda query: raw.search(query, k), raw_bm25f),  # noqa: B023
        }
        measured = alternate(peers, rounds)
        for name, values in measured.items():
            row: Row = {"k": k, "peer": name, "p50 ms": 1e3 * median(values), "p95 ms": 1e3 * p95(values)}
            row["stock / this"] = ratio(measured["stock"], values)
            report.rows.append(row)
        if k == K_OF_GOALS:
            report.goals = [
                Goal(f"{over} / {under}, k = {k}", ratio(measured[over], measured[under]), relation, bar)
                for over, under, relation, bar in GOALS
            ]
    report.notes.append(f"top 10 shared by sira sum and stock, both fields: {agreement(index, stock, sums):.1%}")
    return report


def agreement(index: Index, stock: Stock, sums: list[Program], k: int = 10) -> float:
    """Mean share of the top k that both paths return: do they run the same search? (average lengths differ a little)"""
    shares = [
        len(set(index.search(program, k).docids) & {docid for docid, _ in stock.search(both(program), k)}) / k
        for program in sums
    ]
    return sum(shares) / len(shares)


def main() -> None:
    parser = options(str(__doc__).splitlines()[0])
    parser.add_argument("--queries", type=int, default=200, help="programs a round (%(default)s)")
    parser.add_argument("--k", type=int, nargs="+", default=[1000, 100, 10], help="depths (1000 100 10)")
    arguments = parser.parse_args()
    corpus = prepare(arguments.work, arguments.texts)
    report = measure(corpus, queries=arguments.queries, ks=arguments.k, rounds=arguments.rounds, fresh=arguments.fresh)
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
