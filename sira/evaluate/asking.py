"""What an experiment asks models for: sketches and texts, each set in a file of the results folder, and scores.

The replies lie in the folder too, so that a killed run does not ask twice, and the folder holds all its figures are of.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from sira.compile.sketch_job import SketchJob, SketchReport, write_sketches
from sira.compile.sketches import read_sketches
from sira.corpora.files import replacing
from sira.corpora.rows import json_rows
from sira.errors import EnvironmentFault, InputError, SiraError
from sira.evaluate.config import CollectionConfig, LiveSketches
from sira.evaluate.inputs import Inputs
from sira.evaluate.system_config import SystemConfig
from sira.llm import ModelSettings, Usage
from sira.llm.address import public_address
from sira.llm.cache import CachedGenerator, known_identity, open_cached
from sira.llm.prices import cost, price_of
from sira.llm.settings import read_model
from sira.llm.sketches import SketchForm
from sira.lucene.reader import Index
from sira.program import Scoring
from sira.prompts import load_prompt
from sira.records import Sketch
from sira.search.rerank_prompt import rerank_digest
from sira.search.tables import ModelRerank
from sira.systems.text_expansion import TEXT_METHODS, TextMethod, first_documents
from sira.systems.texts import TextRequest, Texts, ask_texts

_log = logging.getLogger(__name__)


def with_live_sketches(inputs: Inputs, used: Collection[str], out: Path, *, progress: bool = True) -> Inputs:
    """The same inputs with the sketches by a model under those names that some system uses.

    They come from OUT/sketches/COLLECTION.NAME.jsonl as far as they are there; what was asked and spent stands beside
    it in a .json file. In the inputs' configuration a table has given way to the path of its file. Raises
    EnvironmentFault where no topic got a reply, else as `write_sketches`.
    """
    files: dict[str, str | LiveSketches] = {}
    sketches: dict[str, dict[str, Sketch]] = {}
    for name, asked in inputs.config.sketches.items():
        if isinstance(asked, str):
            files[name] = asked
        elif name in used:
            path = sketch_path(inputs.config.name, name, out)
            _write(inputs, job_of(asked), path, out / "replies", progress=progress)
            files[name], sketches[name] = str(path), read_sketches(path)
    config: CollectionConfig = inputs.config.model_copy(update={"sketches": files})
    return replace(inputs, config=config, sketches={**inputs.sketches, **sketches})


def with_kept_sketches(inputs: Inputs, used: Collection[str], out: Path) -> Inputs:
    """As `with_live_sketches`, but nobody is asked: sketches that are not in the folder, or were made otherwise than
    the configuration says, are left out."""
    files: dict[str, str | LiveSketches] = {}
    sketches: dict[str, dict[str, Sketch]] = {}
    for name, asked in inputs.config.sketches.items():
        if isinstance(asked, str):
            files[name] = asked
        elif name in used and _is_current(path := sketch_path(inputs.config.name, name, out), asked):
            files[name], sketches[name] = str(path), read_sketches(path)
    config: CollectionConfig = inputs.config.model_copy(update={"sketches": files})
    return replace(inputs, config=config, sketches={**inputs.sketches, **sketches})


def sketch_path(collection: str, name: str, out: Path) -> Path:
    """Where the results folder has the sketches by a model."""
    return out / "sketches" / f"{collection}.{name}.jsonl"


def _is_current(path: Path, asked: LiveSketches) -> bool:
    """Whether all rows of a file were made as the configuration says."""
    if not path.is_file():
        return False
    try:
        job = job_of(asked)
        wanted = json.loads(json.dumps(job.provenance(identity_of(job.settings)), default=str))
        unknown = job.settings.backend != "recorded" and known_identity(job.settings) is None
        left_out = {"fingerprint", "model"} if unknown else {"fingerprint"}
        return all(_told(row, left_out) == _told({"provenance": wanted}, left_out) for _, row in json_rows(path))
    except SiraError:  # a local model, or a file, that is not here
        return False


def _told(row: Mapping[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    """The provenance of a row without these keys."""
    told: Any = row.get("provenance")
    if not isinstance(told, dict):
        return {}
    return {name: value for name, value in cast("dict[str, Any]", told).items() if name not in left_out}


def check_live_sketches(inputs: Inputs, used: Collection[str]) -> None:
    """Raises InputError for a model's file or a prompt that cannot be used, before anything is written."""
    for name, asked in inputs.config.sketches.items():
        if name in used and not isinstance(asked, str):
            job_of(asked)


def job_of(asked: LiveSketches) -> SketchJob:
    """Raises InputError for a model's file or a prompt that cannot be used."""
    form = SketchForm(roles=asked.roles, facets=asked.facets, searches=asked.searches)
    return SketchJob.of(read_model(asked.llm), asked.prompt, form, asked.samples)


def open_reranker(rerank: ModelRerank, out: Path) -> CachedGenerator:
    """The model that scores documents, its replies kept in the results folder like those of the sketches."""
    return open_cached(read_model(rerank.llm), out / "replies")


def reranker_facts(rerank: ModelRerank) -> dict[str, object]:
    """What decides the scores beside the documents; where the model's file lies does not.

    Raises InputError for a model's file that cannot be used, EnvironmentFault for a local model that is not there.
    """
    model = read_model(rerank.llm)
    return {
        "settings": {name: value for name, value in asdict(rerank).items() if name != "llm"},
        "model": identity_of(model),
        "sampling": model.sampling(),
        "prompt": rerank_digest(),
    }


