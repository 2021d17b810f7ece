"""uvicorn's HTTP/1.1 with a bound on the time of a request's head, an answer sent by one call, and an end that a
connection made late does not put off."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_HELD = 64 * 1024
"""Bytes that wait for the end of a step."""
LATE_S = 0.5
"""For the request of a connection that was made while the server leaves."""


class Protocol(H11Protocol):
    """`head_s`: seconds from the first byte of a request's head to its last, and from a connection to its request.
    `rest_s`: those in which a client takes the rest of an answer when its connection ends. Beyond `connections` at a
    time, one is closed as it comes."""

    def __init__(self, *args: Any, head_s: float, rest_s: float, connections: int, **more: Any) -> None:
        super().__init__(*args, **more)
        self._head_s, self._rest_s, self._most = head_s, rest_s, connections
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _Joining(transport, self.loop, self._rest_s)))
        if len(self.connections) > self._most:  # before files run out, of which asyncio would complain without end
            self.transport.close()
        if getattr(self.server_state, "leaving", False):
            self.loop.call_later(LATE_S, self.shutdown)
        self._wait()

    def shutdown(self) -> None:
        """uvicorn calls it once, for the connections that it knows then, and waits for all that there are."""
        self.server_state.leaving = True  # type: ignore[attr-defined]
        if not self.transport.is_closing():
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.cycle or self.cycle.response_complete:
            self._wait()
        else:
            self._come()

    def connection_lost(self, exc: Exception | None) -> None:
        self._come()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """What is here is no whole head yet."""
        if self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(self._head_s, self.timeout_keep_alive_handler)

    def _come(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Joining:
    """A transport that sends what one step of the loop writes by one call: the head of an answer and its body are two.

    Each call lets go of Python's lock, and where threads search, it comes back late.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, rest_s: float) -> None:
        self._transport, self._loop, self._rest_s = transport, loop, rest_s
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not data:
            return
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)
        self._size += len(data)
        if self._size > MOST_HELD:  # so that flow control sees it
            self._send()

    def _send(self) -> None:
        if self._parts:
            parts, self._parts, self._size = self._parts, [], 0
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        self._send()
        if self._transport.get_write_buffer_size() and not self._transport.is_closing():
            self._loop.call_later(self._rest_s, self._transport.abort)  # asyncio waits for ever for who does not read
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
