"""The socket that several processes listen on."""

from __future__ import annotations

import socket
import time
from collections.abc import Generator
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


def test_a_step_takes_one_connection_and_leaves_the_others(listening: Shared) -> None:
    with pytest.raises(BlockingIOError):  # nobody is there
        listening.accept()
    clients = [connected(listening) for _ in range(3)]
    listening.accept()[0].close()
    with pytest.raises(BlockingIOError):
        listening.accept()
    for client in clients:
        client.close()


def test_a_long_step_takes_as_many_as_came_in_it(listening: Shared) -> None:
    clients = [connected(listening) for _ in range(12)]
    taken, address = listening.accept()
    assert address == clients[0].getsockname()
    assert type(taken) is socket.socket
    with pytest.raises(BlockingIOError):
        listening.accept()
    time.sleep(100 * EACH_S)
    every = [taken, *(listening.accept()[0] for _ in clients[1:])]
    with pytest.raises(BlockingIOError):  # all are taken
        listening.accept()
    time.sleep(100 * EACH_S)
    clients += [connected(listening) for _ in range(2)]
    every.append(listening.accept()[0])
    with pytest.raises(BlockingIOError):  # it was no step: the process had nothing to do
        listening.accept()
    for connection in (*every, *clients):
        connection.close()


def test_it_is_the_same_socket() -> None:
    with closing(bound(HttpSettings(port=0))) as first, closing(Shared.of(first)) as shared:
        assert address_of(shared) == address_of(first)
