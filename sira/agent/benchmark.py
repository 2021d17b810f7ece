"""A benchmark as one TOML file: corpus, questions, labels, and how they are worked on; no code.

`sira.agent.benchmark_files` reads and finds the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sira.agent.budget import Difficulty, Limits
from sira.agent.settings import ToolSettings
from sira.agent.tables import BackendTable, ToolsTable
from sira.errors import InputError, NotFoundError

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
ALL = "all"
"""The set of questions of a benchmark that names none."""
NO = "none"
DEFAULT_PROMPT = "agent-pi-serini"
JudgeMode = Literal["gold", "reference-free"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class CorpusTable(_Table):
    """Either `source`, a collection that is indexed once, or `index`, a folder that is only read: sira's own, or one of
    Pyserini's or Anserini's. A source gives questions and judgments too, where no files are named."""

    source: str | None = None
    split: str | None = None
    index: str | None = None
    analyzer: str | None = None
    duplicates: Literal["refuse", "keep-first"] = "refuse"
    facet_words: bool = False


class QuerySet(_Table):
    """Some of the questions: listed `qids`, a `file` with one qid a line (what follows a tab or a blank is not read),
    the `first` so many; all of them without any of these."""

    about: str = ""
    qids: tuple[str, ...] | None = Field(None, min_length=1)
    file: str | None = None
    first: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _one(self) -> QuerySet:
        if sum(value is not None for value in (self.qids, self.file, self.first)) > 1:
            raise ValueError("give one of qids, file and first")
        return self


class QuestionsTable(_Table):
    """`file` is TSV or JSON Lines; without it the topics of the corpus's source are asked."""

    file: str | None = None
    default: str | None = None
    sets: dict[str, QuerySet] = Field(default_factory=dict[str, QuerySet])

    @model_validator(mode="after")
    def _known(self) -> QuestionsTable:
        if self.sets and self.default not in self.sets:
            raise ValueError(f"default: name one of the sets: {', '.join(self.sets)}")
        if self.default is not None and not self.sets:
            raise ValueError("default: there are no sets; leave it out")
        return self

    def named(self, name: str | None) -> tuple[str, QuerySet]:
        """A set and its name, the default without one. Raises NotFoundError, listing those that there are."""
        if not self.sets and name in (None, ALL):
            return ALL, QuerySet()  # pyright: ignore[reportCallIssue]
        name = name or str(self.default)
        if name not in self.sets:
            raise NotFoundError(f"there is no set {name!r} of questions: choose {', '.join(self.sets) or ALL}")
        return name, self.sets[name]


class LabelsTable(_Table):
    """Files of judgments (TREC or BEIR), the second set being such as gold documents, and of known answers."""

    qrels: str | None = None
    secondary_qrels: str | None = None
    answers: str | None = None


class MetricsTable(_Table):
    """`gain` is that of nDCG, `level` the least grade that counts for recall; MRR and MAP take a grade of 1."""

    gain: Literal["exponential", "linear"] = "exponential"
    level: int = Field(1, ge=1)
    measures: tuple[str, ...] = ("Recall@100", "Recall@1000", "nDCG@10", "MRR@10", "MAP")


class BudgetTable(_Table):
    """The bounds of one question (`sira.agent.budget.Limits`); "none" is no bound."""

    time_s: float | Literal["none"] = 300.0
    turns: int | None = None
    tokens: int | None = None
    price: float | None = None
    steer_ratio: float | Literal["none"] = 0.7
    steer_all: bool = True
    tool_time_s: float | Literal["none"] = 60.0
    show_budget: bool = False
    difficulty: bool = False

    def limits(self) -> Limits:
        """Raises InputError for a bound that is none."""
        return Limits(
            _bound(self.time_s), self.turns, self.tokens, self.price, _bound(self.steer_ratio), self.steer_all
        )


class ObfuscatedTable(_Table):
    """The published file (Parquet or JSON Lines, or a folder of such) of questions that must not stand in the clear,
    and the environment variable that the user puts its canary into; see `sira.agent.benchmark_canary`."""

    file: str
    canary_env: str


class Change(_Table):
    """What takes the place of the benchmark's own settings, key by key: a variant, or the command line."""

    tools: ToolsTable = Field(default_factory=ToolsTable)  # pyright: ignore[reportInvalidTypeForm]
    backend: BackendTable | None = None
    budget: BudgetTable = Field(default_factory=lambda: BudgetTable.model_validate({}))
    prompt: str | None = None


