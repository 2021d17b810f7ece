"""Work on many topics: results in the order of the topics, a bounded number of them in memory."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from sira.errors import IndexFault, InputError
from sira.lucene.reader import Index
from sira.program import Program
from sira.records import Ranking

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Searched:
    """A program with its ranking; `milliseconds` is the time of the search alone."""

    program: Program
    ranking: Ranking
    milliseconds: float


@contextmanager
def naming_topic(qid: str) -> Generator[None]:
    """What goes wrong inside names the topic."""
    try:
        yield
    except (InputError, IndexFault) as error:
        kind = InputError if isinstance(error, InputError) else IndexFault
        raise kind(f"topic {qid!r}: {error}") from error


def search_programs(index: Index, programs: Iterable[Program], k: int, threads: int = 1) -> Iterator[Searched]:
    """Search each program to depth k. The first error ends the batch, naming its topic; none is swallowed."""

    def search(program: Program) -> Searched:
        start = time.perf_counter()
        with naming_topic(program.qid):
            ranking = index.search(program, k)
        return Searched(program, ranking, 1000 * (time.perf_counter() - start))

    return in_order(search, programs, threads)


def in_order(work: Callable[[Item], Result], items: Iterable[Item], threads: int = 1) -> Iterator[Result]:
    """`work` on each item, `threads` at a time. The first error ends it and is raised in its place."""
    if threads <= 1:
        yield from map(work, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="sira-search") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
