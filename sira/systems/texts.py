"""Texts by a model that join a query: their file, and asking for them.

A file has JSON Lines, a topic a row: `qid` (or `query_id`), `texts` (or one `text`), and where they are known
`query_repeats` (how often the query stands before the texts), `calls` and `usage`. Stores of other tools are read as
they are: further fields do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from sira.corpora.rows import json_rows
from sira.errors import EnvironmentFault, InputError
from sira.llm.base import Finish, Generator, Reply, Request, Usage
from sira.llm.openai_body import token_count
from sira.llm.sketches import check_samples
from sira.llm.thinking import answer as without_thinking
from sira.prompts import Prompt
from sira.records import Topic

MAX_REPEATS = 1000
_USABLE = frozenset({Finish.STOP, Finish.LENGTH})


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one topic in the order of the replies; empty where no reply could be used.

    `query_repeats` goes before the rule of the method. `calls` and `usage` are what the replies took, failed ones
    included; None and zero tokens where the file does not tell. `failed` counts replies that gave no text, `errors`
    those of them that asking again may mend.
    """

    qid: str
    texts: tuple[str, ...]
    query_repeats: int | None = None
    calls: int | None = None
    usage: Usage = field(default_factory=Usage)
    failed: int = 0
    errors: int = 0

    def to_json(self) -> dict[str, Any]:
        """A row of the file, which `read_texts` reads back."""
        row: dict[str, Any] = {"qid": self.qid, "texts": list(self.texts)}
        if self.query_repeats is not None:
            row["query_repeats"] = self.query_repeats
        if self.calls is not None:
            row |= {"calls": self.calls, "usage": asdict(self.usage)}
        counts = {"failed": self.failed, "errors": self.errors}
        return row | {name: count for name, count in counts.items() if count}


def read_texts(path: str | Path) -> dict[str, Texts]:
    """All rows of a .jsonl or .jsonl.gz file by qid. Raises InputError naming file, line and field."""
    found: dict[str, Texts] = {}
    for place, row in json_rows(Path(path)):
        texts = _texts(row, str(place))
        if texts.qid in found:
            raise InputError(f"{place}: topic {texts.qid!r} has a row already: keep one a topic")
        found[texts.qid] = texts
    return found


def _texts(row: Mapping[str, Any], place: str) -> Texts:
    qid = row.get("qid", row.get("query_id"))
    if isinstance(qid, int) and not isinstance(qid, bool):
        qid = str(qid)
    if not isinstance(qid, str) or not qid:
        raise InputError(f"{place}: `qid` (or `query_id`) is missing or no string")
    texts = row.get("texts", [row["text"]] if "text" in row else None)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in cast(list[object], texts)):
        raise InputError(f"{place}: topic {qid!r}: it needs `texts`, a list of strings, or one `text`")
    return Texts(
        qid,
        tuple(text for text in cast(list[str], texts) if text.strip()),
        _count(row, "query_repeats", f"{place}: topic {qid!r}"),
        _count(row, "calls", f"{place}: topic {qid!r}"),
        told_usage(row) or Usage(),
        _count(row, "failed", f"{place}: topic {qid!r}") or 0,
        _count(row, "errors", f"{place}: topic {qid!r}") or 0,
    )


def told_usage(row: Mapping[str, Any]) -> Usage | None:
    """The tokens that a row of replies tells; None where it tells none."""
    usage: object = row.get("usage")
    if not isinstance(usage, dict):
        return None
    told = cast("dict[str, Any]", usage)
    return Usage(*(token_count(told.get(name)) for name in ("prompt_tokens", "completion_tokens", "cached_tokens")))


def _count(row: Mapping[str, Any], name: str, place: str) -> int | None:
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_REPEATS:
        raise InputError(f"{place}: `{name}` = {value!r}: give a whole number from 0 to {MAX_REPEATS}")
    return value


