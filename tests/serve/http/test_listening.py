"""The socket that several processes listen on."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from sira.serve.http.listening import Shared, address_of, bound
from sira.serve.settings import HttpSettings


def test_a_step_takes_one_connection_and_leaves_the_others() -> None:
    with closing(bound(HttpSettings(port=0))) as first, closing(Shared.of(first)) as shared:
        assert address_of(shared) == address_of(first)
        shared.listen()
        shared.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody is there
            shared.accept()
        clients = [socket.create_connection(shared.getsockname(), timeout=20) for _ in range(3)]
        for client in clients:
            taken, address = shared.accept()
            assert address == client.getsockname()
            assert type(taken) is socket.socket
            with pytest.raises(BlockingIOError):
                shared.accept()
            taken.close()
            client.close()
        with pytest.raises(BlockingIOError):
            shared.accept()
