"""The sketches of an experiment that a model is asked for: each set of them in a file of the results folder.

The replies lie in the folder too, so that a killed run does not ask twice, and the folder holds all its figures are of.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path

from sira.compile.sketch_job import SketchJob, SketchReport, write_sketches
from sira.compile.sketches import read_sketches
from sira.corpora.files import replacing
from sira.errors import EnvironmentFault
from sira.evaluate.config import CollectionConfig, LiveSketches
from sira.evaluate.inputs import Inputs
from sira.llm.settings import read_model
from sira.llm.sketches import SketchForm
from sira.records import Sketch

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
            path = out / "sketches" / f"{inputs.config.name}.{name}.jsonl"
            _write(inputs, job_of(asked), path, out / "replies", progress=progress)
            files[name], sketches[name] = str(path), read_sketches(path)
    config: CollectionConfig = inputs.config.model_copy(update={"sketches": files})
    return replace(inputs, config=config, sketches={**inputs.sketches, **sketches})


def check_live_sketches(inputs: Inputs, used: Collection[str]) -> None:
    """Raises InputError for a model's file or a prompt that cannot be used, before anything is written."""
    for name, asked in inputs.config.sketches.items():
        if name in used and not isinstance(asked, str):
            job_of(asked)


def job_of(asked: LiveSketches) -> SketchJob:
    """Raises InputError for a model's file or a prompt that cannot be used."""
    return SketchJob.of(read_model(asked.llm), asked.prompt, SketchForm(roles=asked.roles), asked.samples)


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
