"""What a job does to one document: from text to request, and from reply to row. Pure, for any driver."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from sira.errors import InputError
from sira.expand.config import ExpandConfig
from sira.expand.ids import MAX_SEED, fingerprint, hash64, seed_of
from sira.llm.base import Finish, Generator, Reply, Request, Tokenizer, Usage
from sira.llm.parsing import SENTENCE_FACTOR, Parsed, ReplyLimits, parse_phrases
from sira.llm.schema import phrases_schema, worst_case_tokens
from sira.prompts import Prompt, load_prompt
from sira.records import Document, Message, Status

REPLAYED = ("recorded", "batch-file")
"""Backends whose replies are there already: a canary or another seed tells nothing."""
_SLACK = 8
"""Tokens that a tokenizer may add where a text meets the template."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """One document's request, and what its row will tell of it. `cut`: the model saw only the beginning."""

    request: Request
    document: str
    cut: bool


@dataclass(frozen=True, slots=True)
class Task:
    """Prompt, limits and sampling of a job. `job` is the fingerprint that every row carries."""

    prompt: Prompt
    limits: ReplyLimits
    max_tokens: int
    document_characters: int
    system_role: bool
    seed: int
    keep_raw: bool
    backend: str = ""
    job: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, config: ExpandConfig) -> Task:
        """Raises InputError for a prompt that is not there or not of the document side."""
        prompt = load_prompt(config.prompt.name, side="document").with_limits(
            max_phrases=config.prompt.max_phrases, max_words=config.prompt.max_words
        )
        limits = ReplyLimits(prompt.max_phrases, config.prompt.max_characters, SENTENCE_FACTOR * prompt.max_words)
        return cls(
            prompt=prompt,
            limits=limits,
            max_tokens=config.model.max_tokens or worst_case_tokens(limits.max_phrases, limits.max_characters),
            document_characters=config.prompt.document_characters,
            system_role=config.prompt.system_role,
            seed=config.model.seed,
            keep_raw=config.keep_raw,
            backend=config.model.backend,
            schema=phrases_schema(limits.max_phrases, limits.max_characters),
        )

    @property
    def live(self) -> bool:
        """Whether a model answers, so that a canary tells something and another seed gives another reply."""
        return self.backend not in REPLAYED

    def identity(self, config: ExpandConfig, model: Mapping[str, Any]) -> dict[str, Any]:
        """What the phrases of a store depend on; `model` is the generator's own identity."""
        cut = {"context_tokens": config.model.context_tokens, "tokenizer": _name_and_size(config.model.tokenizer)}
        return {
            "model": dict(model),
            "sampling": config.model.sampling(),
            "prompt": {
                "name": self.prompt.label,
                "digest": self.prompt.digest,
                "max_phrases": self.prompt.max_phrases,
                "max_words": self.prompt.max_words,
                "system_role": self.system_role,
            },
            "limits": {
                "max_tokens": self.max_tokens,
                "max_characters": self.limits.max_characters,
                "document_characters": self.document_characters,
                **{key: value for key, value in cut.items() if value is not None},
            },
        }

    def with_job(self, identity: Mapping[str, Any]) -> Task:
        return replace(self, job=job_fingerprint(identity))

    def prepare(self, document: Document, fit: Fit | None = None) -> Prepared | None:
        """The request for one document, cut by `fit`; None where there is no text to read."""
        text = document.contents
        if not text.strip():
            return None
        shown = _cut_characters(text, self.document_characters)
        if fit is not None:
            shown = fit(shown)
        request = Request(
            document.docid,
            self.messages(shown),
            self.max_tokens,
            seed_of(self.seed, document.docid),
            self.schema,
        )
        return Prepared(request, document_fingerprint(document), cut=len(shown) < len(text))

    def messages(self, text: str) -> tuple[Message, ...]:
        return self.prompt.render_document(text, system_role=self.system_role)

    def parse(self, reply: Reply) -> Parsed:
        return _parsed(reply.text, reply.finish, self.limits)

    def again(self, prepared: Prepared, reply: Reply, context_tokens: int | None) -> Prepared | None:
        """The second request, where one may help: twice the tokens for a reply that was cut off (if there is room),
        another seed for one that is no JSON. None otherwise."""
        status = self.parse(reply).status
        if self.backend == "recorded":
            return None
        if status is Status.UNPARSABLE and self.live:
            return replace(prepared, request=replace(prepared.request, seed=(prepared.request.seed + 1) % MAX_SEED))
        if reply.finish is not Finish.LENGTH or status is not Status.TRUNCATED:
            return None
        room = 2 * self.max_tokens
        if context_tokens is not None:
            room = min(room, context_tokens - reply.usage.prompt_tokens)
        if room <= prepared.request.max_tokens:
            return None
        return replace(prepared, request=replace(prepared.request, max_tokens=room))

    def row(self, prepared: Prepared, replies: Sequence[Reply]) -> dict[str, Any]:
        """The row of one document from its replies: of the one that is whole, else of that with most phrases."""
        parsed, reply = max(
            ((self.parse(reply), reply) for reply in replies),
            key=lambda pair: (pair[0].status is Status.OK, len(set(pair[0].phrases))),
        )
        usage = sum((reply.usage for reply in replies), Usage())
        row = self._row(prepared.request.key, parsed.status, prepared.document, list(parsed.phrases))
        if usage != Usage():  # recorded replies have none
            row["usage"] = asdict(usage)
        optional = {
            "attempts": len(replies) if len(replies) > 1 else None,
            "cut": prepared.cut or None,
            "salvaged": parsed.salvaged or None,
            "dropped": dict(parsed.dropped) or None,
            "detail": reply.detail,
        }
        row |= {key: value for key, value in optional.items() if value is not None}
        if self.keep_raw:
            row |= {"raw": reply.text, "finish": reply.finish.value}
        return row

    def empty_row(self, document: Document) -> dict[str, Any]:
        """The row of a document without text: the model is not asked."""
        return self._row(document.docid, Status.EMPTY, document_fingerprint(document), [])

    def error_row(self, docid: str, detail: str) -> dict[str, Any]:
        """The row of a record that is no document."""
        return self._row(docid, Status.ERROR, skip_fingerprint(detail), []) | {"detail": detail}

    def _row(self, docid: str, status: Status, document: str, phrases: list[str]) -> dict[str, Any]:
        provenance = {"job": self.job, "prompt": self.prompt.digest[:16], "document": document}
        return {"docid": docid, "status": status.value, "phrases": phrases, "provenance": provenance}


