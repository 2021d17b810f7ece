"""What a report on agent runs holds: report.md, report.html, tables for a spreadsheet, and a TREC run of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sira.corpora.files import replacing
from sira.corpora.trec_writer import write_run
from sira.errors import InputError
from sira.evaluate.agents.evaluation import RunEvaluation
from sira.evaluate.agents.pairing import Pairing
from sira.evaluate.agents.prefix import surfaced_run, writable
from sira.evaluate.agents.reporting.content import MARK, content_of, markdown
from sira.evaluate.agents.reporting.csv_files import csv_files
from sira.evaluate.agents.reporting.overview import Source
from sira.evaluate.agents.reporting.page import page

REPORT, TABLES, RUNS = "report.md", "tables", "surfaced"


def check_place(out: Path) -> None:
    """Raises InputError where a report.md of another tool would be overwritten."""
    path = out / REPORT
    if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace")[:2000]:
        raise InputError(f"{path}: was not written by sira and is not overwritten; give another --out")


def write_report(
    runs: Sequence[RunEvaluation],
    pairings: Sequence[Pairing],
    manifests: Sequence[Mapping[str, Mapping[str, Any]]],
    sources: Sequence[Source],
    out: Path,
) -> list[str]:
    """Write all files of the report into a folder, which is made; the arguments are those of `content_of`.

    Returns the qids, with their run, of which the TREC run lacks something, since an id holds white space.
    """
    check_place(out)
    for name in (".", TABLES, RUNS):
        (out / name).mkdir(parents=True, exist_ok=True)
    content = content_of(runs, pairings, manifests, sources)
    files = {"report.html": page(content)}
    files |= {f"{TABLES}/{name}": text for name, text in csv_files(runs, pairings).items()}
    for name, text in (files | {REPORT: markdown(content)}).items():
        with replacing(out / name) as stream:
            stream.write(text.encode("utf-8", "backslashreplace").decode())  # half a surrogate pair is no UTF-8
    lost: list[str] = []
    for found in runs:
        tag = "_".join(found.run.name.split()) or "run"
        run, without = writable(surfaced_run(found.episodes.values(), tag))
        write_run(out / RUNS / f"{tag}.trec", run)
        lost += [f"{found.run.name}: {qid}" for qid in without]
    return lost
