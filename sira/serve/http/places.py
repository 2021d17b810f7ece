"""How many requests are at work at a time: who comes beyond is refused before any work is done for them."""

from __future__ import annotations

from sira.serve.front import Front

PATHS = ("/v1/indexes/", "/v1/sessions", "/pi/")
"""Of the requests that take a place; the others cost nothing to answer. MCP has its own door."""


class Places:
    """As many as the threads and queues of a server hold.

    The queues refuse by themselves, but only what has been read, checked and brought before them: where more comes than
    a process can read, requests would pile up in its event loop.
    """

    def __init__(self, front: Front) -> None:
        self._front = front
        queues = (front.searching, front.sketching)
        self._most = sum(item.threads + item.queue for item in queues)
        self.taken = 0

    def place(self, path: str) -> Place | None:
        """One to take, for a request that needs one."""
        return Place(self) if path.startswith(PATHS) else None

    def take(self) -> None:
        """Raises Busy."""
        if self.taken >= self._most:
            raise self._front.searching.refusal()
        self.taken += 1

    def leave(self) -> None:
        self.taken -= 1


class Place:
    """That of one request."""

    def __init__(self, places: Places) -> None:
        self._places, self._taken = places, False

    def take(self) -> None:
        """Raises Busy."""
        self._places.take()
        self._taken = True

    def leave(self) -> None:
        """Once it has been taken, and once at most."""
        if self._taken:
            self._taken = False
            self._places.leave()
