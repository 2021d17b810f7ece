"""The body of a request on its way in: so many bytes, in so many seconds."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping

from starlette.types import Message, Receive

from sira.serve.http.problems import ProblemError, refused
from sira.serve.limits import Limits

MOST_DISCARDED = 64 << 20
"""Bytes of a body that is too large."""


class Incoming:
    """Receives the body of a request, so much and in such a time. Raises ProblemError (413, 408)."""

    def __init__(self, receive: Receive, limits: Limits) -> None:
        self._receive, self._limits = receive, limits
        self._size, self._whole = 0, False
        self._end = time.monotonic() + limits.body_s
        self._come: Message | None = None

    async def come(self) -> None:
        """Wait until all of it is here. Raises ProblemError (413, 408)."""
        parts: list[bytes] = []
        while not self._whole:
            message = await self()
            if message["type"] != "http.request":
                self._come = message
                return
            parts.append(message.get("body", b""))
        self._come = {"type": "http.request", "body": b"".join(parts), "more_body": False}

    async def check(self, headers: Mapping[str, str]) -> None:
        """Raises ProblemError (413) for a body that says itself how large it is."""
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length[:20]) > self._limits.body_bytes:
            if headers.get("expect", "").lower() != "100-continue":  # such a client has sent nothing yet
                await self._discard()
            raise _too_large(self._limits)

    async def _discard(self) -> None:
        """Read on to nowhere, so much and so long: a client that sends before it reads would not see the answer."""
        self._whole = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, self._end - time.monotonic())):
                while self._size < MOST_DISCARDED:
                    message = await self._receive()
                    self._size += len(message.get("body", b""))
                    if message["type"] != "http.request" or not message.get("more_body", False):
                        return

    async def __call__(self) -> Message:
        if self._come is not None:
            come, self._come = self._come, None
            return come
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.0, self._end - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            self._whole = True
            raise refused(
                408,
                "slow-body",
                "The body did not come in time",
                f"body: it did not come within {self._limits.body_s:g} s: send it faster",
                item="body",
                remedy="send the whole body at once",
                headers={"Connection": "close"},
            ) from None
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._size > self._limits.body_bytes:
                if not self._whole:
                    await self._discard()
                raise _too_large(self._limits)
        return message


def _too_large(limits: Limits) -> ProblemError:
    return refused(
        413,
        "body-too-large",
        "The body is too large",
        f"body: this server takes {limits.body_bytes:,} bytes: send less at once",
        item="body",
        remedy="send less at once",
        headers={"Connection": "close"},
    )
