"""A benchmark's questions through the episodes of agent mode, with a manifest that tells where its labels are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sira import __version__
from sira.agent.backend import Backend
from sira.agent.benchmark import Setup
from sira.agent.benchmark_files import server_of
from sira.agent.benchmark_inputs import Inputs, Labels
from sira.agent.budget_rates import Rates
from sira.agent.prompting import CallForm
from sira.agent.run_folder import RunFolder, questions_facts
from sira.agent.runs import RunOptions, RunReport, Watcher, run_questions
from sira.agent.runs_job import AgentJob, Equipment, episodes, source_facts, told
from sira.errors import InputError
from sira.folders import owned
from sira.llm import ModelSettings, open_generator
from sira.llm.cache import CachedGenerator, known_identity, open_cached
from sira.llm.prices import price_of
from sira.llm.settings import read_model
from sira.lucene.reader import Index
from sira.prompts import load_prompt
from sira.records import Qrels, Topic

REPLIES = "replies"
"""The cache in the folder of a run whose questions are private."""
Watch = Callable[[int, Qrels | None], AbstractContextManager[Watcher | None]]
"""Gives what looks on, of the number of questions and the judgments, where there are some."""


@dataclass(frozen=True, slots=True)
class ModelUse:
    """The model of a run, and how it is spoken to."""

    settings: ModelSettings
    calls: CallForm = "native"
    max_tokens: int | None = None
    on_overflow: Literal["stop", "drop"] = "stop"
    cached: bool = True


@dataclass(frozen=True, slots=True)
class Manner:
    """How the questions are worked on, without a say in what comes out."""

    options: RunOptions
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "concurrency": self.options.concurrency,
            "attempts": self.options.attempts,
            "retry": sorted(self.options.retry),
            "requests_per_minute": self.requests_per_minute,
            "tokens_per_minute": self.tokens_per_minute,
        }


def agent_model(spec: str, setup: Setup) -> ModelSettings:
    """The model of `--llm`. Raises InputError for one that holds no conversations with tools, and for a bound on the
    price where it is not known."""
    model = read_model(spec)
    if model.backend not in ("openai", "local"):
        raise InputError(f"{spec}: backend {model.backend!r} holds no conversations with tools: choose openai or local")
    if setup.limits.price is not None and price_of(model) is None:
        raise InputError(f"budget.price: the price of {model.model or spec!r} is not known: give it in [model.price]")
    return model


def job_of(inputs: Inputs, setup: Setup, model: ModelUse) -> AgentJob:
    prompt = load_prompt(inputs.file.prompt(setup.prompt), side="agent")
    return AgentJob(
        model.settings,
        prompt,
        setup.tools,
        setup.limits,
        setup.difficulty,
        model.max_tokens,
        model.calls,
        model.on_overflow,
        setup.show_budget,
        setup.tool_time_s,
        inputs.file.table.id,
        inputs.set_name,
    )


def open_source(inputs: Inputs, setup: Setup, index: Path | None) -> AbstractContextManager[Index | Backend]:
    """The server of the setup, or the index. Raises InputError, IndexFault."""
    if setup.server is not None:
        return nullcontext(server_of(setup.server).open())
    assert index is not None  # there is one or the other (Benchmark)
    corpus = inputs.file.table.corpus
    return Index(index, analyzer=None if corpus is None or corpus.index is None else corpus.analyzer)


def run_benchmark(
    inputs: Inputs,
    setup: Setup,
    model: ModelUse,
    source: Index | Backend,
    out: Path,
    *,
    questions: tuple[Topic, ...],
    explicit: Labels,
    manner: Manner,
    watch: Watch,
) -> tuple[RunReport, Labels]:
    """Work on the questions that the folder has no finished trajectory of, as `sira agent` does.

    `run.json` names judgments and answers with their hashes, for `sira judge` and `sira report`. Raises InputError
    where the folder is of another run, and as `run_questions`.
    """
    folder = RunFolder(out)
    labels = inputs.labels(explicit, folder.manifest(), out)
    job = job_of(inputs, setup, model)
    rates = Rates(manner.requests_per_minute, manner.tokens_per_minute)
    with ExitStack() as held:
        held.enter_context(owned(out))
        generator = open_cached(job.model, out / REPLIES if inputs.file.table.private else None)
        if not model.cached:
            sampling, known = job.model.sampling(), known_identity(job.model)
            generator = CachedGenerator(lambda: open_generator(job.model), known, sampling, None)
        held.enter_context(closing(generator))
        name, place = _named(source)
        equipment = Equipment(generator, source, name, rates)
        settings = {"variant": setup.variant} | job.settings_json(generator.identity, source_facts(job, source))
        manifest: dict[str, Any] = {"sira": __version__, "questions": questions_facts(questions), "index": name}
        manifest |= {"how": manner.to_json(), "settings": settings, "told": told(job, source)}
        # Begun before judgments are written, so that a folder of another run stays as it is.
        folder.begin(manifest | inputs.manifest(labels, setup, place, out))
        kept = inputs.kept(labels, out)
        if kept != labels:
            folder.begin(manifest | inputs.manifest(kept, setup, place, out))
        judged = inputs.judgments(kept)
        with watch(len(questions), next(iter(judged.values()), None)) as watcher:
            report = run_questions(questions, episodes(job, equipment, out), folder, manner.options, watcher)
    return report, kept


def _named(source: Index | Backend) -> tuple[str, str]:
    """The name for the record, and where it is."""
    if isinstance(source, Index):
        path = source.path.resolve()
        return path.name, str(path)
    return "server", str(source.facts.get("search_url", "server"))
