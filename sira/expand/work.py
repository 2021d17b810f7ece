"""The working loop of a shard: requests out, replies in, one row a document; canary, retries, bound on failures."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from sira.errors import EnvironmentFault, InputError
from sira.expand.config import LimitsConfig
from sira.expand.shard import failed
from sira.expand.survey import Entry
from sira.expand.task import Fit, Prepared, Task, check_reply_key
from sira.llm.base import Finish, Generator, Reply, Usage
from sira.llm.parsing import Parsed
from sira.records import FAILURES, Skip, Status

Row = dict[str, Any]
SHOWN_CHARACTERS = 600


class Work:
    """Turns entries into rows. Memory holds what is in flight, whatever the size of the corpus.

    `write` takes each row once, in the order in which replies come, from one thread at a time.
    """

    def __init__(
        self, task: Task, generator: Generator, fit: Fit | None, limits: LimitsConfig, write: Callable[[Row], None]
    ) -> None:
        self._task, self._generator, self._fit, self._limits, self._write = task, generator, fit, limits, write
        self._in_flight: dict[str, tuple[Prepared, list[Reply]]] = {}
        self._again: deque[Prepared] = deque()
        self.done = 0
        self.failures = 0
        self.usage = Usage()
        self.example = ""

    def run(self, entries: Iterator[Entry], *, canary: int) -> str | None:
        """Work through the entries; returns what the generator says of requests that wait (a batch file), or None.

        Raises InputError where the canary does not parse or failures pass the bound, EnvironmentFault where the
        backend fails or gives fewer replies than it was asked for.
        """
        if canary:
            self._canary(entries, canary)
        pending = self._converse(self._requests(entries))
        while self._again:
            pending = self._converse(self._requests(iter(())))
        if self._in_flight:
            key = next(iter(self._in_flight))
            raise EnvironmentFault(
                f"the backend gave no reply to {len(self._in_flight)} requests (first: {key!r}): "
                "what is done is kept; run the job again"
            )
        return pending

    def _converse(self, requests: Iterator[Prepared]) -> str | None:
        for reply in self._generator.generate(prepared.request for prepared in requests):
            self._take(reply)
        return self._generator.pending

    def _requests(self, entries: Iterator[Entry]) -> Iterator[Prepared]:
        """Second attempts first, so that few wait; documents without text get their row at once."""
        for entry in entries:
            while self._again:
                yield self._again.popleft()
            prepared = self._prepare(entry)
            if prepared is not None:
                self._in_flight[prepared.request.key] = (prepared, [])
                yield prepared
        while self._again:
            yield self._again.popleft()

    def _prepare(self, entry: Entry) -> Prepared | None:
        _, docid, item = entry
        if isinstance(item, Skip):
            self._finish(self._task.error_row(docid, item.detail))
            return None
        prepared = self._task.prepare(item, self._fit)
        if prepared is None:
            self._finish(self._task.empty_row(item))
        return prepared

    def _take(self, reply: Reply) -> None:
        check_reply_key(reply, self._in_flight)
        if reply.finish is Finish.PENDING:
            del self._in_flight[reply.key]
            return
        prepared, replies = self._in_flight[reply.key]
        replies.append(reply)
        self.usage += reply.usage
        if len(replies) == 1:
            again = self._task.again(prepared, reply, self._generator.context_tokens)
            if again is not None:
                self._again.append(again)
                return
        del self._in_flight[reply.key]
        self._finish(self._task.row(prepared, replies), reply)

    def _finish(self, row: Row, reply: Reply | None = None) -> None:
        self._write(row)
        self.done += 1
        if failed(row) and reply is not None:
            self.failures += 1
            self.example = self.example or shown(reply)
            limits = self._limits
            if self.done >= limits.failures_after and self.failures > limits.max_failure_share * self.done:
                raise InputError(
                    f"{self.failures} of {self.done} documents failed, more than the share of "
                    f"{limits.max_failure_share:g} that max_failure_share allows; the first: {self.example}. "
                    "Mend the cause, then go on with --retry STATUS to redo the failed ones"
                )

    def _canary(self, entries: Iterator[Entry], count: int) -> None:
        """The first documents must parse before the job starts; their rows count."""
        first: list[Prepared] = list(islice(self._requests(entries), count))
        replies = list(self._generator.generate(prepared.request for prepared in first))
        replies_parsed = [self._task.parse(reply) for reply in replies]
        # A reply without end may be the document's fault; most of them without end are the decoder's.
        endless = [parsed.status is Status.RUNAWAY or barren(parsed) for parsed in replies_parsed]
        stray = 2 * sum(endless) > len(endless)
        bad = [
            reply
            for reply, parsed, no_end in zip(replies, replies_parsed, endless, strict=True)
            if parsed.status in _NO_JSON or (stray and no_end)
        ]
        if bad:
            raise InputError(
                f"canary: {len(bad)} of the first {len(first)} replies do not parse, so the job did not start; "
                f"the first, of {bad[0].key!r}: {shown(bad[0])}. Check model, chat template and structured output"
            )
        for reply in replies:
            self._take(reply)


_NO_JSON = FAILURES - {Status.TOO_LONG, Status.RUNAWAY}


def barren(parsed: Parsed) -> bool:
    """Cut off before the first phrase was complete, as by thinking that never ends."""
    return parsed.status is Status.TRUNCATED and not parsed.phrases


def shown(reply: Reply) -> str:
    """A reply for an error message: one line, cut."""
    text = reply.text if reply.text else (reply.detail or "nothing")
    text = text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + " ..."
    return f"{reply.finish.value}, {json.dumps(text, ensure_ascii=False)}"
