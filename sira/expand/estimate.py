"""`sira expand --dry-run`: what a job would take, from a sample of its documents. The model is not asked."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from sira.corpora.collection import open_collection
from sira.errors import InputError
from sira.expand.config import ExpandConfig
from sira.expand.ids import hash64
from sira.expand.progress import read_progress
from sira.expand.task import Task
from sira.llm.base import Usage
from sira.llm.prices import cost, price_of
from sira.records import Document
from sira.tables import text_table

SAMPLE = 200
CHARACTERS_PER_TOKEN = 4.0
"""Of English prose, as the tokenizers of today's models cut it; other scripts take more tokens."""
TOKENS_PER_PHRASE = 5.0
"""Two words and the quotes around them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Figures of the whole corpus. `measured`: completion tokens are those of rows that are there already."""

    documents: int
    empty: int
    sampled: int
    cut: int
    prompt_tokens: int
    completion_tokens: int
    worst_completion_tokens: int
    measured: bool
    seconds: float | None
    cost: float | None
    currency: str | None
    price_date: str | None


def estimate(config: ExpandConfig, store: Path | None, *, progress: bool = True) -> Estimate:
    """Read the corpus once; render the prompts of 200 documents, the same ones at each call.

    `store`: where rows of this job are there already, their tokens and rate are taken. Raises InputError.
    """
    task = Task.of(config)
    sample: list[tuple[int, str, Document]] = []  # a heap with the largest hash on top
    documents = empty = 0
    for _, item in tqdm(
        open_collection(config.corpus.source).documents(), desc="reading", unit=" docs", disable=not progress
    ):
        if not isinstance(item, Document):
            continue
        documents += 1
        if not item.contents.strip():
            empty += 1
            continue
        entry = (-hash64(item.docid), item.docid, item)
        if len(sample) < SAMPLE:
            heapq.heappush(sample, entry)
        elif entry[0] > sample[0][0]:
            heapq.heapreplace(sample, entry)
    if not sample:
        raise InputError(f"{config.corpus.source}: holds no document with text: nothing to estimate")
    prepared = [task.prepare(item) for _, _, item in sample]
    prompts = [sum(len(message.content) for message in one.request.messages) for one in prepared if one is not None]
    asked = documents - empty
    per_prompt = sum(prompts) / len(prompts) / CHARACTERS_PER_TOKEN
    rate, per_reply, gpus = _measured(store)
    completion = task.limits.max_phrases * TOKENS_PER_PHRASE if per_reply is None else per_reply
    usage = Usage(round(per_prompt * asked), round(completion * asked))
    price = price_of(config.model)
    seconds = None if rate is None else documents / rate
    unknown = price is not None and price.gpu_hour > 0 and seconds is None
    return Estimate(
        documents=documents,
        empty=empty,
        sampled=len(prompts),
        cut=sum(one.cut for one in prepared if one is not None),
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        worst_completion_tokens=task.max_tokens * asked,
        measured=per_reply is not None,
        seconds=seconds,
        cost=None if price is None or unknown else cost(usage, (seconds or 0.0) * gpus, price),
        currency=None if price is None else price.currency,
        price_date=None if price is None else price.date.isoformat(),
    )


def _measured(store: Path | None) -> tuple[float | None, float | None, float]:
    """(documents a second of one process, completion tokens a document, GPUs of a process) of a store's sessions."""
    found = [] if store is None else [read_progress(path) for path in sorted(store.glob("*.progress.json"))]
    sessions = [session for part in found if part is not None for session in part["sessions"]]
    done = sum(session["done"] for session in sessions)
    seconds = sum(session["seconds"] for session in sessions)
    if not done or not seconds:
        return None, None, 0.0
    tokens = sum(session["usage"]["completion_tokens"] for session in sessions)
    gpus = sum(session["seconds"] * session["gpus"] for session in sessions) / seconds
    return done / seconds, tokens / done, gpus


def estimate_table(found: Estimate) -> str:
    """For the terminal."""
    rows = [
        ["documents", f"{found.documents:,}"],
        ["of them without text (not sent)", f"{found.empty:,}"],
        ["sampled", f"{found.sampled:,}"],
        ["of them cut", f"{found.cut:,}"],
        [f"prompt tokens, at {CHARACTERS_PER_TOKEN:g} characters a token", f"{found.prompt_tokens:,}"],
        [
            "completion tokens, as measured"
            if found.measured
            else f"completion tokens, at {TOKENS_PER_PHRASE:g} a phrase",
            f"{found.completion_tokens:,}",
        ],
        ["completion tokens, worst case", f"{found.worst_completion_tokens:,}"],
        ["hours at the measured rate", "-" if found.seconds is None else f"{found.seconds / 3600:,.2f}"],
        [
            "price" if found.currency is None else f"price in {found.currency} ({found.price_date})",
            "not known: give [model.price]" if found.cost is None else f"{found.cost:,.2f}",
        ],
    ]
    return text_table(["estimate", ""], rows)
