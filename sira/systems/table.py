"""The table of systems: a kind in the TOML, and what makes a system of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from sira.errors import InputError
from sira.llm.base import Generator, Usage
from sira.records import Run, Sketch
from sira.search.feedback import FeedbackSettings, Method
from sira.systems.agents.base import Agent, AgentSettings
from sira.systems.agents.table import AGENTS, conversation
from sira.systems.base import System
from sira.systems.bm25 import Bm25
from sira.systems.compiler import Compiler
from sira.systems.feedback import Feedback
from sira.systems.modes import SearchSettings
from sira.systems.recorded import Recorded
from sira.systems.sira import Sira, shuffled
from sira.systems.text_expansion import TEXT_METHODS, TextExpansion, TextMethod
from sira.systems.texts import Texts


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """What an experiment says of one system; `sketches` are those of the collection under the name it asks for, with
    the tokens that they took by qid where that is known, `run` is the one that a recorded or fused system answers with,
    `texts` are those that join the query, and `feedback` says how rm3 and rocchio read the first hits. `own`: whether
    the document whose docid is the qid counts among the first hits from which a system learns. `agent` are the bounds
    of an agent, `generator` the model that it talks with, and `exports` where it keeps documents as files, which it
    writes with a bar where `progress` says so."""

    compiler: Compiler = field(default_factory=Compiler)
    search: SearchSettings = field(default_factory=SearchSettings)
    sketches: Mapping[str, Sketch] | None = None
    shuffle_sketches: bool = False
    run: Run | None = None
    texts: Mapping[str, Texts] | None = None
    feedback: FeedbackSettings = field(default_factory=FeedbackSettings)
    sketch_usage: Mapping[str, Usage] = field(default_factory=dict[str, Usage])
    own: bool = True
    agent: AgentSettings | None = None
    generator: Generator | None = None
    exports: Path | None = None
    progress: bool = True


def _bm25(options: SystemOptions) -> System:
    if options.sketches is not None:
        raise InputError('kind = "bm25" takes no sketches: use kind = "sira"')
    return Bm25(options.compiler.settings.scoring)


def _feedback(method: Method, options: SystemOptions) -> System:
    return Feedback(options.compiler.settings.scoring, replace(options.feedback, method=method), options.own)


def _text(method: TextMethod, options: SystemOptions) -> System:
    if options.texts is None:
        raise InputError(f'kind = "{method.name}" needs texts: name a store under `replies`, or a model under `llm`')
    return TextExpansion(method, options.texts, options.compiler.settings.scoring)


def _sira(options: SystemOptions) -> System:
    if options.sketches is None:
        raise InputError('kind = "sira" needs sketches: name one of the collection\'s [collections.sketches]')
    sketches = shuffled(options.sketches) if options.shuffle_sketches else options.sketches
    return Sira(sketches, options.compiler, options.search, options.sketch_usage, options.own)


def _agent(kind: str, options: SystemOptions) -> System:
    if options.agent is None or options.generator is None:
        raise InputError(f'kind = "{kind}" needs a model: name one under `llm`')
    return Agent(conversation(kind, options.exports, progress=options.progress), options.agent, options.generator)


def _recorded(options: SystemOptions) -> System:
    if options.run is None:
        raise InputError("a recorded system needs its run")
    return Recorded(options.run)


KINDS: Mapping[str, Callable[[SystemOptions], System]] = {
    "bm25": _bm25,
    "rm3": partial(_feedback, "rm3"),
    "rocchio": partial(_feedback, "rocchio"),
    **{name: partial(_text, method) for name, method in TEXT_METHODS.items()},
    "sira": _sira,
    **{name: partial(_agent, name) for name in AGENTS},
    "run": _recorded,
    "fusion": _recorded,
}


def make_system(kind: str, options: SystemOptions) -> System:
    """Raises InputError for an unknown kind (listing the known ones) or for options that do not fit it."""
    if kind not in KINDS:
        raise InputError(f"system kind {kind!r} is not known: choose one of {', '.join(KINDS)}")
    return KINDS[kind](options)
