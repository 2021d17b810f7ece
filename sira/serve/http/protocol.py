"""uvicorn's HTTP/1.1 with bounds on the time in which a request's head comes and an answer is taken, an answer sent by
one call, a problem for what is no request, and an end that a connection made late does not put off."""

from __future__ import annotations

import asyncio
import fcntl
import json
import sys
import termios
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sira.serve.http.problems import MEDIA_TYPE, Problem

MOST_HELD = 64 * 1024
"""Bytes that wait for the end of a step; and those that a client takes in `write_s`, if it reads at all."""
UNREADABLE = Problem(
    400,
    "bad-request",
    "The request cannot be read",
    "it is no HTTP/1.1, or its head is too long: send a request as RFC 9112 has it",
    remedy="send a request as RFC 9112 has it",
)
LATE_S = 0.5
"""For the request of a connection that was made while the server leaves."""


class Protocol(H11Protocol):
    """`head_s`: seconds from the first byte of a request's head to its last, and from a connection to its request.
    `write_s`: those in which a client takes MOST_HELD bytes of what waits for it, or the rest of it. Beyond
    `connections` at a time, one is closed as it comes."""

    def __init__(self, *args: Any, head_s: float, write_s: float, connections: int, **more: Any) -> None:
        super().__init__(*args, **more)
        self._head_s, self._write_s, self._most = head_s, write_s, connections
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._joining = _Joining(transport, self.loop, self._write_s)
        super().connection_made(cast(asyncio.Transport, self._joining))
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
        self._joining.rest()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._joining.watch()

    def resume_writing(self) -> None:
        self._joining.rest()
        super().resume_writing()

    def on_response_complete(self) -> None:
        self._joining.send()  # now, and not at the end of the step, which in a crowd is far away
        super().on_response_complete()

    def _should_upgrade(self) -> bool:
        """Never, and without a word: some clients offer HTTP/2 in each first request."""
        return False

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - it says less
        """A problem as JSON. In an answer, or behind one, nothing more can be said."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(UNREADABLE.to_json()).encode()
            length = str(len(body)).encode()
            told = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", length), (b"connection", b"close")]
            head = h11.Response(status_code=400, headers=told, reason=b"Bad Request")
            to_head = self.conn.our_state is h11.SEND_RESPONSE and self.scope["method"] == "HEAD"
            for event in (head, h11.Data(data=b"" if to_head else body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle and not self.cycle.response_complete:  # who works at it can say nothing more, either
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def _wait(self) -> None:
        """What is here is no whole head yet."""
        if self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(self._head_s, self.timeout_keep_alive_handler)

    def _come(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Joining:
    """A transport that sends what one step of the loop writes by one call, and leaves who takes nothing of it.

    The head of an answer and its body would be two calls; each lets go of Python's lock, and where threads search, it
    comes back late.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, write_s: float) -> None:
        self._transport, self._loop, self._write_s = transport, loop, write_s
        self._watching: asyncio.TimerHandle | None = None
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not data:
            return
        if not self._parts:
            self._loop.call_soon(self.send)
        self._parts.append(data)
        self._size += len(data)
        if self._size > MOST_HELD:  # so that flow control sees it
            self.send()

    def send(self) -> None:
        if self._parts:
            parts, self._parts, self._size = self._parts, [], 0
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        self.send()
        self._transport.close()
        self.watch()

    def watch(self) -> None:
        """End the connection of a client that does not take what waits for it: asyncio would wait for ever."""
        if self._watching is None and self._transport.get_write_buffer_size():
            self._watching = self._loop.call_later(self._write_s, self._look, self._waiting())

    def rest(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def _look(self, waiting: int) -> None:
        self._watching = None
        if waiting - self._waiting() < MOST_HELD:
            self._transport.abort()
        else:  # it reads, if slowly
            self.watch()

    def _waiting(self) -> int:
        """Bytes that the client has not taken: here, and in the system, which takes megabytes at once."""
        connection: Any = self._transport.get_extra_info("socket")
        try:
            sent = fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4))
        except (OSError, ValueError):  # it is gone
            sent = bytes(4)
        return self._transport.get_write_buffer_size() + int.from_bytes(sent, sys.byteorder)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
