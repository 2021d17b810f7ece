"""An asyncio loop in one background thread, for callers that are not asynchronous themselves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable
from queue import SimpleQueue
from typing import Any, TypeVar

from sira.errors import SiraError

Item = TypeVar("Item")
Result = TypeVar("Result")


class BackgroundLoop:
    """Runs coroutines in its thread until it is closed. Closing it twice does no harm."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        # A daemon, so that a program which forgets to close it can end.
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()
        self.closed = False

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """The coroutine's result; blocks."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def map(
        self, function: Callable[[Item], Coroutine[Any, Any, Result]], items: Iterable[Item], at_most: int
    ) -> Generator[Result, None, None]:
        """`function` of each item, as they finish, `at_most` at a time.

        Items are drawn in the caller's thread, and only while there is room. At the first error of a call or of the
        items the calls in flight are cancelled and awaited; what had finished is yielded before the error is raised.
        Where the caller closes the iterator early, they are cancelled and awaited too.
        """
        if self.closed:
            raise SiraError("this generator is closed; open another one")
        running: set[asyncio.Task[Result]] = set()  # changed in the loop's thread alone
        done: SimpleQueue[asyncio.Task[Result]] = SimpleQueue()

        def finished(task: asyncio.Task[Result]) -> None:
            running.discard(task)
            done.put(task)

        def start(item: Item) -> None:
            task = self._loop.create_task(function(item))
            running.add(task)
            task.add_done_callback(finished)

        source, more, open_calls = iter(items), True, 0
        fault: BaseException | None = None
        try:
            while fault is None:
                if more and open_calls < at_most:
                    try:
                        item = next(source)
                    except StopIteration:
                        more = False
                    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised below
                        fault = error
                        break
                    else:
                        self._loop.call_soon_threadsafe(start, item)
                        open_calls += 1
                        if done.empty():
                            continue
                if not open_calls:
                    return
                task = done.get()
                open_calls -= 1
                if task.cancelled():
                    raise SiraError("this generator was closed while replies were due")
                fault = task.exception()
                if fault is None:
                    yield task.result()
            if not self.closed:
                self.call(_cancel(running))
            while not done.empty():  # these calls were paid for
                task = done.get()
                if not task.cancelled() and task.exception() is None:
                    yield task.result()
            raise fault
        finally:
            if not self.closed:
                self.call(_cancel(running))
            while not done.empty():
                task = done.get()
                if not task.cancelled():
                    task.exception()  # asyncio complains of an error that nobody has looked at

    def close(self) -> None:
        """Cancel what runs, end the thread, free the loop."""
        if self.closed:
            return
        self.closed = True
        self.call(_wind_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    waited = list(tasks)
    for task in waited:
        task.cancel()
    await asyncio.gather(*waited, return_exceptions=True)


async def _wind_up() -> None:
    await _cancel(asyncio.all_tasks() - {asyncio.current_task()})  # type: ignore[arg-type]
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
