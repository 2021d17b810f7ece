"""An experiment as TOML: collections x systems. Every key is checked; the results hold every setting with its value."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sira.compile import CompileSettings
from sira.compile.settings import Gate as QueryGate
from sira.compile.settings import Weights
from sira.config import located, located_source, read_toml
from sira.errors import InputError, SiraError
from sira.evaluate.metrics import DEFAULT_MEASURES, Measure
from sira.expand.gate import GateSettings
from sira.llm.sketches import MAX_SAMPLES
from sira.program import Scoring, scoring_of
from sira.systems import KINDS

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Gate(_Strict):
    """The document-side gate; see sira.expand.gate.GateSettings."""

    max_df_ratio: float = GateSettings().max_df_ratio
    max_n: int = Field(GateSettings().max_n, ge=1)
    max_phrases: int = Field(GateSettings().max_phrases, ge=1)

    def settings(self) -> GateSettings:
        return GateSettings(self.max_df_ratio, self.max_n, self.max_phrases)


class LiveSketches(_Strict):
    """Sketches that a model is asked for: `llm` is `local` or a TOML file with a [model] table, `prompt` a name or a
    file (None: the one that fits); the rest as in `sira sketch`. Replies are kept in the results folder."""

    llm: str
    prompt: str | None = None
    samples: int = Field(1, ge=1, le=MAX_SAMPLES)
    roles: bool = False


class CollectionConfig(_Strict):
    """Where documents, topics and judgments come from, and the recorded replies that belong to them.

    Paths are relative to the TOML file and may hold ${VARIABLES} of the environment. `topics` and `qrels` are files in
    place of the source's own, or for a source of documents alone. Nothing is chosen on any split here.
    """

    name: str = Field(pattern=_NAME)
    source: str
    split: str | None = None
    topics: str | None = None
    qrels: str | None = None
    analyzer: str = "english"
    duplicates: Literal["refuse", "keep-first"] = "refuse"
    expansions: str | None = None
    gate: Gate = Field(default_factory=lambda: Gate.model_validate({}))
    sketches: dict[str, str | LiveSketches] = {}
    """Files of sketches by name, or tables that say which model to ask."""
    ignore_self_hits: bool | None = None

    @model_validator(mode="after")
    def _names(self) -> CollectionConfig:
        for name, sketches in self.sketches.items():
            if isinstance(sketches, LiveSketches) and not re.fullmatch(_NAME, name):
                raise ValueError(f"sketches {name!r}: the name of sketches by a model is that of a file too")
        return self

    def sketch_files(self) -> dict[str, str]:
        """The sketches that lie in files, by name."""
        return {name: found for name, found in self.sketches.items() if isinstance(found, str)}


class SystemConfig(_Strict):
    """One row of the table. `documents`: `plain`, `expanded`, or the control `shuffled` (others' phrases)."""

    name: str = Field(pattern=_NAME)
    kind: str
    documents: Literal["plain", "expanded", "shuffled"] = "plain"
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
    max_df_ratio: float = CompileSettings().max_df_ratio
    max_df: int | None = None
    min_df: int = 1
    weights: Weights = "uniform"
    ngrams: Literal["off", "atoms", "atoms+phrases"] = "off"
    max_n: int = CompileSettings().max_n
    max_terms: int | None = None

    def settings(self) -> CompileSettings:
        return CompileSettings(
            sketch_weight=self.sketch_weight,
            gate=self.query_gate,
            gate_power=self.gate_power,
            max_df_ratio=self.max_df_ratio,
            max_df=self.max_df,
            min_df=self.min_df,
            weights=self.weights,
            ngrams=self.ngrams,
            max_n=self.max_n,
            max_terms=self.max_terms,
            scoring=scoring_of(
                self.profile,
                combine=self.combine,
                k1=self.k1,
                b=self.b,
                contents_weight=self.contents_weight,
                expansion_weight=self.expansion_weight,
            ),
        )


class Experiment(_Strict):
    """The whole file."""

    name: str = Field(pattern=_NAME)
    about: str = ""
    caveat: str = ""
    baseline: str
    depth: int = Field(1000, ge=1)
    measures: tuple[str, ...] = DEFAULT_MEASURES
    ties: Literal["run", "trec"] = "run"
    collections: tuple[CollectionConfig, ...] = Field(min_length=1)
    systems: tuple[SystemConfig, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Experiment:
        for what, names in (
            ("collection", [item.name for item in self.collections]),
            ("system", [item.name for item in self.systems]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{what} {twice[0]!r} stands twice: names must differ")
        if self.baseline not in {system.name for system in self.systems}:
            raise ValueError(f"baseline {self.baseline!r} is none of the systems")
        for system in self.systems:
            if system.kind not in KINDS:
                raise ValueError(f"system {system.name!r}: kind {system.kind!r} is not known: {', '.join(KINDS)}")
            for collection in self.collections:
                if system.documents != "plain" and collection.expansions is None:
                    raise ValueError(f"system {system.name!r}: collection {collection.name!r} names no expansions")
                if system.sketches is not None and system.sketches not in collection.sketches:
                    known = ", ".join(collection.sketches) or "none"
                    raise ValueError(
                        f"system {system.name!r}: collection {collection.name!r} has no sketches "
                        f"{system.sketches!r}; it has: {known}"
                    )
        for measure in self.measures:
            cut = _checked(measure).k
            if cut is not None and cut > self.depth:
                raise ValueError(f"measure {measure} needs a depth of {cut}; depth is {self.depth}")
        return self


def _checked(measure: str) -> Measure:
    try:
        return Measure.parse(measure)
    except InputError as error:
        raise ValueError(str(error)) from None


def read_experiment(
    path: str | Path,
    sources: dict[str, str] | None = None,
    stores: dict[str, str] | None = None,
    models: dict[str, str] | None = None,
) -> Experiment:
    """Read and check a TOML file. `sources` and `stores` replace source and expansions of collections by name, `models`
    has a model make the sketches of this name, for each collection that has some.

    Raises InputError naming the file, the key and the fault.
    """
    path = Path(path)
    experiment = read_toml(path, Experiment)
    try:
        for system in experiment.systems:
            system.settings()
    except SiraError as error:
        raise InputError(f"{path}: {error}") from None
    return _asking(_located(experiment, path.parent, sources or {}, stores or {}), models or {})


def _located(experiment: Experiment, folder: Path, sources: dict[str, str], stores: dict[str, str]) -> Experiment:
    for option, given in (("--collection", sources), ("--expansions", stores)):
        unknown = set(given) - {item.name for item in experiment.collections}
        if unknown:
            raise InputError(f"{option} {sorted(unknown)[0]!r}: the experiment has no collection of that name")

    def place(text: str | None) -> str | None:
        return None if text is None else located(text, folder)

    collections = tuple(
        item.model_copy(
            update={
                "source": sources.get(item.name) or located_source(item.source, folder),
                "expansions": stores.get(item.name) or place(item.expansions),
                "topics": place(item.topics),
                "qrels": place(item.qrels),
                "sketches": {name: _placed(found, folder) for name, found in item.sketches.items()},
            }
        )
        for item in experiment.collections
    )
    return experiment.model_copy(update={"collections": collections})


def _placed(sketches: str | LiveSketches, folder: Path) -> str | LiveSketches:
    if isinstance(sketches, str):
        return located(sketches, folder)
    llm, prompt = sketches.llm, sketches.prompt
    own = prompt is not None and (prompt.endswith(".toml") or "/" in prompt)
    return sketches.model_copy(
        update={
            "llm": llm if llm == "local" else located(llm, folder),
            "prompt": located(prompt, folder) if own and prompt is not None else prompt,
        }
    )


def _asking(experiment: Experiment, models: dict[str, str]) -> Experiment:
    """The same with a model in place of the sketches of these names; a table keeps what else it says."""
    known = {name for item in experiment.collections for name in item.sketches}
    if unknown := sorted(set(models) - known):
        raise InputError(f"--llm {unknown[0]!r}: the experiment has no sketches of that name")

    def asked(name: str, sketches: str | LiveSketches) -> str | LiveSketches:
        if name not in models:
            return sketches
        table = sketches if isinstance(sketches, LiveSketches) else LiveSketches(llm="local")  # pyright: ignore[reportCallIssue]
        return table.model_copy(update={"llm": models[name]})

    collections = tuple(
        item.model_copy(update={"sketches": {name: asked(name, found) for name, found in item.sketches.items()}})
        for item in experiment.collections
    )
    return experiment.model_copy(update={"collections": collections})