class Variant(Change):
    name: str = Field(pattern=f"^{NAME}$")
    about: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """How questions are worked on, all changes in place. `server` takes the place of an index."""

    tools: ToolSettings
    limits: Limits
    tool_time_s: float | None
    show_budget: bool
    difficulty: Difficulty | None
    prompt: str
    server: BackendTable | None
    variant: str | None


class Benchmark(_Table):
    """The whole file."""

    id: str = Field(pattern=f"^{NAME}$")
    name: str
    aliases: tuple[str, ...] = ()
    dataset: str | None = None
    """What the data is called where it is published."""
    about: str = ""
    caveat: str = ""
    corpus: CorpusTable | None = None
    backend: BackendTable | None = None
    questions: QuestionsTable = Field(default_factory=lambda: QuestionsTable.model_validate({}))
    labels: LabelsTable = Field(default_factory=lambda: LabelsTable.model_validate({}))
    metrics: MetricsTable = Field(default_factory=lambda: MetricsTable.model_validate({}))
    judge: tuple[JudgeMode, ...] = Field(("reference-free",), min_length=1)
    """Ways to judge answers; the first is taken where none is asked for."""
    tools: ToolsTable = Field(default_factory=ToolsTable)  # pyright: ignore[reportInvalidTypeForm]
    budget: BudgetTable = Field(default_factory=lambda: BudgetTable.model_validate({}))
    prompt: str = DEFAULT_PROMPT
    obfuscated: ObfuscatedTable | None = None
    private: bool = False
    """The questions must not stand in the clear: the model's replies are cached in the run's folder alone."""
    variants: tuple[Variant, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Benchmark:
        corpus = self.corpus
        if corpus is None and self.backend is None:
            raise ValueError("give [corpus] with a source or an index, or a [backend]")
        if corpus is not None and corpus.source is None and corpus.index is None and self.backend is None:
            raise ValueError("corpus: give a source or an index")
        if (corpus is None or corpus.source is None) and self.questions.file is None:
            raise ValueError("questions: name a file, or a corpus with a source that has topics")
        if "gold" in self.judge and self.labels.answers is None:
            raise ValueError('judge: "gold" compares with known answers: name their file under labels.answers')
        names = [variant.name for variant in self.variants]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"variants: {twice[0]!r} stands twice: names must differ")
        for variant in (None, *names):
            try:
                self.setup(variant)
            except InputError as error:
                raise ValueError(f"variant {variant!r}: {error}" if variant else str(error)) from None
        return self

    def variant(self, name: str) -> Variant:
        """Raises NotFoundError, listing those that there are."""
        found = next((variant for variant in self.variants if variant.name == name), None)
        if found is None:
            known = ", ".join(variant.name for variant in self.variants) or "none"
            raise NotFoundError(f"benchmark {self.id} has no variant {name!r}; it has: {known}")
        return found

    def setup(self, variant: str | None = None, change: Change | None = None) -> Setup:
        """The settings of a variant, changed once more. Raises InputError for what does not go together."""
        tables: list[Any] = [self]
        if variant is not None:
            tables.append(self.variant(variant))
        if change is not None:
            tables.append(change)
        tools = _merged(ToolsTable, [table.tools for table in tables])
        budget = _merged(BudgetTable, [table.budget for table in tables])
        servers = [table.backend for table in tables if table.backend is not None]
        prompts = [table.prompt for table in tables if table.prompt is not None]
        return Setup(
            tools.settings(),
            budget.limits(),
            _bound(budget.tool_time_s),
            budget.show_budget,
            Difficulty() if budget.difficulty else None,
            prompts[-1],
            servers[-1] if servers else None,
            variant,
        )


def _merged(model: type[Any], tables: Sequence[BaseModel]) -> Any:
    """One table with the keys that each one names, the last before the others. Raises InputError for what does not
    fit."""
    data: dict[str, Any] = {}
    for table in tables:
        data |= table.model_dump(exclude_unset=True)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{place + ': ' if place else ''}{first['msg']}") from None


def _bound(value: float | str) -> float | None:
    return None if isinstance(value, str) else value