@dataclass(frozen=True, slots=True)
class TextRequest:
    """How texts are asked for: each prompt `samples` times, or with `chained` the prompts in turn, each with the reply
    to the one before in place of documents. Sample n has the seed `seed` + n.

    Raises InputError for samples out of range, several samples of a chain, or prompts of another side.
    """

    prompts: tuple[Prompt, ...]
    samples: int = 1
    chained: bool = False
    max_tokens: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        check_samples(self.samples, self.seed)
        if self.chained and self.samples > 1:
            raise InputError(f"samples = {self.samples}: prompts that follow one another are asked once")
        for prompt in self.prompts:
            if prompt.side != "text":
                raise InputError(f"prompt {prompt.label} is of the {prompt.side} side: choose one of the text side")


Found = Callable[[Topic], Sequence[str]]
"""The documents of a first search for a topic, best first."""


def ask_texts(
    topics: Iterable[Topic], request: TextRequest, generator: Generator, documents: Found | None = None
) -> dict[str, Texts]:
    """The texts of each topic by qid. Documents of a first search go into the prompts that have a place for them.

    A topic without text is not sent and has no texts. A reply that failed is counted, and gives no text. Raises
    InputError for a prompt with a place for documents where there are none to find, EnvironmentFault where the model is
    gone or a reply is yet to come.
    """
    topics = tuple(topics)
    asked = [topic for topic in topics if topic.text.strip()]
    if documents is None and not request.chained and (wanting := [p for p in request.prompts if p.takes_documents]):
        raise InputError(
            f"prompt {wanting[0].label} takes documents, and this method searches none: take $documents out of it"
        )
    replies: dict[str, list[Reply]] = {topic.qid: [] for topic in topics}
    first: dict[str, Sequence[str]] = {topic.qid: documents(topic) if documents else () for topic in asked}
    if request.chained:
        for step, prompt in enumerate(request.prompts):
            for qid, reply in _asked(asked, [(step, prompt)], request, generator, first):
                replies[qid].append(reply)
            first = {topic.qid: [_text(replies[topic.qid][-1])] for topic in asked}
    else:
        for qid, reply in _asked(asked, list(enumerate(request.prompts)), request, generator, first):
            replies[qid].append(reply)
    return {qid: _gathered(qid, found, last_alone=request.chained) for qid, found in replies.items()}


def _asked(
    topics: Sequence[Topic],
    prompts: Sequence[tuple[int, Prompt]],
    request: TextRequest,
    generator: Generator,
    documents: Mapping[str, Sequence[str]],
) -> list[tuple[str, Reply]]:
    """The replies in the order of topics, prompts and samples, in whatever order they come."""
    places = [
        (topic, step, prompt, number)
        for topic in topics
        for step, prompt in prompts
        for number in range(request.samples)
    ]
    # One call a topic keeps the plain qid, by which recorded replies are found.
    plain = len(request.prompts) * request.samples == 1
    keys = [topic.qid if plain else f"{step}.{number}:{topic.qid}" for topic, step, _, number in places]
    calls = (
        Request(
            key,
            prompt.render_query(topic.text, documents[topic.qid] if prompt.takes_documents else ()),
            request.max_tokens,
            request.seed + number,
        )
        for key, (topic, _, prompt, number) in zip(keys, places, strict=True)
    )
    done = {reply.key: reply for reply in generator.generate(calls) if reply.finish is not Finish.PENDING}
    if missing := [key for key in keys if key not in done]:
        why = generator.pending or "the model gave no reply"
        raise EnvironmentFault(f"{len(missing)} of {len(keys)} texts have no reply (first: {missing[0]!r}): {why}")
    return [(topic.qid, done[key]) for key, (topic, *_) in zip(keys, places, strict=True)]


def _text(reply: Reply) -> str:
    """The text without thinking, line ends and quotation marks around it; empty where the reply cannot be used."""
    said = without_thinking(reply.text) if reply.finish in _USABLE else None
    return " ".join((said or "").split()).strip("\"'").strip()


def _gathered(qid: str, replies: Sequence[Reply], *, last_alone: bool) -> Texts:
    texts = [_text(reply) for reply in replies]
    kept = texts[-1:] if last_alone else texts
    return Texts(
        qid,
        tuple(text for text in kept if text),
        calls=len(replies),
        usage=sum((reply.usage for reply in replies), Usage()),
        failed=sum(not text for text in texts),
        errors=sum(reply.finish is Finish.ERROR for reply in replies),
    )
