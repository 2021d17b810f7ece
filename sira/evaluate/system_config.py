"""One system of an experiment as TOML: what kind it is, what it searches with, and which keys that kind has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sira.compile import CompileSettings
from sira.compile.settings import Gate as QueryGate
from sira.compile.settings import Weights
from sira.config import located
from sira.errors import InputError
from sira.expand.gate import GateSettings
from sira.llm.sketches import MAX_SAMPLES
from sira.program import Scoring, scoring_of
from sira.search.feedback import FeedbackSettings
from sira.search.fusion import Method, Norm, fusion_options
from sira.search.routing import Thresholds
from sira.search.several import Budget
from sira.search.tables import BudgetTable, RelaxTable, RerankTable, RoutingTable
from sira.systems import Compiler, Mode, SearchSettings, compiler_of
from sira.systems.agents.base import RankingRule
from sira.systems.agents.table import AGENTS
from sira.systems.text_expansion import TEXT_METHODS

NAME = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
SYSTEM_NAME = r"^[A-Za-z0-9][A-Za-z0-9._+=-]*$"
"""With the sign that parts key and value in the name of a grid's row."""
MAX_NAME = 150
"""Letters of a name, which is that of files too."""


class Strict(BaseModel):
    """A table of the TOML: no unknown key, and no text or `true` where a number belongs. Fields that TOML writes
    otherwise than Python has them (lists for tuples) say `strict=False`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Gate(Strict):
    """The document-side gate; see sira.expand.gate.GateSettings."""

    max_df_ratio: float = GateSettings().max_df_ratio
    max_n: int = Field(GateSettings().max_n, ge=1)
    max_phrases: int = Field(GateSettings().max_phrases, ge=1)

    @model_validator(mode="after")
    def _in_range(self) -> Gate:
        try:
            self.settings()
        except InputError as error:
            raise ValueError(str(error)) from None
        return self

    def settings(self) -> GateSettings:
        return GateSettings(self.max_df_ratio, self.max_n, self.max_phrases)


class Feedback(Strict):
    """How `rm3` and `rocchio` read the first hits; see sira.search.feedback.FeedbackSettings."""

    documents: int = Field(FeedbackSettings().documents, ge=1)
    terms: int = Field(FeedbackSettings().terms, ge=1)
    query_weight: float = FeedbackSettings().query_weight
    alpha: float = FeedbackSettings().alpha
    beta: float = FeedbackSettings().beta

    def settings(self) -> FeedbackSettings:
        """Raises InputError for a value out of range."""
        return FeedbackSettings(
            documents=self.documents,
            terms=self.terms,
            query_weight=self.query_weight,
            alpha=self.alpha,
            beta=self.beta,
        )


_EVERY_KIND = frozenset({"name", "kind", "rerank"})
_OF_SCORING = frozenset({"documents", "gate", "profile", "k1", "b", "combine", "contents_weight", "expansion_weight"})
_OF_RUN = frozenset({"run"})
_OF_FUSION = frozenset({"of", "method", "norm", "params"})
_OF_TEXT = frozenset({"replies", "llm", "prompt", "samples"})
_OF_AGENT = frozenset({"llm", "prompt", "agent"})
_OF_FEEDBACK = frozenset({"feedback"})
_NOT_OF_FEEDBACK = {"rm3": frozenset({"alpha", "beta"}), "rocchio": frozenset({"query_weight"})}


class AgentTable(Strict):
    """The bounds of an agent where they are not those of its method; see sira.systems.agents.base.AgentMethod."""

    rounds: int | None = Field(None, ge=1)
    documents: int | None = Field(None, ge=1)
    characters: int | None = Field(None, ge=1)
    max_tokens: int | None = Field(None, ge=1)
    ranking: RankingRule | None = None
    timeout_s: float | None = Field(None, gt=0)


class SystemConfig(Strict):
    """One row of the table. `documents`: `plain`, `expanded`, the control `shuffled` (others' phrases), `doc2query`
    (phrases appended to the text, no gate), or `multifield` (title and text scored apart and summed).

    `replies` is a store of texts that join the query, in which {collection} stands for the name of the collection; in
    its place `llm` (`local`, or a TOML file with a [model] table) is asked for them, by `prompt` in place of the kind's
    own, `samples` times. An agent asks `llm` too, within the bounds of `agent`.

    `run` is the TREC run of a system of kind `run`; {collection} in it stands for the name of the collection. `of`
    names the systems that one of kind `fusion` fuses, which stand before it; `params` are those of the method. `relax`
    is off unless it is asked for, so that the rate of topics without a hit stays that of the programs.
    """

    name: str = Field(pattern=SYSTEM_NAME, max_length=MAX_NAME)
    kind: str
    mode: Mode = "compiled"
    routing: RoutingTable = Thresholds()
    budget: BudgetTable = Budget()
    relax: RelaxTable = None
    rerank: RerankTable | None = None
    run: str | None = None
    of: tuple[str, ...] = Field((), strict=False)
    method: Method = "rrf"
    norm: Norm | None = None
    params: dict[str, Any] = {}
    replies: str | None = None
    llm: str | None = None
    prompt: str | None = None
    samples: int | None = Field(None, ge=1, le=MAX_SAMPLES)
    agent: AgentTable = Field(default_factory=lambda: AgentTable.model_validate({}))
    feedback: Feedback = Field(default_factory=lambda: Feedback.model_validate({}))
    documents: Literal["plain", "expanded", "shuffled", "doc2query", "multifield"] = "plain"
    gate: Gate | None = None
    sketches: str | None = None
    shuffle_sketches: bool = False
    profile: Literal["anserini", "sira", "long"] = "anserini"
    k1: float | None = None
    b: float | None = None
    combine: Literal["bm25f", "sum"] = "bm25f"
    contents_weight: float = Scoring().contents_weight
    expansion_weight: float = Scoring().expansion_weight
    sketch_weight: float = CompileSettings().sketch_weight
    query_gate: QueryGate = CompileSettings().gate
    gate_power: float = CompileSettings().gate_power
    small_collection: int = CompileSettings().small_collection
    max_df_ratio: float = CompileSettings().max_df_ratio
    max_df: int | None = None
    min_df: int = 1
    weights: Weights = "uniform"
    ngrams: Literal["off", "atoms", "atoms+phrases"] = "off"
    max_n: int = CompileSettings().max_n
    max_terms: int | None = None
    max_phrases: int | None = None
    max_facets: int | None = None
    max_ranges: int | None = None
    policy: str | None = None
    drop_guesses: bool = False
    categories: str | None = None

    def compiler(self) -> Compiler:
        """Opens the policy and the category graph. Raises InputError for what cannot be used."""
        return compiler_of(self.settings(), self.policy, drop_guesses=self.drop_guesses, categories=self.categories)

    def search(self) -> SearchSettings:
        return SearchSettings(self.mode, self.routing, self.budget, self.relax)

    def check(self, before: Collection[str]) -> None:
        """Raises InputError for keys that the kind has no use for, or values that do not fit; `before` has the names of
        the systems that stand earlier in the file."""
        for key in sorted(self.model_fields_set):
            if not _of_kind(key, self.kind):
                raise InputError(f'`{key}` has no meaning for kind = "{self.kind}": leave it out')
        if self.mode != "auto" and "routing" in self.model_fields_set:
            raise InputError('`routing` belongs to mode = "auto"')
        if self.mode == "compiled" and "budget" in self.model_fields_set:
            raise InputError('`budget` belongs to mode = "several" or "auto"')
        if self.documents == "multifield" and "combine" in self.model_fields_set and self.combine != "sum":
            raise InputError('documents = "multifield" sums the scores of its fields: leave `combine` out')
        if self.gate is not None and self.documents not in ("expanded", "shuffled"):
            raise InputError('`gate` belongs to documents = "expanded" or "shuffled"')
        self.settings()
        self.search()
        self.feedback.settings()
        for key in sorted(self.feedback.model_fields_set & _NOT_OF_FEEDBACK.get(self.kind, frozenset())):
            raise InputError(f'`feedback.{key}` has no meaning for kind = "{self.kind}": leave it out')
        if self.kind in TEXT_METHODS:
            self._check_texts()
        if self.kind in AGENTS and self.llm is None:
            raise InputError(f'kind = "{self.kind}" needs `llm`, a model')
        if self.kind == "sira" and self.sketches is None:
            raise InputError('kind = "sira" needs `sketches`: name one of the collections\' [collections.sketches]')
        if self.kind == "run" and self.run is None:
            raise InputError('kind = "run" needs `run`, the TREC run')
        if self.kind == "fusion":
            for name in self.of:
                if name not in before:
                    raise InputError(f"`of` names {name!r}, which is no system that stands before this one")
            if len(set(self.of)) < len(self.of):
                raise InputError("`of` names a system twice: name each once")
            fusion_options(self.method, self.params, self.norm, len(self.of))

    def _check_texts(self) -> None:
        if (self.replies is None) == (self.llm is None):
            raise InputError(f'kind = "{self.kind}" needs either `replies`, a store of texts, or `llm`, a model')
        for key in ("prompt", "samples"):
            if getattr(self, key) is not None and self.llm is None:
                raise InputError(f"`{key}` belongs to `llm`: recorded texts are as they are")
        method = TEXT_METHODS[self.kind]
        if self.prompt is not None and len(method.prompts) > 1:
            raise InputError(
                f'kind = "{self.kind}" asks by {len(method.prompts)} prompts of its own: leave `prompt` out'
            )

    def settings(self) -> CompileSettings:
        return CompileSettings(
            sketch_weight=self.sketch_weight,
            gate=self.query_gate,
            gate_power=self.gate_power,
            small_collection=self.small_collection,
            max_df_ratio=self.max_df_ratio,
            max_df=self.max_df,
            min_df=self.min_df,
            weights=self.weights,
            ngrams=self.ngrams,
            max_n=self.max_n,
            max_terms=self.max_terms,
            max_phrases=self.max_phrases,
            max_facets=self.max_facets,
            max_ranges=self.max_ranges,
            scoring=scoring_of(
                self.profile,
                combine="sum" if self.documents == "multifield" else self.combine,
                k1=self.k1,
                b=self.b,
                contents_weight=self.contents_weight,
                expansion_weight=self.expansion_weight,
            ),
        )


def _of_kind(key: str, kind: str) -> bool:
    """Whether a key says something of a system of this kind."""
    match kind:
        case "run":
            return key in _EVERY_KIND | _OF_RUN
        case "fusion":
            return key in _EVERY_KIND | _OF_FUSION
        case "rm3" | "rocchio":
            return key in _EVERY_KIND | _OF_SCORING | _OF_FEEDBACK
        case "bm25":
            return key in _EVERY_KIND | _OF_SCORING
        case _:
            if kind in TEXT_METHODS:
                return key in _EVERY_KIND | _OF_SCORING | _OF_TEXT
            if kind in AGENTS:
                return key in _EVERY_KIND | _OF_SCORING | _OF_AGENT
            return key not in _OF_RUN | _OF_FUSION | _OF_TEXT | _OF_FEEDBACK | _OF_AGENT


def located_system(system: SystemConfig, folder: Path) -> Iterator[tuple[str, Any]]:
    """The keys that name files, as paths from the TOML's folder."""
    for key in ("run", "replies", "policy", "categories"):
        if (path := getattr(system, key)) is not None and (key, path) != ("policy", "default"):
            yield key, located(path, folder)
    if system.llm is not None:
        yield "llm", located_llm(system.llm, folder)
    if system.prompt is not None:
        yield "prompt", located_prompt(system.prompt, folder)
    if system.rerank is not None:
        yield "rerank", replace(system.rerank, llm=located_llm(system.rerank.llm, folder))


def located_llm(llm: str, folder: Path) -> str:
    """A model's file as a path from the TOML's folder; `local` names none."""
    return llm if llm == "local" else located(llm, folder)


def located_prompt(prompt: str, folder: Path) -> str:
    """A prompt's file as a path from the TOML's folder; a name stays one."""
    return located(prompt, folder) if prompt.endswith(".toml") or "/" in prompt else prompt
