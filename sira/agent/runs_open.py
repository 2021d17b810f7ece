"""A run opened for work: its model and its index, its folder held, its manifest, and then its questions."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sira import __version__
from sira.agent.backend import Backend
from sira.agent.budget import Limits
from sira.agent.budget_rates import Rates
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
from sira.records import Topic


@dataclass(frozen=True, slots=True)
class Manner:
    """How the questions are worked on, without a say in what comes out. `cached`: replies that were given before
    answer again."""

    options: RunOptions = field(default_factory=RunOptions)
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    cached: bool = True

    def __post_init__(self) -> None:
        self.rates()

    def rates(self) -> Rates:
        """Raises InputError for a bound below 1."""
        return Rates(self.requests_per_minute, self.tokens_per_minute)

    def to_json(self) -> dict[str, Any]:
        return {
            "concurrency": self.options.concurrency,
            "attempts": self.options.attempts,
            "retry": sorted(self.options.retry),
            "requests_per_minute": self.requests_per_minute,
            "tokens_per_minute": self.tokens_per_minute,
        }


def agent_model(spec: str, limits: Limits) -> ModelSettings:
    """The model of `--llm`. Raises InputError for one that holds no conversations with tools, and for a bound on the
    price where it is not known."""
    model = read_model(spec)
    if model.backend not in ("openai", "local"):
        served = "; serve the model, and give its address" if model.backend == "vllm" else ""
        raise InputError(
            f"{spec}: backend {model.backend!r} holds no conversations with tools: choose openai or local{served}"
        )
    if limits.price is not None and price_of(model) is None:
        raise InputError(f"budget: the price of {model.model or spec!r} is not known: give it in [model.price]")
    return model


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A job with its equipment and the folder that it holds."""

    job: AgentJob
    equipment: Equipment
    folder: RunFolder
    manner: Manner

    def begin(self, questions: Sequence[Topic], more: Mapping[str, Any], **settings: Any) -> None:
        """Write the manifest, `more` in it, and the `settings` that are not the job's. Raises InputError where the
        folder is of another run."""
        job, source = self.job, self.equipment.source
        self.folder.begin(
            {
                "sira": __version__,
                "questions": questions_facts(questions),
                "index": self.equipment.name,
                "how": self.manner.to_json(),
                "settings": settings | job.settings_json(self.equipment.generator.identity, source_facts(job, source)),
                "told": told(job, source),
                **more,
            }
        )

    def work(self, questions: Sequence[Topic], watcher: Watcher | None = None) -> RunReport:
        """Work on those that the folder has no finished trajectory of. Raises as `run_questions`."""
        work = episodes(self.job, self.equipment, self.folder.path)
        return run_questions(questions, work, self.folder, self.manner.options, watcher)


@contextmanager
def open_run(
    job: AgentJob, source: Index | Backend, out: Path, manner: Manner, *, replies: Path | None = None
) -> Generator[OpenRun]:
    """Hold the folder and open the model. `replies` is the folder of its cache (None: everybody's).

    Raises InputError where somebody else works in the folder, and what the model raises.
    """
    with owned(out), closing(_generator(job.model, manner, replies)) as generator:
        yield OpenRun(job, Equipment(generator, source, source_name(source), manner.rates()), RunFolder(out), manner)


def source_name(source: Index | Backend) -> str:
    """For the record."""
    return source.path.resolve().name if isinstance(source, Index) else "server"


def _generator(model: ModelSettings, manner: Manner, replies: Path | None) -> CachedGenerator:
    if manner.cached:
        return open_cached(model, replies)
    return CachedGenerator(lambda: open_generator(model), known_identity(model), model.sampling(), None)
