"""`sira agent`: a model answers questions with tools over an index; runs are merged, and those of others imported."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sira.cli.agent_options import add_budget, add_model, add_run, job_of, manner_of, questions_of, source_of
from sira.cli.options import add_heap, refuse
from sira.errors import InputError

if TYPE_CHECKING:
    from sira.agent.runs import RunReport

HELP = "let a model answer questions with tools over an index, under a budget"

DONE_IN_PART = 3
"""Exit status where some questions ended in an error."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{HELP}; one trajectory a question in the folder --out. Stopped at any moment and started again, it goes on. "
        "`sira agent merge RUN RUN ... --out DIR` joins shards; `sira agent import FILE --out DIR` takes in released "
        "runs of BrowseComp-Plus and Pi-Serini. Exit status: 0 when no question ended in an error, else 3."
    )
    add = parser.add_argument
    add(
        "index",
        metavar="INDEX|merge|import",
        help="the index folder (./merge for one of that name; - with a [backend] in --tools), or what to do",
    )
    add("paths", nargs="*", type=Path, metavar="PATH", help="merge: folders of runs; import: a file or folder")
    add("--out", type=Path, required=True, metavar="DIR", help="folder of the run")
    add("--questions", type=Path, action="append", default=[], metavar="FILE", help="TSV or JSON Lines")
    add("--query", metavar="TEXT", help="one question")
    add("--qid", action="append", default=[], metavar="QID", help="only this question; may be repeated")
    add("--shard", metavar="I/N", help="every N-th question from the I-th on")
    add("--overwrite", action="store_true", help="merge, import: replace the folder")
    add_heap(parser)
    add_model(parser.add_argument_group("model and tools"))
    add_budget(parser.add_argument_group("budget of a question"))
    run = parser.add_argument_group("the run")
    add_run(run)
    run.add_argument("--qrels", type=Path, metavar="FILE", help="show the recall so far")
    run.add_argument("--benchmark", metavar="ID", help="benchmark_id of the record")
    run.add_argument("--query-set", metavar="ID", help="query_set_id of the record (the name of the file of questions)")


def run(arguments: argparse.Namespace) -> int:
    if arguments.index == "merge":
        return _merge(arguments)
    if arguments.index == "import":
        return _import(arguments)
    if arguments.paths:
        raise InputError(f"{arguments.paths[0]}: give one index folder")
    if arguments.overwrite:
        raise InputError("--overwrite: a run goes on in its folder, or begins in a new one; it replaces none")
    return _run(arguments)


def _merge(arguments: argparse.Namespace) -> int:
    from sira.agent.runs_merge import merge_runs

    refuse(arguments, {"llm": None, "questions": [], "query": None}, "merge only joins runs that are there")
    if not arguments.paths:
        raise InputError("sira agent merge: name the folders of the runs")
    report = merge_runs(arguments.paths, arguments.out, overwrite=arguments.overwrite)
    left = f", {report.unfinished} unfinished ones left out" if report.unfinished else ""
    print(f"{arguments.out}: {report.trajectories} merged, {report.duplicates} equal duplicates{left}")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from sira.agent.runs_import import import_run

    refuse(arguments, {"llm": None, "query": None}, "import asks no model")
    if len(arguments.paths) != 1:
        raise InputError("sira agent import: name one file or folder of a released run")
    report = import_run(arguments.paths[0], arguments.out, arguments.questions, overwrite=arguments.overwrite)
    of = f" of {report.query_set}" if report.query_set else ""
    print(f"{arguments.out}: {report.trajectories} imported{of}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    from sira.agent.runs_open import open_run
    from sira.agent.watch import watched
    from sira.corpora.trec import read_qrels

    questions, query_set = questions_of(arguments)
    job, manner = job_of(arguments, query_set), manner_of(arguments)
    qrels = None if arguments.qrels is None else read_qrels(arguments.qrels)
    with source_of(arguments) as source, open_run(job, source, arguments.out, manner) as opened:
        opened.begin(questions, {"benchmark_id": job.benchmark_id, "query_set_id": job.query_set_id})
        with watched(len(questions), arguments.watch, sys.stderr, qrels) as watcher:
            report = opened.work(questions, watcher)
    files = report.stops.total()
    several = "trajectory" if files == 1 else "trajectories"
    print(f"{arguments.out}: {said(report)}; {arguments.out / 'run.json'} and {files} {several}")
    return DONE_IN_PART if report.stops["error"] else 0


def said(report: RunReport) -> str:
    """One line of what became of the questions."""
    total = report.stops.total()
    stops = ", ".join(f"{count} {stop}" for stop, count in report.stops.most_common())
    price = " + ".join(f"{amount:,.4f} {currency}" for currency, amount in sorted(report.amounts.items()))
    more = f" ({report.kept} kept)" if report.kept else ""
    return (
        f"{total} question{'s' * (total != 1)}{more}: {stops}; {report.tokens:,} tokens, {price or 'price not known'}"
    )
