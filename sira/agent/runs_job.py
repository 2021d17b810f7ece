"""All that decides a run: model, prompt, tools, budget; the manifest that tells of it, and its episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sira import __version__
from sira.agent.backend import Backend
from sira.agent.budget import Difficulty, Limits
from sira.agent.budget_rates import Rates
from sira.agent.controller import Controller
from sira.agent.loop import run_episode
from sira.agent.loop_settings import BLOCKED_TURNS, EpisodeSettings, Sink
from sira.agent.prompting import BLOCKED, STEER, CallForm, opening, texts_digest
from sira.agent.runs import Episode
from sira.agent.settings import PI_SERINI, SIRA, ToolSettings
from sira.agent.trajectory import Trajectory
from sira.errors import InputError
from sira.llm import Generator, ModelSettings
from sira.llm.prices import price_of
from sira.lucene.reader import Index
from sira.prompts import Prompt
from sira.records import Topic
from sira.search.routing import predictors

DEFAULT_MAX_TOKENS = 8192
CONTEXT_SHARE = 4
"""One reply takes at most this part of the model's context, where that is known."""


@dataclass(frozen=True, slots=True)
class AgentJob:
    """The settings of a run, all of which must stay the same while it goes on. `max_tokens` of one reply: None is the
    model's own setting, else 8192, and in either case no more than a quarter of its context."""

    model: ModelSettings
    prompt: Prompt
    tools: ToolSettings = SIRA
    limits: Limits = field(default_factory=Limits)
    difficulty: Difficulty | None = None
    max_tokens: int | None = None
    calls: CallForm = "native"
    on_overflow: Literal["stop", "drop"] = "stop"
    show_budget: bool = False
    tool_timeout_s: float | None = 60.0
    benchmark_id: str | None = None
    query_set_id: str | None = None

    @property
    def blocked_turns(self) -> int | None:
        """Pi-Serini's tools let a model call on until its time is up."""
        return None if self.tools.profile == PI_SERINI.profile else BLOCKED_TURNS

    def settings_json(self, identity: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
        """What a run refuses to go on with when it changes. `facts` are those of the backend."""
        return {
            "model": dict(identity),
            "sampling": self.model.sampling(),
            "prompt": self.prompt.label,
            "prompt_sha256": self.prompt.digest,
            "texts_sha256": texts_digest(),
            "max_tokens": self.max_tokens or self.model.max_tokens or DEFAULT_MAX_TOKENS,
            "calls": self.calls,
            "on_overflow": self.on_overflow,
            "show_budget": self.show_budget,
            "tool_timeout_s": self.tool_timeout_s,
            "blocked_turns": self.blocked_turns,
            "budget": self.limits.to_json(),
            "difficulty": None if self.difficulty is None else asdict(self.difficulty),
            "tools": dict(self.tools.to_json()),
            "backend": dict(facts),
            "benchmark_id": self.benchmark_id,
            "query_set_id": self.query_set_id,
        }


@dataclass(frozen=True, slots=True)
class Equipment:
    """What a job works with: the model as opened, an index or another backend, and its name for the record."""

    generator: Generator
    source: Index | Backend
    name: str
    rates: Rates = field(default_factory=Rates)


def source_facts(job: AgentJob, source: Index | Backend) -> Mapping[str, Any]:
    """What the record tells of the index or the server, with BM25 as it searches."""
    with Controller(source, job.tools) as controller:
        return dict(controller.facts["backend"])


def told(job: AgentJob, source: Index | Backend) -> dict[str, Any]:
    """What the model is told beside the question and the results, word for word, for the manifest of a run."""
    with Controller(source, job.tools) as controller:
        tools = controller.tools
    turns = opening(job.prompt, "", tools, job.calls)
    return {
        "system": turns[0].content if turns[0].role == "system" else "",
        "tools": [asdict(tool) for tool in tools],
        "steer": STEER,
        "blocked": BLOCKED,
    }


def provenance(job: AgentJob, equipment: Equipment) -> dict[str, Any]:
    """What each trajectory tells of how it was made; its budget is added by the episode."""
    facts = source_facts(job, equipment.source)
    index = {
        "name": equipment.name,
        "fingerprint": facts.get("contents_fingerprint"),
        "documents": facts.get("documents"),
        "analyzer": facts.get("analyzer"),
    }
    return {
        "sira": __version__,
        "model": dict(equipment.generator.identity),
        "sampling": job.model.sampling(),
        "prompt": job.prompt.label,
        "prompt_sha256": job.prompt.digest,
        "texts_sha256": texts_digest(),
        "index": index,
        "backend": facts.get("backend"),
        "scoring": facts.get("scoring"),
        "tools": dict(job.tools.to_json()),
    }


def episodes(job: AgentJob, equipment: Equipment, output_dir: Path | None = None) -> Episode:
    """What works on a question of this job. Raises InputError where difficulty is asked for and there is no index."""
    statistics = equipment.source if isinstance(equipment.source, Index) else equipment.source.index
    if job.difficulty is not None and statistics is None:
        raise InputError("difficulty: it is predicted from an index, and there is none: leave it out")
    model_name = str(equipment.generator.identity.get("model", ""))
    base = EpisodeSettings(
        job.prompt,
        job.limits,
        seed=job.model.seed,
        calls=job.calls,
        on_overflow=job.on_overflow,
        show_budget=job.show_budget,
        tool_timeout_s=job.tool_timeout_s,
        blocked_turns=job.blocked_turns,
        price=price_of(job.model),
        metadata={
            "benchmark_id": job.benchmark_id,
            "query_set_id": job.query_set_id,
            "model": model_name,
            "output_dir": None if output_dir is None else str(output_dir),
            "prompt_variant": job.prompt.label,
        },
        provenance=provenance(job, equipment),
    )

    def settings(question: Topic, seed_step: int) -> EpisodeSettings:
        limits = job.limits
        if job.difficulty is not None and statistics is not None:
            limits = job.difficulty.scaled(limits, predictors(question, statistics))
        return replace(
            base, limits=limits, seed=job.model.seed + seed_step, max_tokens=reply_tokens(job, equipment.generator)
        )

    def episode(question: Topic, seed_step: int, sink: Sink, cancelled: Callable[[], bool]) -> Trajectory:
        with Controller(equipment.source, job.tools) as tools:
            return run_episode(
                question,
                tools,
                equipment.generator,
                settings(question, seed_step),
                sink=sink,
                cancelled=cancelled,
                rates=equipment.rates,
            )

    return episode


def reply_tokens(job: AgentJob, generator: Generator) -> int:
    """The bound of one reply. Opens the model, to learn its context."""
    wanted = job.max_tokens or job.model.max_tokens or DEFAULT_MAX_TOKENS
    context = generator.context_tokens
    return wanted if context is None else max(1, min(wanted, context // CONTEXT_SHARE))
