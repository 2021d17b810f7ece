"""The tools of agent mode without a model: search to depth 1000, a page of the ranking, a page of a document.

    python -m benchmarks.agent_tools [--collection FOLDER] [--queries 200] [--json]
    python -m benchmarks.agent_tools --threads 64 [--think 2] [--calls 6]
    python -m benchmarks.agent_tools --documents 1000000

The collection is a BEIR folder, SciFact of the folder that SIRA_TEST_DATA names unless another is given; `--documents`
takes made documents in its place (benchmarks/compiling.py). Each query has a controller of its own, so that nothing is
answered from its cache; Java is warm. Lucene alone gets the same queries ready made and gives nothing to Python. With
`--threads`, so many controllers share one index, each waits between its calls, and their p95 stands beside that of one
controller in the same run.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._measure import Goal, Report, alternate, median, options, p95, ratio, say, timed
from benchmarks._peers import Raw
from benchmarks.compiling import QUERY_WORDS, cut, made_index, words_of
from benchmarks.corpus import prepare
from sira.agent.controller import Controller
from sira.agent.settings import TOOL_PROFILES, ToolSettings
from sira.compile import compile_sketch
from sira.corpora import open_collection
from sira.lucene.jvm import engine_jar_hash
from sira.lucene.reader import Index
from sira.lucene.writer import build_index
from sira.records import Topic

DEPTH = 1000
SEARCH_MS, PAGE_MS, READ_MS, ABOVE_LUCENE_MS, THREADS_RATIO = 10.0, 2.0, 2.0, 3.0, 4.0


def ask(controller: Controller, tool: str, **fields: Any) -> Any:
    result = controller.call(tool, json.dumps({"reason": "benchmark", **fields}))
    assert result.failure is None, result.text
    return result


def calls(index: Index, settings: ToolSettings, query: str) -> tuple[float, float, float]:
    """Seconds of a search, of the next page, and of reading the first hit."""
    with Controller(index, settings) as controller:
        clock = time.perf_counter
        start = clock()
        found = ask(controller, "search", query=query)
        searched = clock()
        ask(controller, "read_search_results", search_id="s1")
        paged = clock()
        docids = found.details["previewedDocids"]
        if docids:
            ask(controller, "read_document", docid=docids[0])
        return searched - start, paged - searched, clock() - paged


def measure(path: Path, queries: Sequence[str], rounds: int) -> Report:
    """Each tool in each profile, and its time beside Lucene's own for the same queries."""
    index = Index(path)
    programs = [compile_sketch(Topic("", query), None, index) for query in queries]
    scoring = programs[0].scoring
    raw = Raw(path, scoring.k1, scoring.b)
    ready = [raw.query(program) for program in programs]
    report = Report(
        "agent tools",
        {"documents": index.document_count, "queries": len(queries), "depth": DEPTH, "rounds": rounds},
    )
    timings: dict[str, dict[str, list[list[float]]]] = {}

    def profile(name: str) -> list[float]:
        rows = [calls(index, TOOL_PROFILES[name], query) for query in queries]
        for tool, values in zip(("search", "page", "read"), zip(*rows, strict=True), strict=True):
            timings.setdefault(name, {}).setdefault(tool, []).append(list(values))
        return [row[0] for row in rows]

    peers: dict[str, Callable[[], list[float]]] = {
        "Lucene alone": partial(timed, lambda query: raw.search(query, DEPTH), ready),
        "Index.search": partial(timed, lambda program: index.search(program, DEPTH), programs),
        **{name: partial(profile, name) for name in TOOL_PROFILES},
    }
    measured = alternate(peers, rounds)
    lucene = measured["Lucene alone"]
    for name in ("Lucene alone", "Index.search"):
        report.rows.append(row(name, "search", measured[name], lucene))
    for name, tools in timings.items():
        for tool, values in tools.items():
            kept = values[1:]  # the first round warms up
            report.rows.append(row(name, tool, kept, lucene if tool == "search" else None))
            bar = {"search": SEARCH_MS, "page": PAGE_MS, "read": READ_MS}[tool]
            report.goals.append(Goal(f"{tool} ({name}), p50 ms", 1e3 * median(kept), "<=", bar))
        above = 1e3 * (median(tools["search"][1:]) - median(lucene))
        report.goals.append(Goal(f"search ({name}) above Lucene alone, p50 ms", above, "<=", ABOVE_LUCENE_MS))
    return report


