"""An experiment as TOML: collections x systems. Every key is checked; the results hold every setting with its value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Discriminator, Field, Tag, model_validator

from sira.config import located, located_source, read_toml
from sira.errors import InputError
from sira.evaluate.grids import GridConfig, with_grids
from sira.evaluate.metrics import DEFAULT_MEASURES, Measure
from sira.evaluate.system_config import (
    MAX_NAME,
    NAME,
    Gate,
    Strict,
    SystemConfig,
    located_llm,
    located_prompt,
    located_system,
)
from sira.llm.sketches import MAX_FACETS, MAX_SAMPLES, MAX_SEARCHES
from sira.lucene.analyzers import analyzer_name
from sira.systems.table import KINDS


class LiveSketches(Strict):
    """Sketches that a model is asked for: `llm` is `local` or a TOML file with a [model] table, `prompt` a name or a
    file (None: the one that fits); the rest as in `sira sketch`. Replies are kept in the results folder."""

    llm: str
    prompt: str | None = None
    samples: int = Field(1, ge=1, le=MAX_SAMPLES)
    roles: bool = False
    facets: int = Field(0, ge=0, le=MAX_FACETS)
    searches: int = Field(0, ge=0, le=MAX_SEARCHES)


SketchSource = Annotated[
    Annotated[str, Tag("file")] | Annotated[LiveSketches, Tag("table")],
    Discriminator(lambda value: "file" if isinstance(value, str) else "table"),
]
"""The file, or the table that says which model to ask; a fault is told of the one that was meant."""


class CollectionConfig(Strict):
    """Where documents, topics and judgments come from, and the recorded replies that belong to them.

    Paths are relative to the TOML file and may hold ${VARIABLES} of the environment. `topics` and `qrels` are files in
    place of the source's own, or for a source of documents alone. `development`: a grid may select on it, which is
    refused for a test split (sira.evaluate.tune_data).
    """

    name: str = Field(pattern=NAME, max_length=MAX_NAME)
    source: str
    split: str | None = None
    topics: str | None = None
    qrels: str | None = None
    analyzer: str = "english"
    duplicates: Literal["refuse", "keep-first"] = "refuse"
    facet_words: bool = False
    """The words of facets (categories) also go into contents."""
    expansions: str | None = None
    gate: Gate = Field(default_factory=lambda: Gate.model_validate({}))
    sketches: dict[str, SketchSource] = Field(default_factory=dict[str, SketchSource])
    """Files of sketches by name, or tables that say which model to ask."""
    ignore_self_hits: bool | None = None
    development: bool = False

    @model_validator(mode="after")
    def _names(self) -> CollectionConfig:
        try:
            analyzer_name(self.analyzer)
        except InputError as error:
            raise ValueError(str(error)) from None
        for name, sketches in self.sketches.items():
            if isinstance(sketches, LiveSketches) and not re.fullmatch(NAME, name):
                raise ValueError(f"sketches {name!r}: the name of sketches by a model is that of a file too")
        return self

    def sketch_files(self) -> dict[str, str]:
        """The sketches that lie in files, by name."""
        return {name: found for name, found in self.sketches.items() if isinstance(found, str)}


class MacroConfig(Strict):
    """A row over several collections: the unweighted mean of their means. Without `details` the collections have no
    tables and figures of their own in the reports."""

    name: str = Field(pattern=NAME, max_length=MAX_NAME)
    of: tuple[str, ...] = Field(min_length=1, strict=False)
    details: bool = True


class Experiment(Strict):
    """The whole file. `systems` has the rows of the grids too, each behind the row that it is based on."""

    name: str = Field(pattern=NAME)
    about: str = ""
    caveat: str = ""
    baseline: str
    depth: int = Field(1000, ge=1)
    measures: tuple[str, ...] = Field(DEFAULT_MEASURES, min_length=1, strict=False)
    ties: Literal["run", "trec"] = "run"
    collections: tuple[CollectionConfig, ...] = Field(min_length=1, strict=False)
    systems: tuple[SystemConfig, ...] = Field(min_length=1, strict=False)
    grid: tuple[GridConfig, ...] = Field((), strict=False)
    macros: tuple[MacroConfig, ...] = Field((), strict=False)

    @model_validator(mode="before")
    @classmethod
    def _grids(cls, data: Any) -> Any:
        return with_grids(cast("Mapping[str, Any]", data)) if isinstance(data, Mapping) else data

    @model_validator(mode="after")
    def _consistent(self) -> Experiment:
        for what, names in (
            ("collection", [item.name for item in (*self.collections, *self.macros)]),
            ("system", [item.name for item in self.systems]),
            ("grid with select of", [grid.system for grid in self.selecting]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{what} {twice[0]!r} stands twice: names must differ")
        if self.baseline not in {system.name for system in self.systems}:
            raise ValueError(f"baseline {self.baseline!r} is none of the systems")
        before: list[str] = []
        for system in self.systems:
            if system.kind not in KINDS:
                raise ValueError(f"system {system.name!r}: kind {system.kind!r} is not known: {', '.join(KINDS)}")
            try:
                system.check(before)
            except InputError as error:
                raise ValueError(f"system {system.name!r}: {error}") from None
            before.append(system.name)
            for collection in self.collections:
                if system.documents not in ("plain", "multifield") and collection.expansions is None:
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
                raise ValueError(
                    f"measure {measure} needs a depth of {cut}; depth is {self.depth}: raise it, or name "
                    "other `measures`"
                )
        self._check_selections()
        self._check_macros()
        return self

    def _check_selections(self) -> None:
        measures = [str(_checked(measure)) for measure in self.measures]
        for grid in self.selecting:
            where = f"grid of {grid.system!r}: select"
            if not any(item.development for item in self.collections):
                raise ValueError(f"{where} wants a collection with development = true: nothing is chosen on the others")
            if isinstance(grid.select, str) and str(_checked(grid.select)) not in measures:
                raise ValueError(f"{where} = {grid.select!r} is none of the measures: {', '.join(measures)}")

    def _check_macros(self) -> None:
        known = [item.name for item in self.collections]
        for macro in self.macros:
            if unknown := [name for name in macro.of if name not in known]:
                raise ValueError(f"macro {macro.name!r}: {unknown[0]!r} is no collection: {', '.join(known)}")
            if len(set(macro.of)) < len(macro.of):
                raise ValueError(f"macro {macro.name!r}: `of` names a collection twice: name each once")

    @property
    def selecting(self) -> tuple[GridConfig, ...]:
        """The grids of which one row is chosen."""
        return tuple(grid for grid in self.grid if grid.select is not False)

    @property
    def hidden(self) -> frozenset[str]:
        """The collections without tables and figures of their own."""
        return frozenset(name for macro in self.macros if not macro.details for name in macro.of)

    def measure_of(self, grid: GridConfig) -> str:
        """The measure by which a grid selects, as it is written in results."""
        return str(Measure.parse(grid.select if isinstance(grid.select, str) else self.measures[0]))

    def system(self, name: str) -> SystemConfig:
        """The row of this name, which is there."""
        return next(item for item in self.systems if item.name == name)

    def collection(self, name: str) -> CollectionConfig:
        """The collection of this name, which is there."""
        return next(item for item in self.collections if item.name == name)


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
    systems = tuple(item.model_copy(update=dict(located_system(item, folder))) for item in experiment.systems)
    return experiment.model_copy(update={"collections": collections, "systems": systems})


def _placed(sketches: str | LiveSketches, folder: Path) -> str | LiveSketches:
    if isinstance(sketches, str):
        return located(sketches, folder)
    prompt = None if sketches.prompt is None else located_prompt(sketches.prompt, folder)
    return sketches.model_copy(update={"llm": located_llm(sketches.llm, folder), "prompt": prompt})


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
