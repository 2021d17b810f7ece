"""The socket that a server listens on, alone or with other processes."""

from __future__ import annotations

import asyncio
import socket
import time
from multiprocessing.reduction import DupFd
from typing import Any, cast

from sira.errors import InputError
from sira.serve.settings import HttpSettings

EACH_S = 0.0005
"""A process takes up to 2,000 connections a second. In a crowd a step of its loop takes tens of milliseconds."""


def bound(http: HttpSettings) -> socket.socket:
    """The socket to listen on, which names its protocol: asyncio sends small answers at once (TCP_NODELAY) only then.

    Raises InputError.
    """
    try:
        found = socket.getaddrinfo(http.host, http.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"host {http.host}: {error.strerror}: give an address of this machine") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.set_inheritable(True)
    except OSError as error:
        listening.close()
        raise InputError(
            f"{http.host}:{http.port}: cannot be bound ({error.strerror}): give another --port, or 0 for a free one"
        ) from None
    return listening


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Shared(socket.socket):
    """A listening socket of several processes. Each takes one connection in a step of its loop, or one for each EACH_S
    that the step before took, where others waited.

    asyncio takes all that wait, so that those who come together would all be with the process that was awake first,
    and the others idle for as long as the connections last.
    """

    _share = 1
    _taken = 0

    @classmethod
    def of(cls, listening: socket.socket) -> Shared:
        """The same socket by a second descriptor."""
        return cls(listening.family, listening.type, listening.proto, listening.dup().detach())

    def accept(self) -> tuple[socket.socket, Any]:
        """For an event loop. Raises BlockingIOError where none waits, and where the step has had its share."""
        if self._taken == self._share:
            self._taken = 0
            asyncio.get_running_loop().call_soon(self._measure, time.monotonic())
            raise BlockingIOError
        try:
            taken = super().accept()
        except OSError:
            self._taken = 0
            raise
        self._taken += 1
        return taken

    def _measure(self, began: float) -> None:
        """In the next step, before it takes any."""
        self._share = max(1, int((time.monotonic() - began) / EACH_S))
        asyncio.get_running_loop().call_soon(self._forget)

    def _forget(self) -> None:
        self._share = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """As multiprocessing sends a socket to a process that it starts."""
        descriptor: Any = cast(Any, DupFd)(self.fileno())
        return _received, (descriptor, self.family, self.type, self.proto)


def _received(descriptor: Any, family: int, kind: int, protocol: int) -> Shared:
    return Shared(family, kind, protocol, descriptor.detach())
