"""What a results folder says of itself: report.md, report.html, and tables for a spreadsheet and a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sira.corpora.audit import Audit
from sira.corpora.files import replacing
from sira.evaluate.config import Experiment
from sira.evaluate.fingerprint import file_digest
from sira.evaluate.reporting.csv_files import csv_files
from sira.evaluate.reporting.latex import latex
from sira.evaluate.reporting.markdown import report
from sira.evaluate.reporting.page import page
from sira.evaluate.results import CollectionResults


def write_reports(
    experiment: Experiment, results: Sequence[CollectionResults], audits: Mapping[str, Audit], out: Path
) -> None:
    """Write report.md, report.html and tables/ into the results folder, which has its config.json already."""
    config = file_digest(out / "config.json")
    files = {
        "report.md": report(experiment, results, audits, config),
        "report.html": page(experiment, results, audits, config),
        "tables/main.tex": latex(experiment, results, config),
        **{f"tables/{name}": text for name, text in csv_files(experiment, results).items()},
    }
    (out / "tables").mkdir(exist_ok=True)
    for name, text in files.items():
        with replacing(out / name) as stream:
            stream.write(text)