def identity_of(model: ModelSettings) -> dict[str, object]:
    """What answers: the model as far as it is known before it is opened, or the recorded replies by what they hold."""
    if model.backend == "recorded":
        with closing(open_cached(model)) as generator:
            return dict(generator.identity)
    return known_identity(model) or {"backend": model.backend, "address": public_address(model.base_url or "")}


@dataclass(frozen=True, slots=True)
class TextJob:
    """The texts of one system, asked of a model."""

    name: str
    method: TextMethod
    model: ModelSettings
    request: TextRequest

    @classmethod
    def of(cls, system: SystemConfig) -> TextJob:
        """Raises InputError for a model's file or a prompt that cannot be used, or samples that could not differ."""
        method, where = TEXT_METHODS[system.kind], f"system {system.name!r}"
        samples = system.samples or method.samples
        try:
            model = read_model(system.llm or "local")
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        if samples > 1 and model.temperature == 0:
            raise InputError(
                f"{where}: samples = {samples} at temperature 0 would be all alike: give the model a temperature, or "
                "samples = 1"
            )
        names = method.prompts if system.prompt is None else (system.prompt,)
        if len(names) * samples > 1 and model.backend == "recorded":
            raise InputError(
                f"{where}: it asks {len(names) * samples} times a topic, and recorded replies are one a topic: "
                "give texts under `replies`"
            )
        try:
            prompts = tuple(load_prompt(name, side="text") for name in names)
            request = TextRequest(prompts, samples, method.chained, model.max_tokens or method.max_tokens, model.seed)
        except SiraError as error:
            raise InputError(f"{where}: {error}") from None
        return cls(system.name, method, model, request)

    def unanswered(self, texts: Mapping[str, Texts]) -> int:
        """Calls that asking again may mend; recorded replies stay as they are."""
        return 0 if self.model.backend == "recorded" else sum(found.errors for found in texts.values())

    def facts(self) -> dict[str, object]:
        """What decides the texts beside the topics and the first search. Raises as `reranker_facts`."""
        return {
            "model": identity_of(self.model),
            "sampling": self.model.sampling(),
            "prompts": [prompt.digest for prompt in self.request.prompts],
            "samples": self.request.samples,
            "max_tokens": self.request.max_tokens,
            "documents": [self.method.documents, self.method.characters],
        }

    def write(self, inputs: Inputs, index: Index, scoring: Scoring, out: Path) -> dict[str, Texts]:
        """Ask for the texts of all topics, into OUT/texts/COLLECTION.SYSTEM.jsonl with what they took beside it.

        Replies come from OUT/replies as far as they are there. Raises EnvironmentFault where no topic got a text.
        """
        path = out / "texts" / f"{inputs.config.name}.{self.name}.jsonl"
        documents = first_documents(self.method, index, scoring, own=not inputs.ignore_self_hits)
        with closing(open_cached(self.model, out / "replies")) as generator:
            texts = ask_texts(inputs.topics, self.request, generator, documents)
        lost = sum(not found.texts for found in texts.values())
        if lost == len(texts):
            raise EnvironmentFault(f"{path}: no topic got a text: look at the model")
        if lost:
            _log.warning("%s: %d of %d topics have no text", path.name, lost, len(texts))
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as stream:
            stream.writelines(json.dumps(found.to_json(), ensure_ascii=False) + "\n" for found in texts.values())
        usage, price = sum((found.usage for found in texts.values()), Usage()), price_of(self.model)
        with replacing(path.with_suffix(".json")) as stream:
            spent = {
                "topics": len(texts),
                "without_text": lost,
                "calls": sum(found.calls or 0 for found in texts.values()),
                "failed": sum(found.failed for found in texts.values()),
                "errors": sum(found.errors for found in texts.values()),
                "usage": asdict(usage),
                "price": None if price is None else cost(usage, 0.0, price),
                "currency": None if price is None else price.currency,
                **self.facts(),
                "prompts": {prompt.label: prompt.digest for prompt in self.request.prompts},
            }
            json.dump(spent, stream, indent=1)
            stream.write("\n")
        return texts


def _write(inputs: Inputs, job: SketchJob, path: Path, replies: Path, *, progress: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    report = write_sketches(inputs.topics, job, path, replies=replies, progress=progress)
    if report.unfinished == report.topics:
        raise EnvironmentFault(f"{path}: no topic got a usable reply ({report.statuses}): look at the model")
    with replacing(path.with_suffix(".json")) as stream:
        json.dump(_spent(report, job), stream, indent=1)
        stream.write("\n")
    _log.info("%s: %d calls, %d replies and %d rows that were there", path.name, report.now.misses, report.now.hits,
              report.kept)  # fmt: skip
    if report.unfinished:
        _log.warning("%s: %d of %d topics have no usable reply", path.name, report.unfinished, report.topics)


def _spent(report: SketchReport, job: SketchJob) -> dict[str, object]:
    """What the whole file took, in this run or an earlier one."""
    return {
        "topics": report.topics,
        "samples": job.samples,
        "statuses": dict(report.statuses),
        "phrases": report.phrases,
        "unfinished": report.unfinished,
        "dropped": dict(report.dropped),
        "usage": asdict(report.usage),
        "price": report.whole_cost,
        "currency": report.currency,
    }
