"""Searching many programs: results in the order of the programs, a bounded number of them in memory."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from sira.errors import IndexFault, InputError
from sira.lucene.reader import Index
from sira.program import Program
from sira.records import Ranking


@dataclass(frozen=True, slots=True)
class Searched:
    """A program with its ranking; `milliseconds` is the time of the search alone."""

    program: Program
    ranking: Ranking
    milliseconds: float


def _search(index: Index, program: Program, k: int) -> Searched:
    start = time.perf_counter()
    try:
        ranking = index.search(program, k)
    except (InputError, IndexFault) as error:
        kind = InputError if isinstance(error, InputError) else IndexFault
        raise kind(f"topic {program.qid!r}: {error}") from error
    return Searched(program, ranking, 1000 * (time.perf_counter() - start))


def search_programs(index: Index, programs: Iterable[Program], k: int, threads: int = 1) -> Iterator[Searched]:
    """Search each program to depth k. The first error ends the batch, naming its topic; none is swallowed."""
    if threads <= 1:
        for program in programs:
            yield _search(index, program, k)
        return
    waiting: deque[Future[Searched]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="sira-search") as pool:
        try:
            for program in programs:
                waiting.append(pool.submit(_search, index, program, k))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
