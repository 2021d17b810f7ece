"""Generators for tests of the job: they honour the Protocol and answer from a function, at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sira.llm import Finish, Reply, Request, Tokenizer, Usage

Answer = Callable[[Request], Reply | None]


def phrases(request: Request) -> Reply:
    """Two phrases that name the document."""
    text = json.dumps({"phrases": [f"{request.key} first", f"{request.key} second"]})
    return Reply(request.key, text, Finish.STOP, Usage(100, 10, 50))


class AnsweringModel:
    """Answers each request by `answer`, in batches of `batch`, last one first; counts what it was asked."""

    context_tokens: int | None = None
    tokenizer: Tokenizer | None = None
    pending: str | None = None

    def __init__(self, answer: Answer = phrases, *, batch: int = 3, identity: Mapping[str, Any] | None = None) -> None:
        self.answer, self.batch = answer, batch
        self.identity: Mapping[str, Any] = identity or {"model": "answering"}
        self.facts: Mapping[str, Any] = {"gpus": 0}
        self.asked: list[Request] = []
        self.closed = False

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        waiting: list[Request] = []
        for request in requests:
            self.asked.append(request)
            waiting.append(request)
            if len(waiting) == self.batch:
                yield from self._answers(waiting)
        yield from self._answers(waiting)

    def _answers(self, waiting: list[Request]) -> Iterator[Reply]:
        while waiting:
            reply = self.answer(waiting.pop())
            if reply is not None:
                yield reply

    def close(self) -> None:
        self.closed = True