@lru_cache(maxsize=8)
def _parsed(text: str, finish: Finish, limits: ReplyLimits) -> Parsed:
    """A reply is asked about twice: whether to try again, and for its row."""
    return parse_phrases(text, finish, limits)


class Fit:
    """Cuts the document, and nothing else, so that prompt + max_tokens <= context.

    Where even the empty prompt does not fit, the text stays whole: the request comes back as too long.
    """

    def __init__(self, task: Task, tokenizer: Tokenizer, context_tokens: int) -> None:
        self._task, self._tokenizer = task, tokenizer
        self._budget = context_tokens - task.max_tokens
        self._frame = tokenizer.count(task.messages(""))

    def __call__(self, text: str) -> str:
        if self._frame + len(text.encode("utf-8", "surrogatepass")) + _SLACK <= self._budget:
            return text  # a token is at least one byte: no need to count
        shown, allowed = text, self._budget - self._frame
        over = self._tokenizer.count(self._task.messages(text)) - self._budget
        while over > 0 and allowed > 0:
            shown = self._tokenizer.cut(text, allowed)
            over = self._tokenizer.count(self._task.messages(shown)) - self._budget
            allowed -= max(over, 1)
        return shown if over <= 0 else text


def fit_for(task: Task, generator: Generator) -> Fit | None:
    """How to cut for a generator; None where it has no tokenizer or does not tell its context."""
    if generator.tokenizer is None or generator.context_tokens is None:
        return None
    return Fit(task, generator.tokenizer, generator.context_tokens)


def job_fingerprint(identity: Mapping[str, Any]) -> str:
    """Of what decides the phrases: a prompt's digest does, its name does not."""
    prompt = {key: value for key, value in identity["prompt"].items() if key != "name"}
    return fingerprint({**identity, "prompt": prompt})


def _name_and_size(tokenizer: str | None) -> list[Any] | None:
    """A tokenizer decides where long documents are cut; a file is known by its name and size, wherever it lies."""
    if tokenizer is None:
        return None
    path = Path(tokenizer)
    return [path.name, path.stat().st_size if path.is_file() else None]


def document_fingerprint(document: Document) -> str:
    """16 hex digits of what the model reads of a document, before any cut."""
    return f"{hash64(document.contents):016x}"


def skip_fingerprint(detail: str) -> str:
    return f"{hash64(detail):016x}"


def _cut_characters(text: str, limit: int) -> str:
    """The beginning of a text, up to the last blank within the limit; hard where a single word fills it."""
    if len(text) <= limit:
        return text
    to_blank = re.match(r"(?s).*\s", text[: limit + 1])
    kept = to_blank.group().rstrip() if to_blank else ""
    return kept if len(kept) > limit // 2 else text[:limit]


def check_reply_key(reply: Reply, expected: Mapping[str, object]) -> None:
    """Raises InputError for a reply that nobody asked for: replies are joined by key, and a stranger means that the
    backend's count or its keys are wrong."""
    if reply.key not in expected:
        raise InputError(
            f"the backend gave a reply of {reply.key!r}, which was not asked for or had its reply already: "
            "what is done is kept; check the backend"
        )
