"""What a results folder says of itself: report.md, report.html, and tables for a spreadsheet and a paper."""

from __future__ import annotations

from pathlib import Path

from sira.corpora.files import replacing
from sira.evaluate.fingerprint import file_digest
from sira.evaluate.reporting.contents import Report
from sira.evaluate.reporting.csv_files import csv_files
from sira.evaluate.reporting.latex import costs_latex, latex
from sira.evaluate.reporting.markdown import markdown
from sira.evaluate.reporting.page import page

__all__ = ["Report", "write_reports"]


def write_reports(report: Report, out: Path) -> None:
    """Write report.md, report.html and tables/ into the results folder, which has its config.json already.

    An experiment of which no collection has a finished baseline has empty tables.
    """
    config = file_digest(out / "config.json")
    files = {
        "report.md": markdown(report, config),
        "report.html": page(report, config),
        "tables/main.tex": latex(report, config),
        "tables/costs.tex": costs_latex(report, config),
        **{f"tables/{name}": text for name, text in csv_files(report).items()},
    }
    (out / "tables").mkdir(exist_ok=True)
    for name, text in files.items():
        with replacing(out / name) as stream:
            stream.write(text)
