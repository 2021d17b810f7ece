"""`sira serve` under load: requests a second, latency, what HTTP adds to the library call, overload, memory.

    python -m benchmarks.serving [--collection FOLDER] [--clients 1 8 64] [--depths 10 1000] [--json]
    python -m benchmarks.serving --short
    python -m benchmarks.serving --documents 1000000
    python -m benchmarks.serving --only memory --requests 200000

The server is a process of its own on the loopback address, with its access log on a file; the load comes from another
process (benchmarks/_http_load.py). The collection is a BEIR folder, SciFact of the folder that SIRA_TEST_DATA names
unless another is given; `--documents` takes made documents in its place (benchmarks/compiling.py). All requests are
plain queries, in turn.

`overhead`: the same queries, one after the other, in turn by the library (compile and search in this process), by a
bare HTTP connection, and by sira.client. `load`: so many clients, each asks again when it has its answer. `overload`:
twice the rate of the best load, whatever comes back; `good` are the answers of status 200, `other` all that is neither
good nor 429, broken connections and requests that found 900 connections taken among it. `memory`: the resident size
of the server while it answers; the slope is that of the second half, fitted. `late ms`: 95 % of the requests were sent
no later than this after they were due. `client CPU` is the share of the two processes' CPU time that the load took for
itself: with a core for each, less than half means that the server was the bound.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks._http_load import Load, Run, Spec, load
from benchmarks._measure import Goal, Report, Row, alternate, median, options, p95, say, timed
from benchmarks.agent_tools import collection_index
from benchmarks.compiling import QUERY_WORDS, cut, made_index, words_of
from benchmarks.corpus import prepare
from sira.client import SiraClient
from sira.compile import compile_sketch
from sira.lucene.reader import Index
from sira.records import Topic

NAME = "served"
OVERHEAD_MS, OVERLOAD_RATIO, SLOPE_MB = 2.0, 2.0, 20.0
PARTS = ("overhead", "load", "overload", "memory")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Server:
    """A running `sira serve`; `url` is that of its searches."""

    address: str
    pid: int

    @property
    def url(self) -> str:
        return f"{self.address}/v1/indexes/{NAME}/search"

    @property
    def pids(self) -> list[int]:
        """Its processes."""
        found, level = [self.pid], [self.pid]
        while level:
            level = [int(child) for pid in level for child in _children(pid)]
            found += level
        return found

    @property
    def cpu_s(self) -> float:
        fields = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self.pids)
        return sum(int(row[11]) + int(row[12]) for row in fields) / TICKS

    @property
    def resident_mb(self) -> float:
        return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_MB for pid in self.pids)


def _children(pid: int) -> list[str]:
    return [child for task in Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()]


@contextmanager
def serving(index: Path, arguments: argparse.Namespace) -> Generator[Server]:
    """The server until the block ends."""
    command = [sys.executable, "-m", "sira", "serve", f"{NAME}={index}", "--port", "0", "--preload"]
    command += ["--workers", str(arguments.workers)]
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "stderr").open("w+") as stderr:
        command += ["--log", str(Path(folder) / "access.log")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            if not address:
                stderr.seek(0)
                raise RuntimeError(f"sira serve ended: {stderr.read()[-2000:]}")
            with SiraClient(address, retries=60) as client:
                client.ready()
            yield Server(address, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            process.stdout.close()


def bodies(queries: Sequence[str], k: int) -> list[str]:
    return [json.dumps({"query": query, "k": k}) for query in queries]


def loaded(server: Server, spec: Spec) -> tuple[Load, Row]:
    """A load and what it cost."""
    before = server.cpu_s
    found = load(spec)
    cost = server.cpu_s - before
    refused = found.statuses.get("429", 0) / found.seconds
    row: Row = {
        "good/s": found.rate,
        **{f"{name} ms": value for name, value in found.good.items()},
        "429/s": refused,
        "other": sum(found.statuses.values()) - found.statuses.get("200", 0) - found.statuses.get("429", 0)
        + found.broken + found.unsent,
        "late ms": found.late_ms,
        "client CPU": found.cpu_s / (found.cpu_s + cost),
        "server cores": cost / found.seconds,
    }  # fmt: skip
    return found, row


def overhead(server: Server, path: Path, queries: Sequence[str], depths: Sequence[int], rounds: int) -> Report:
    """The same queries by the library and over HTTP, in turn."""
    report = Report("serving: what HTTP adds to the library call", {"queries": len(queries), "rounds": rounds})
    with Index(path) as index, SiraClient(server.address, index=NAME) as client, asyncio.Runner() as runner:
        for k in depths:

            def library(query: str, k: int = k) -> object:
                return index.search(compile_sketch(Topic("q", query), None, index), k)

            def by_client(query: str, k: int = k) -> object:
                return client.search(query=query, k=k)

            run = Run(Spec(server.url, bodies(queries, k)))
            wire = runner.run(run.connect())

            async def bare(run: Run = run, wire=wire) -> list[float]:
                seconds: list[float] = []
                for _ in queries:
                    start = time.perf_counter()
                    assert await run.one(wire, start)
                    seconds.append(time.perf_counter() - start)
                return seconds

            found = alternate(
                {
                    "library": lambda: timed(library, queries),
                    "HTTP": lambda: runner.run(bare()),
                    "sira.client": lambda: timed(by_client, queries),
                },
                rounds,
            )
            assert set(run.statuses) == {"200"}, run.statuses
            report.rows += [
                {"peer": name, "k": k, "p50 ms": 1e3 * median(values), "p95 ms": 1e3 * p95(values)}
                for name, values in found.items()
            ]
            added = 1e3 * (median(found["HTTP"]) - median(found["library"]))
            report.goals.append(Goal(f"HTTP above the library call, k={k}, p50 ms", added, "<=", OVERHEAD_MS))
            runner.run(_closed(wire))
    report.notes.append("sira.client also makes values of the answer's JSON.")
    return report


async def _closed(wire) -> None:
    wire.close()
    await asyncio.sleep(0)


def under_load(server: Server, queries: Sequence[str], arguments: argparse.Namespace) -> tuple[Report, dict[int, Load]]:
    """So many clients at a time; and of each depth the load that got most answers a second."""
    report = Report("serving: load", {"workers": arguments.workers, "seconds each": arguments.seconds})
    best: dict[int, Load] = {}
    for k in arguments.depths:
        for clients in arguments.clients:
            say(f"  k={k}, {clients} clients")
            found, row = loaded(server, Spec(server.url, bodies(queries, k), clients, seconds=arguments.seconds))
            report.rows.append({"k": k, "clients": clients, **row})
            if k not in best or found.rate > best[k].rate:
                best[k] = found
    busy = max(float(row["client CPU"] or 0) for row in report.rows)
    report.goals.append(Goal("largest share of the CPU time that the client took", busy, "<=", 0.5))
    return report, best


def overloaded(server: Server, queries: Sequence[str], best: dict[int, Load], arguments: argparse.Namespace) -> Report:
    """As many clients at a time as the server has places, so that none is refused; then twice what it can carry."""
    with SiraClient(server.address) as client:
        limits = client.version().settings["limits"]
    places = arguments.workers * (limits["threads"] + limits["queue"])
    report = Report("serving: twice the capacity", {"workers": arguments.workers, "places": places})
    for k, capacity in best.items():
        say(f"  k={k}, all places taken, then {2 * capacity.rate:.0f} requests/s")
        spec = Spec(server.url, bodies(queries, k), places, seconds=arguments.seconds)
        full, row = loaded(server, spec)
        report.rows.append({"k": k, "offered/s": None, "load": f"{places} clients", **row})
        rate = 2 * capacity.rate
        spec = Spec(server.url, bodies(queries, k), rate=rate, seconds=2 * arguments.seconds)
        found, row = loaded(server, spec)
        report.rows.append({"k": k, "offered/s": rate, "load": "twice the capacity", **row})
        both = found.good["p95"] / full.good["p95"]
        report.goals += [
            Goal(f"k={k}: p95 of good answers / that with all places taken", both, "<=", OVERLOAD_RATIO),
            Goal(f"k={k}: good/s at twice the capacity / capacity", found.rate / capacity.rate, ">=", 0.5),
            Goal(f"k={k}: answers that are neither good nor 429", float(row["other"] or 0), "<=", 0),
        ]
    return report


def memory(server: Server, queries: Sequence[str], requests: int) -> Report:
    """The server's resident size over many requests."""
    report = Report("serving: memory", {"requests": requests})
    samples: list[tuple[float, float]] = []
    done = threading.Event()
    start = time.perf_counter()

    def watch() -> None:
        while not done.wait(min(1.0, requests / 20_000)):
            samples.append((time.perf_counter() - start, server.resident_mb))

    watcher = threading.Thread(target=watch)
    watcher.start()
    say(f"  {requests:,} requests")
    try:
        found, row = loaded(
            server, Spec(server.url, [*bodies(queries, 10), *bodies(queries, 100)], 8, requests=requests)
        )
    finally:
        done.set()
        watcher.join()
    late = samples[len(samples) // 2 :]
    slope = statistics.linear_regression(*zip(*late, strict=True)).slope if len(late) > 2 else 0.0
    per_100k = slope * found.seconds / requests * 100_000
    for share in (0.1, 0.25, 0.5, 0.75, 1.0):
        at = samples[min(len(samples) - 1, int(share * len(samples)))]
        report.rows.append({"requests": int(share * requests), "resident MB": at[1]})
    report.goals.append(Goal("MB more a 100,000 requests, second half", per_100k, "<=", SLOPE_MB))
    report.goals.append(Goal("answers that are not good", float(requests - found.statuses.get("200", 0)), "<=", 0))
    report.notes.append(f"{found.rate:.0f} requests/s; p95 {row['p95 ms']:.3g} ms")
    return report


def main() -> None:
    parser = options(str(__doc__).splitlines()[0])
    data = os.environ.get("SIRA_TEST_DATA")
    parser.add_argument("--collection", type=Path, help="a BEIR folder (scifact of SIRA_TEST_DATA)",
                        default=Path(data) / "scifact" if data else None)  # fmt: skip
    parser.add_argument("--documents", type=int, help="as many made documents in place of a collection")
    parser.add_argument("--queries", type=int, default=200, help="different queries (%(default)s)")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64], help="clients at a time (1 8 64)")
    parser.add_argument("--depths", type=int, nargs="+", default=[10, 1000], help="hits a search (10 1000)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load (%(default)s)")
    parser.add_argument("--requests", type=int, default=200_000, help="of the memory part (%(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server (%(default)s)")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS), help="some parts (all)")
    parser.add_argument("--short", action="store_true", help="in less than two minutes, to see that it works")
    arguments = parser.parse_args()
    if arguments.short:
        arguments.seconds, arguments.requests, arguments.rounds, arguments.queries = 2.0, 4000, 2, 50
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
    reports: list[Report] = []
    with serving(path, arguments) as server:
        say("warming up")
        load(Spec(server.url, bodies(queries, max(arguments.depths)), 8, seconds=min(5.0, 2 * arguments.seconds)))
        if "overhead" in arguments.only:
            reports.append(overhead(server, path, queries, arguments.depths, arguments.rounds))
        best: dict[int, Load] = {}
        if {"load", "overload"} & set(arguments.only):
            report, best = under_load(server, queries, arguments)
            reports.append(report)
        if "overload" in arguments.only:
            reports.append(overloaded(server, queries, best, arguments))
        if "memory" in arguments.only:
            reports.append(memory(server, queries, arguments.requests))
    for report in reports:
        report.print(as_json=arguments.json)
        print()


if __name__ == "__main__":
    main()
