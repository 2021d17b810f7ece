"""A benchmark's questions through the episodes of agent mode, with a manifest that tells where its labels are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sira.agent.backend import Backend
from sira.agent.benchmark import Setup
from sira.agent.benchmark_files import server_of
from sira.agent.benchmark_inputs import Inputs, Labels
from sira.agent.prompting import CallForm
from sira.agent.run_folder import RunFolder
from sira.agent.runs import RunReport, Watcher
from sira.agent.runs_job import AgentJob
from sira.agent.runs_open import Manner, open_run
from sira.llm import ModelSettings
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
) -> RunReport:
    """Work on the questions that the folder has no finished trajectory of, as `sira agent` does.

    `run.json` names judgments and answers with their hashes, for `sira judge` and `sira report`. Raises InputError
    where the folder is of another run, and as `run_questions`.
    """
    labels = inputs.labels(explicit, RunFolder(out).manifest(), out)
    own = out / REPLIES if inputs.file.table.private else None
    with open_run(job_of(inputs, setup, model), source, out, manner, replies=own) as run:
        place = str(source.path.resolve()) if isinstance(source, Index) else str(source.facts.get("search_url", ""))
        # Begun before judgments are written, so that a folder of another run stays as it is.
        run.begin(questions, inputs.manifest(labels, setup, place, out), variant=setup.variant)
        kept = inputs.kept(labels, out)
        if kept != labels:
            run.begin(questions, inputs.manifest(kept, setup, place, out), variant=setup.variant)
        judged = inputs.judgments(kept)
        with watch(len(questions), next(iter(judged.values()), None)) as watcher:
            return run.work(questions, watcher)
