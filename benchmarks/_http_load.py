"""Load on an HTTP server from a process of its own: a lean asyncio client, so that what is measured is the server.

    python -m benchmarks._http_load < SPEC

SPEC is JSON (see Spec), the result JSON on stdout (see Load). Connections are kept alive; an answer is read to its end,
its status and length are looked at, and its JSON is not. Latency counts from when a request was due to be sent.
"""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle
from typing import Any
from urllib.parse import urlsplit

MOST_CONNECTIONS = 900
"""Below the usual bound of open files; a request that finds all of them taken counts as `unsent`."""
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Spec:
    """`bodies` are posted to `url` in turn. Closed: `clients` connections, each sends when it has its answer. Open:
    `rate` requests a second, whatever comes back. It ends after `seconds`, or `requests` where they are given."""

    url: str
    bodies: Sequence[str]
    clients: int = 1
    rate: float | None = None
    seconds: float = 5.0
    requests: int | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """`good`: quantiles of the milliseconds of answers of status 200; `statuses` counts all answers, `broken` the
    connections that ended before theirs. `cpu_s` is that of the client, and `late_ms` by how much 95 % of the requests
    were sent late at most: where that is much, the latencies say little of the server."""

    seconds: float
    cpu_s: float
    statuses: Mapping[str, int]
    good: Mapping[str, float] = field(default_factory=dict[str, float])
    broken: int = 0
    unsent: int = 0
    late_ms: float = 0.0
    mean_bytes: float = 0.0

    @property
    def rate(self) -> float:
        """Good answers a second."""
        return self.statuses.get("200", 0) / self.seconds


class Wire(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._transport: Any = None
        self._answer: asyncio.Future[tuple[int, int]] | None = None
        self._buffer = bytearray()
        self._wanted = -1
        self._status = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def ask(self, request: bytes) -> asyncio.Future[tuple[int, int]]:
        """The status and the length of the body."""
        self._answer = asyncio.get_running_loop().create_future()
        self._buffer.clear()
        self._wanted = -1
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._wanted < 0:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self._buffer[:end]).lower()
            self._status = int(head[9:12])
            at = head.index(b"content-length:") + 15
            length = int(head[at : head.find(b"\r\n", at)] if head.find(b"\r\n", at) > 0 else head[at:])
            self._wanted = end + 4 + length
        if len(self._buffer) >= self._wanted and self._answer is not None:
            self._answer.set_result((self._status, len(self._buffer)))
            self._answer = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server closed the connection"))
            self._answer = None

    def close(self) -> None:
        self._transport.close()


class Run:
    """What one load counts, and how it sends."""

    def __init__(self, spec: Spec) -> None:
        parts = urlsplit(spec.url)
        self._host, self._port = str(parts.hostname), parts.port or 80
        head = f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        requests = [body.encode() for body in spec.bodies]
        self._requests: Iterator[bytes] = cycle(
            [f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in requests]
        )
        self.spec = spec
        self.statuses: Counter[str] = Counter()
        self.good: list[float] = []
        self.late: list[float] = []
        self.bytes = self.broken = self.unsent = self.sent = 0
        self._end = time.perf_counter() + spec.seconds

    async def connect(self) -> Wire:
        _, wire = await asyncio.get_running_loop().create_connection(Wire, self._host, self._port)
        return wire

    def goes_on(self) -> bool:
        return self.sent < self.spec.requests if self.spec.requests else time.perf_counter() < self._end

    async def one(self, wire: Wire, due: float) -> bool:
        """Whether the connection can be used again."""
        self.sent += 1
        self.late.append(1000 * (time.perf_counter() - due))
        try:
            status, size = await wire.ask(next(self._requests))
        except (OSError, ConnectionError):
            self.broken += 1
            return False
        self.statuses[str(status)] += 1
        self.bytes += size
        if status == 200:
            self.good.append(1000 * (time.perf_counter() - due))
        return True

    async def client(self) -> None:
        wire = await self.connect()
        while self.goes_on():
            if not await self.one(wire, time.perf_counter()):
                wire = await self.connect()
        wire.close()

    async def closed(self) -> None:
        async with asyncio.timeout(self.spec.seconds + PATIENCE_S if not self.spec.requests else None):
            await asyncio.gather(*(self.client() for _ in range(self.spec.clients)))

    async def open(self, rate: float) -> None:
        free: list[Wire] = []
        running: set[asyncio.Task[None]] = set()

        async def ask(due: float) -> None:
            try:
                wire = free.pop() if free else await self.connect()
            except OSError:
                self.broken += 1
                return
            if await self.one(wire, due):
                free.append(wire)

        start, number = time.perf_counter(), 0
        while (now := time.perf_counter()) < self._end:
            while (due := start + number / rate) <= now:
                number += 1
                if len(running) >= MOST_CONNECTIONS:
                    self.unsent += 1
                    continue
                task = asyncio.create_task(ask(due))
                running.add(task)
                task.add_done_callback(running.discard)
            await asyncio.sleep(0.001)
        if running:
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*running)
        for wire in free:
            wire.close()

    def load(self, seconds: float, cpu_s: float) -> Load:
        count = max(1, sum(self.statuses.values()))
        return Load(
            seconds,
            cpu_s,
            dict(self.statuses),
            quantiles(self.good),
            self.broken,
            self.unsent,
            quantiles(self.late).get("p95", 0.0),
            self.bytes / count,
        )


def quantiles(values: Sequence[float]) -> dict[str, float]:
    """p50, p95, p99 and max: the smallest value that such a share of all does not exceed."""
    ordered = sorted(values)
    if not ordered:
        return {}
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {name: ordered[max(0, math.ceil(share * len(ordered)) - 1)] for name, share in shares.items()}


async def carried_out(spec: Spec) -> Load:
    """The load, in this process."""
    run = Run(spec)
    start, cpu = time.perf_counter(), time.process_time()
    await (run.closed() if spec.rate is None else run.open(spec.rate))
    return run.load(time.perf_counter() - start, time.process_time() - cpu)


def load(spec: Spec) -> Load:
    """The load, in a process of its own. Raises RuntimeError with the end of its stderr."""
    command = [sys.executable, "-m", "benchmarks._http_load"]
    done = subprocess.run(command, input=json.dumps(asdict(spec)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the load ended with {done.returncode}: {done.stderr[-2000:]}")
    return Load(**json.loads(done.stdout))


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(carried_out(Spec(**json.load(sys.stdin)))))))