def row(name: str, tool: str, values: list[list[float]], lucene: list[list[float]] | None) -> dict[str, Any]:
    return {
        "peer": name,
        "call": tool,
        "p50 ms": 1e3 * median(values),
        "p95 ms": 1e3 * p95(values),
        "this / Lucene": None if lucene is None else ratio(values, lucene),
    }


def crowd(path: Path, queries: Sequence[str], threads: int, think_s: float, count: int) -> Report:
    """One controller by itself, then many at once on the same index, each waiting about `think_s` between its calls."""
    index = Index(path)
    settings = TOOL_PROFILES["sira"]
    for query in queries:  # warm
        calls(index, settings, query)
    report = Report("agent tools at once", {"threads": threads, "think s": think_s, "calls each": 3 * count})
    start = threading.Barrier(threads)

    def episode(number: int, waits: bool) -> list[float]:
        draw, seconds = random.Random(number), list[float]()
        if waits:
            start.wait()
            time.sleep(draw.random() * think_s)
        for _ in range(count):
            with Controller(index, settings) as controller:
                docid = ""
                for tool in ("search", "read_search_results", "read_document"):
                    fields: dict[str, Any] = (
                        {"query": draw.choice(queries)} if tool == "search" else {"search_id": "s1"}
                    )
                    fields = {"docid": docid} if tool == "read_document" else fields
                    began = time.perf_counter()
                    result = ask(controller, tool, **fields)
                    seconds.append(time.perf_counter() - began)
                    docid = docid or (result.details["previewedDocids"] or [docid])[0]
                    if waits:
                        time.sleep(draw.uniform(0.5, 1.5) * think_s)
        return seconds

    say("  one controller")
    alone = [value for number in range(threads) for value in episode(number, False)]
    say(f"  {threads} controllers")
    with ThreadPoolExecutor(threads) as pool:
        together = [value for values in pool.map(episode, range(threads), [True] * threads) for value in values]
    for name, values in (("one", alone), (f"{threads} at once", together)):
        report.rows.append({"controllers": name, "p50 ms": 1e3 * median([values]), "p95 ms": 1e3 * p95([values])})
    report.goals.append(Goal("p95 at once / p95 of one", p95([together]) / p95([alone]), "<=", THREADS_RATIO))
    return report


def collection_index(folder: Path, work: Path, *, fresh: bool) -> tuple[Path, list[str]]:
    """The index of a BEIR folder, built by the engine as it stands, and the queries."""
    collection = open_collection(f"beir:{folder}", "test")
    path = work / f"agent-{folder.name}-{(engine_jar_hash() or '')[:12]}"
    if fresh or not path.exists():
        build_index(collection.documents, path, overwrite=path.exists())
    return path, [topic.text for topic in collection.topics]


def main() -> None:
    parser = options(str(__doc__).splitlines()[0])
    data = os.environ.get("SIRA_TEST_DATA")
    parser.add_argument("--collection", type=Path, help="a BEIR folder (scifact of SIRA_TEST_DATA)",
                        default=Path(data) / "scifact" if data else None)  # fmt: skip
    parser.add_argument("--documents", type=int, help="as many made documents in place of a collection")
    parser.add_argument("--queries", type=int, default=200, help="queries a round (%(default)s)")
    parser.add_argument("--threads", type=int, help="so many controllers at once")
    parser.add_argument("--think", type=float, default=2.0, help="mean seconds between two calls (%(default)s)")
    parser.add_argument("--calls", type=int, default=4, help="searches of each controller at once (%(default)s)")
    arguments = parser.parse_args()
    if arguments.documents:
        corpus = prepare(arguments.work, arguments.texts)
        path = made_index(corpus, arguments.documents, fresh=arguments.fresh)
        draw, texts = random.Random(6), words_of(corpus)
        queries = [" ".join(cut(draw, texts, QUERY_WORDS)) for _ in range(arguments.queries)]
    elif arguments.collection is None:
        parser.error("give --collection FOLDER (BEIR), or set SIRA_TEST_DATA, or give --documents N")
    else:
        path, queries = collection_index(arguments.collection, arguments.work, fresh=arguments.fresh)
        queries = queries[: arguments.queries]
    if arguments.threads:
        report = crowd(path, queries, arguments.threads, arguments.think, arguments.calls)
    else:
        report = measure(path, queries, arguments.rounds)
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
