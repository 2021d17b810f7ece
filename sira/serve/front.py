"""A service from an event loop: bounded work, a bound of time, and no work for a client that has left.

Every transport goes through here, so that all of them together keep within the limits of one server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from sira.serve.requests import Source
from sira.serve.service import Note, Service
from sira.serve.work import Workers

Result = TypeVar("Result")
AnySource = TypeVar("AnySource", bound=Source)
Stopped = Callable[[], bool]
LAST_S = 0.2
Gone = Callable[[], Awaitable[None]]
"""Returns when the client has left."""


class Front:
    """The service with its threads; one a process."""

    def __init__(self, service: Service) -> None:
        limits = service.limits
        self.service = service
        self.searching = Workers(limits.searching_threads, limits.queue, "sira-search")
        self.sketching = Workers(limits.model_threads, limits.model_queue, "sira-sketch")

    async def run(self, job: Callable[[Stopped], Result], gone: Gone | None = None) -> Result:
        """What the job gives, such as `lambda stopped: service.search(index, request)`. Raises what it raises, and
        Busy, TimedOut, Gone, Closing. A task that is cancelled takes its job with it."""
        return await self.searching.run(job, timeout_s=self.service.limits.search_s, gone=gone)

    async def resolved(self, source: AnySource, gone: Gone | None = None) -> tuple[AnySource, Note]:
        """The request with the sketch of the server's model, where it asks for one, and the note to give with it;
        outside of the threads that search, since a model takes seconds."""
        if not source.llm:
            return source, None
        limits, service = self.service.limits, self.service
        return await self.sketching.run(lambda _: service.resolve(source), timeout_s=limits.sketch_s, gone=gone)

    def close(self) -> bool:
        """Begin nothing new, and close the service; whether nothing ran any more. Transports have waited for requests
        before: what runs is for nobody."""
        ended = self.searching.close(LAST_S)
        ended = self.sketching.close(LAST_S) and ended
        self.service.close()
        return ended
