"""Sketches from a model: one schema-constrained call a topic and sample, by a prompt of the query side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Any

from sira.errors import EnvironmentFault, InputError
from sira.llm.base import Finish, Generator, Reply, Request, Usage
from sira.llm.parsing import SENTENCE_FACTOR, ReplyLimits, parse_phrases
from sira.llm.schema import DEFAULT_MAX_CHARACTERS, phrases_schema, sketch_schema, worst_case_tokens
from sira.llm.sketch_reply import ParsedSketch, SketchLimits, parse_sketch
from sira.prompts import Prompt
from sira.records import FAILURES, Sketch, SketchPhrase, Status, Topic

DEFAULT_PROMPTS: Mapping[bool, str] = {False: "query-generic", True: "query-constraints"}
"""By whether roles are asked for."""
LOCAL_PROMPT = "query-brief"
ROLES_MAX_TOKENS = 2048
"""Of a reply with roles, where nothing else is said: several times what full ones take. One that is cut off keeps what
was complete."""
MAX_SAMPLES, MAX_FACETS, MAX_SEARCHES = 100, 20, 10


@dataclass(frozen=True, slots=True)
class SketchForm:
    """What a reply may hold. Phrases alone are what weak models do best; `roles` tells requirements and exclusions of
    the query from other phrases, and the rest goes with them: weights of phrases, at most so many facets and searches.

    Raises InputError for a bound out of range, or where the rest is asked for without roles.
    """

    roles: bool = False
    weights: bool = False
    facets: int = 0
    searches: int = 0

    def __post_init__(self) -> None:
        for name, most in (("facets", MAX_FACETS), ("searches", MAX_SEARCHES)):
            if not 0 <= getattr(self, name) <= most:
                raise InputError(f"{name} = {getattr(self, name)}: give 0 to {most}")
        if not self.roles and (self.weights or self.facets or self.searches):
            raise InputError("weights, facets and searches of a sketch go with roles: ask for roles too")

    def schema(self, limits: ReplyLimits) -> dict[str, Any]:
        if not self.roles:
            return phrases_schema(limits.max_phrases, limits.max_characters)
        return sketch_schema(
            limits.max_phrases,
            limits.max_characters,
            weights=self.weights,
            max_facets=self.facets,
            max_searches=self.searches,
        )

    def max_tokens(self, limits: ReplyLimits) -> int:
        return ROLES_MAX_TOKENS if self.roles else worst_case_tokens(limits.max_phrases, limits.max_characters)

    def parse(self, reply: Reply, limits: ReplyLimits) -> ParsedSketch:
        if self.roles:
            return parse_sketch(reply.text, reply.finish, SketchLimits(limits, self.facets, self.searches))
        plain = parse_phrases(reply.text, reply.finish, limits)
        phrases = tuple(SketchPhrase(text) for text in plain.phrases)
        return ParsedSketch(plain.status, phrases, dropped=plain.dropped, salvaged=plain.salvaged)


@dataclass(frozen=True, slots=True)
class Sketched:
    """The sketch of one topic, and what became of its replies. Phrases in the order of the model: most likely first.

    Of several samples `status` is that of the best reply, `failed` counts those that failed, and `detail` says how the
    first of them did. `dropped` counts as in `sira.llm.sketch_reply`.
    """

    sketch: Sketch
    status: Status
    usage: Usage
    detail: str | None = None
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    failed: int = 0
    errors: int = 0
    """Of the failed ones those that asking again may mend."""


def default_prompt(backend: str, form: SketchForm) -> str:
    """The prompt for this kind of model, where none is named."""
    return LOCAL_PROMPT if backend == "local" and not form.roles else DEFAULT_PROMPTS[form.roles]


def sketch_topics(
    topics: Sequence[Topic],
    generator: Generator,
    prompt: Prompt,
    *,
    max_tokens: int | None = None,
    seed: int = 0,
    samples: int = 1,
    form: SketchForm | None = None,
) -> Iterator[Sketched]:
    """Ask for the sketch of each topic; they come in the order in which replies do.

    Sample n is asked with the seed `seed` + n; the samples of a topic become one sketch. A topic without text is not
    sent and gets an empty sketch. Topics need distinct qids. Raises InputError for `samples` out of range,
    EnvironmentFault where the model is gone or gives no reply.
    """
    check_samples(samples, seed)
    form = form or SketchForm()
    limits = limits_of(prompt)
    for topic in topics:
        if not topic.text.strip():
            yield Sketched(Sketch(topic.qid, by_model=True), Status.EMPTY, Usage())
    waiting: dict[str, dict[int, tuple[Reply, ParsedSketch]]] = {
        topic.qid: {} for topic in topics if topic.text.strip()
    }
    # One sample keeps the plain qid, by which recorded replies are found.
    calls = [
        (f"{number}:{topic.qid}" if samples > 1 else topic.qid, topic, number)
        for topic in topics
        if topic.qid in waiting
        for number in range(samples)
    ]
    schema, tokens = form.schema(limits), max_tokens or form.max_tokens(limits)
    requests = (
        Request(key, prompt.render_query(topic.text), tokens, seed + number, schema) for key, topic, number in calls
    )
    places = {key: (topic.qid, number) for key, topic, number in calls}
    for reply in generator.generate(requests):
        if reply.finish is Finish.PENDING:
            continue
        qid, number = places[reply.key]
        replies = waiting[qid]
        replies[number] = reply, form.parse(reply, limits)
        if len(replies) == samples:
            del waiting[qid]
            yield _merged(qid, [replies[number] for number in range(samples)], form)
    if waiting:
        why = generator.pending or "the model gave no reply"
        raise EnvironmentFault(f"{len(waiting)} topics have no sketch (first: {min(waiting)!r}): {why}")


def check_samples(samples: int, seed: int) -> None:
    """Raises InputError for a number of samples, or a last seed, out of range."""
    if not 1 <= samples <= MAX_SAMPLES or seed + samples > 2**31:
        raise InputError(f"samples = {samples} from seed {seed}: give 1 to {MAX_SAMPLES}, and seeds below 2**31")


def limits_of(prompt: Prompt) -> ReplyLimits:
    """What of a reply to this prompt is taken."""
    return ReplyLimits(prompt.max_phrases, DEFAULT_MAX_CHARACTERS, SENTENCE_FACTOR * prompt.max_words)


def _merged(qid: str, replies: Sequence[tuple[Reply, ParsedSketch]], form: SketchForm) -> Sketched:
    """One sketch of all samples: the first phrase of each, then the second of each, and so on; a phrase that several
    propose stands there as often, for the weighting by agreement."""
    parsed = [one for _, one in replies]
    numbered = ([replace(phrase, sample=number) for phrase in one.phrases] for number, one in enumerate(parsed))
    phrases = tuple(phrase for rank in zip_longest(*numbered) for phrase in rank if phrase is not None)
    facets = tuple(dict.fromkeys(chain.from_iterable(one.facets for one in parsed)))[: form.facets]
    searches = tuple(dict.fromkeys(chain.from_iterable(one.searches for one in parsed)))[: form.searches]
    failures = [(one.status, reply.detail) for reply, one in replies if one.status in FAILURES]
    sketch = Sketch(
        qid,
        phrases,
        facets,
        samples=max(1, len(replies) - len(failures)),
        searches=tuple(Sketch(qid, search, by_model=True) for search in searches),
        by_model=True,
    )
    dropped: Counter[str] = Counter()
    for one in parsed:
        dropped.update(one.dropped)
    return Sketched(
        sketch,
        _status([one.status for one in parsed]),
        sum((reply.usage for reply, _ in replies), Usage()),
        _detail(replies, failures),
        dict(dropped),
        len(failures),
        sum(status is Status.ERROR for status, _ in failures),
    )


def _status(statuses: Sequence[Status]) -> Status:
    """OK where a reply is; else the first that is no failure, else the first."""
    if Status.OK in statuses:
        return Status.OK
    return next((status for status in statuses if status not in FAILURES), statuses[0])


def _detail(replies: Sequence[tuple[Reply, ParsedSketch]], failures: Sequence[tuple[Status, str | None]]) -> str | None:
    if len(replies) == 1:
        return replies[0][0].detail
    if not failures:
        return None
    status, why = failures[0]
    return f"{len(failures)} of {len(replies)} replies failed ({status}{f': {why}' if why else ''})"
