"""The socket that several processes listen on."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Generator, Sequence
from contextlib import closing

import pytest

from sira.serve.http.listening import EACH_S, Shared, address_of, bound
from sira.serve.settings import HttpSettings


@pytest.fixture
def listening() -> Generator[Shared]:
    with closing(bound(HttpSettings(port=0))) as first, closing(Shared.of(first)) as shared:
        shared.listen()
        shared.setblocking(False)
        yield shared


def connected(listening: Shared) -> socket.socket:
    return socket.create_connection(listening.getsockname(), timeout=20)


def taken_by_steps(listening: Shared, rounds: Sequence[int], *, busy_s: float = 0.0) -> list[list[int]]:
    """How many connections each step of a real loop takes, when so many come at once; each keeps the loop busy."""

    class Busy(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            steps[-1] += 1
            time.sleep(busy_s)

    steps: list[int] = []

    async def run() -> list[list[int]]:
        loop, found = asyncio.get_running_loop(), list[list[int]]()

        def step() -> None:
            steps.append(0)
            loop.call_soon(step)

        async with await loop.create_server(Busy, sock=listening, backlog=2048):
            step()
            for number in rounds:
                steps.clear()
                steps.append(0)
                clients = [connected(listening) for _ in range(number)]
                await asyncio.sleep(0.2)
                found.append([count for count in steps if count])
                for client in clients:
                    client.close()
        return found

    return asyncio.run(run())


def test_a_step_takes_one_connection_and_leaves_the_others(listening: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long nobody came before. No step of a busy machine is long enough for two."""
    monkeypatch.setattr("sira.serve.http.listening.EACH_S", 0.05)
    assert taken_by_steps(listening, [8, 8, 1, 8]) == [[1] * 8, [1] * 8, [1], [1] * 8]


def test_a_long_step_takes_as_many_as_came_in_it(listening: Shared) -> None:
    (steps,) = taken_by_steps(listening, [60], busy_s=4 * EACH_S)
    assert sum(steps) == 60
    assert steps[0] == 1
    assert max(steps) >= 4


def test_it_is_the_same_socket() -> None:
    with closing(bound(HttpSettings(port=0))) as first, closing(Shared.of(first)) as shared:
        assert address_of(shared) == address_of(first)
