"""A tuning on disk: the index, the values of each point as they are found, and what was chosen.

`points.jsonl` has a line for each point, with its value for every topic; a killed tuning goes on behind the last whole
line. `inputs.json` says what they were found with: a folder of other inputs is refused.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

from tqdm import tqdm

from sira.corpora.files import replacing
from sira.errors import InputError
from sira.evaluate.config import CollectionConfig, Experiment
from sira.evaluate.facts import facts_of
from sira.evaluate.fingerprint import digest
from sira.evaluate.indexes import IndexStore, Variant
from sira.evaluate.inputs import Inputs, open_inputs
from sira.evaluate.metrics import Measure, evaluate
from sira.evaluate.system_config import SystemConfig
from sira.evaluate.tune import TuneSettings, tune
from sira.evaluate.tune_data import check_development
from sira.evaluate.tune_report import TuneResult, write_tuning
from sira.evaluate.tune_space import Parameter, Point, Space
from sira.folders import owned
from sira.lucene.reader import Index
from sira.records import Ranking, Run
from sira.systems import Compiler, answer_topics
from sira.systems.table import SystemOptions, make_system

log = logging.getLogger("sira.evaluate")

Named = TypeVar("Named", CollectionConfig, SystemConfig)

KINDS = ("bm25", "sira", "rm3", "rocchio")
"""The kinds of systems whose parameters can be tuned: they search an index, and ask no model."""


@dataclass(frozen=True, slots=True)
class TuneRequest:
    """What to tune; `collection` and `system` by their names in the experiment, `measure` None for its first one."""

    collection: str
    system: str
    parameters: tuple[Parameter, ...]
    measure: str | None = None
    development: bool = False
    threads: int = 1


def run_tuning(
    experiment: Experiment, request: TuneRequest, settings: TuneSettings, out: Path, *, progress: bool = True
) -> TuneResult:
    """Tune a system of an experiment on one of its collections; the default is what the experiment says of it.

    Raises InputError for a test split (sira.evaluate.tune_data), a system or parameter that cannot be tuned, a folder
    of another tuning or one at work; IndexFault and EnvironmentFault as indexing and searching do. Points that were
    found stay.
    """
    config = _named(experiment.collections, request.collection, "collection")
    system = _named(experiment.systems, request.system, "system")
    measure = str(Measure.parse(request.measure or experiment.measures[0]))
    space = _space(system, request.parameters)
    inputs = open_inputs(config)
    split = check_development(inputs, declared=request.development)
    if system.sketches is not None and system.sketches not in inputs.sketches:
        raise InputError(
            f"system {system.name!r}: its sketches {system.sketches!r} are asked of a model: write them to a file by "
            "`sira sketch` first, and name it in the collection's [collections.sketches]"
        )
    compiler, variant = system.compiler(), Variant(system.documents, system.gate or config.gate)
    store = IndexStore(out / "indexes", config, inputs.collection, progress=progress)
    facts = _facts(experiment, inputs, system, space=space, measure=measure, index=store.path(variant).name)
    with owned(out), (out / "points.jsonl").open("a+", encoding="utf-8", newline="\n") as file:
        _check_inputs(out / "inputs.json", facts)
        log.info("a coarse grid of %d points, then finer ones around the best", space.size())
        with Index(store.get(variant)) as index:
            work = _Work(experiment, inputs, system, compiler, space, index, measure, request.threads)
            with tqdm(desc=f"tuning {system.name}", unit=" points", disable=not progress, leave=False) as bar:
                found = _Found(work, file, bar)
                tuned = tune(space, found, settings, measure=measure)
        result = TuneResult(tuned, config.name, system.name, split, measure, len(found.values))
        write_tuning(result, settings, out)
    return result


@dataclass(frozen=True, slots=True)
class _Work:
    """The search of one point."""

    experiment: Experiment
    inputs: Inputs
    system: SystemConfig
    compiler: Compiler
    space: Space
    index: Index
    measure: str
    threads: int

    def __call__(self, point: Point) -> dict[str, float]:
        inputs, system = self.inputs, self.system
        changed = system.model_copy(update=self.space.changes(point))
        options = SystemOptions(
            replace(self.compiler, settings=changed.settings()),
            system.search(),
            None if system.sketches is None else inputs.sketches[system.sketches],
            system.shuffle_sketches,
            feedback=system.feedback.settings(),
            own=not inputs.ignore_self_hits,
        )
        depth = Measure.parse(self.measure).k or self.experiment.depth
        answers = answer_topics(
            make_system(system.kind, options), inputs.topics, self.index, depth + inputs.ignore_self_hits, self.threads
        )
        rankings: dict[str, Ranking] = {}
        for answer in answers:
            found = answer.ranking.without(answer.qid) if inputs.ignore_self_hits else answer.ranking
            rankings[answer.qid] = found.top(depth)
        evaluation = evaluate(
            inputs.qrels,
            Run(system.name, rankings),
            [self.measure],
            ties=self.experiment.ties,
        )
        return dict(evaluation.per_topic[self.measure])


class _Found:
    """The values of points: those of the file, and new ones, which are written to it at once."""

    def __init__(self, work: _Work, file: TextIO, bar: tqdm[Any]) -> None:
        self._work, self._file, self._bar = work, file, bar
        self.values = _read_points(file)
        bar.update(len(self.values))

    def __call__(self, point: Point) -> Mapping[str, float]:
        if point not in self.values:
            self.values[point] = self._work(point)
            self._file.write(json.dumps({"point": point, "values": self.values[point]}) + "\n")
            self._file.flush()
            self._bar.update()
        return self.values[point]


def _read_points(file: TextIO) -> dict[Point, dict[str, float]]:
    """The points of whole lines; a torn last line, of a tuning that was killed, is cut off."""
    file.seek(0)
    text = file.read()
    whole = text[: text.rfind("\n") + 1]
    if len(whole) < len(text):
        file.truncate(len(whole.encode()))
    file.seek(0, 2)
    try:
        rows = [json.loads(line) for line in whole.splitlines()]
        return {tuple(row["point"]): row["values"] for row in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file.name}: damaged ({error}): remove it, and its points are searched again") from None


def _named(items: tuple[Named, ...], name: str, what: str) -> Named:
    found = next((item for item in items if item.name == name), None)
    if found is None:
        raise InputError(f"{what} {name!r}: the experiment has {', '.join(item.name for item in items)}")
    return found


def _space(system: SystemConfig, parameters: tuple[Parameter, ...]) -> Space:
    """Raises InputError for a parameter that has no influence on this system, or a value out of its range."""
    where = f"system {system.name!r}"
    if system.kind not in KINDS:
        raise InputError(f"{where}: kind {system.kind!r} cannot be tuned; those that can are {', '.join(KINDS)}")
    if system.rerank is not None:
        raise InputError(f"{where}: a model reranks it: tune the system without `rerank`")
    settings = system.settings()
    scoring = settings.scoring
    known = {
        "k1": scoring.k1,
        "b": scoring.b,
        "lambda": settings.sketch_weight,
        "tau": settings.max_df_ratio,
        "w_e": scoring.expansion_weight,
    }
    for name in [item.name for item in parameters]:
        if name in ("lambda", "tau") and system.kind != "sira":
            raise InputError(f"{where}: {name} has no influence on kind = {system.kind!r}, which takes no sketches")
        if name == "tau" and (settings.max_df is not None or settings.gate == "off"):
            raise InputError(f"{where}: tau has no influence beside `max_df` or query_gate = 'off': leave these out")
        if name == "w_e" and system.documents not in ("expanded", "shuffled", "multifield"):
            raise InputError(
                f"{where}: w_e has no influence on documents = {system.documents!r}, without a second field"
            )
    space = Space(parameters, tuple(known[item.name] for item in parameters))
    for item in parameters:
        for value in item.values:
            system.model_copy(update={item.key: value}).settings()
    return space


def _facts(
    experiment: Experiment, inputs: Inputs, system: SystemConfig, *, space: Space, measure: str, index: str
) -> dict[str, Any]:
    """What decides the values, by name. The coarse grid is not among them: points of another one are as good."""
    return {name: digest(value) for name, value in facts_of(experiment, inputs, system).items()} | {
        "collection": inputs.config.name,
        "parameters": [item.name for item in space.parameters],
        "measure": measure,
        "ties": experiment.ties,
        "index": index,
        "judgments": digest(inputs.qrels),
    }


def _check_inputs(path: Path, facts: Mapping[str, Any]) -> None:
    if path.exists():
        try:
            known = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise InputError(f"{path}: damaged ({error}): remove it and points.jsonl beside it") from None
        if changed := sorted(name for name in {*facts, *known} if known.get(name) != facts.get(name)):
            raise InputError(
                f"{path.parent}: holds a tuning with other inputs ({', '.join(changed)} differ): choose another --out, "
                "or remove this folder"
            )
        return
    with replacing(path) as stream:
        json.dump(facts, stream, indent=1)
