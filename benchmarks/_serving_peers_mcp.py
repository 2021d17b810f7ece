"""Searches over MCP, streamable HTTP, with the client of the official SDK: one client, one call after the other."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from mcp import Client

from benchmarks._measure import Goal, Report, median, p95, ratio, say
from benchmarks._serving_peers import Started
from benchmarks.serving import NAME

Ask = Callable[[str], AsyncGenerator[Any]]
"""The results of the calls that answer a query, one by one."""


@dataclass(slots=True)
class Step:
    """What was measured up to one of the calls: seconds a query by round, and the bytes of the results so far."""

    name: str
    hits: str
    seconds: list[list[float]] = field(default_factory=list[list[float]])
    sizes: list[int] = field(default_factory=list[int])


async def one_round(ask: Ask, steps: Sequence[Step], queries: Sequence[str]) -> None:
    for step in steps:
        step.seconds.append([])
    for query in queries:
        start, size, at = time.perf_counter(), 0, 0
        async for result in ask(query):
            steps[at].seconds[-1].append(time.perf_counter() - start)
            if result.is_error:
                raise RuntimeError(f"{steps[at].name}: {result.content}")
            size += len(result.model_dump_json().encode())
            steps[at].sizes.append(size)
            at += 1


def _sira(client: Client) -> Ask:
    session: dict[str, str] = {}

    async def ask(query: str) -> AsyncGenerator[Any]:
        found = await client.call_tool("search", {"reason": "measured", "query": query, **session})
        yield found
        told = found.structured_content or {}
        session.update({"session": told["session"]} if "session" in told else {})
        more = {"reason": "measured", "search_id": told["search_id"], "offset": 6, "limit": 5}
        yield await client.call_tool("read_search_results", {**more, **session})

    return ask


def _pyserini(client: Client) -> Ask:
    async def ask(query: str) -> AsyncGenerator[Any]:
        yield await client.call_tool("search", {"query": query, "index": NAME, "hits": 10})

    return ask


async def measured(sira: Started, pyserini: Started, queries: Sequence[str], rounds: int, each: int) -> Report:
    """`each` searches a round and peer, of queries that were not asked before."""
    report = Report("serving peers: MCP over streamable HTTP, one client", {"searches": each, "rounds": rounds})
    search = Step("sira, search", "5 of 1,000")
    both = Step("sira, search and read_search_results", "10 of 1,000")
    theirs = Step("Pyserini, search", "10")
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(Client(f"{sira.server.address}/mcp"))
        other = await stack.enter_async_context(Client(f"{pyserini.server.address}/mcp"))
        peers = [(_sira(one), [search, both]), (_pyserini(other), [theirs])]
        for number in range(rounds + 1):
            say(f"  MCP, round {number} of {rounds}" if number else "  MCP, warming up")
            part = queries[number * each : (number + 1) * each]
            for ask, steps in peers if number % 2 else peers[::-1]:
                await one_round(ask, steps, part)
        protocol = f"{one.protocol_version} (sira), {other.protocol_version} (Pyserini)"
    for step in (search, both, theirs):
        del step.seconds[0]  # the warm-up
        report.rows.append(
            {
                "peer": step.name,
                "hits": step.hits,
                "p50 ms": 1e3 * median(step.seconds),
                "p95 ms": 1e3 * p95(step.seconds),
                "median bytes": statistics.median(step.sizes),
            }
        )
    for step, hits in ((search, 5), (both, 10)):
        what = f"MCP, p50, {step.name} ({hits} hits) / Pyserini, search (10 hits)"
        report.goals.append(Goal(what, ratio(step.seconds, theirs.seconds), "<=", 1))
    report.notes.append(
        f"Protocol {protocol}. sira's search keeps 1,000 hits for later calls and shows 5, each with title and "
        "passages; 10 hits are two calls. Pyserini's gives 10 with their whole documents. Bytes are those of the "
        "results as JSON, in sira's the text twice (content and structuredContent)."
    )
    return report
