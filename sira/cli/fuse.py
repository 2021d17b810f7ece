"""`sira fuse`: several TREC runs, of sira or of any other system, into one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from sira.errors import InputError

HELP = "fuse TREC runs of any origin into one, by ranks or by scores"

METHODS = ("rrf", "isr", "rbc", "bordafuse", "wsum", "sum", "mnz", "max", "min")
NORMS = ("none", "min-max", "max", "sum", "zmuv", "rank")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a TREC run; two or more")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the fused run")
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="rrf",
        help="rrf, isr, rbc and bordafuse read ranks, the others scores (rrf)",
    )
    parser.add_argument(
        "--norm", choices=NORMS, help="what makes the scores of runs comparable (min-max where scores are read)"
    )
    parser.add_argument("--weights", type=float, nargs="+", metavar="W", help="with wsum: one a run (equal ones)")
    parser.add_argument("--rrf-k", type=int, metavar="K", help="with rrf: its constant (60)")
    parser.add_argument("--phi", type=float, metavar="PHI", help="with rbc: its persistence (0.8)")
    parser.add_argument("-k", type=int, metavar="N", help="hits a topic (all)")
    parser.add_argument("--name", metavar="TAG", help="the run tag (the method)")


def run(arguments: argparse.Namespace) -> int:
    from sira.corpora.trec import read_run
    from sira.corpora.trec_writer import write_run
    from sira.search.fusion import fuse_runs, fusion_options

    params = _params(arguments)
    if arguments.k is not None and arguments.k < 1:
        raise InputError(f"-k {arguments.k}: it counts from 1")
    fusion_options(arguments.method, params, arguments.norm, len(arguments.runs))
    for path in arguments.runs:
        if path.resolve() == arguments.out.resolve():
            raise InputError(f"--out {arguments.out}: this is one of the runs that are fused: give another name")
    runs = [read_run(path) for path in arguments.runs]
    found = fuse_runs(
        runs, arguments.method, params, norm=arguments.norm, k=arguments.k, name=arguments.name or arguments.method
    )
    write_run(arguments.out, found.run)
    topics = len(found.run)
    for path, missing in zip(arguments.runs, found.missing, strict=True):
        if missing:
            print(f"sira: warning: {path}: lacks {missing} of {topics} topics: fused from the others", file=sys.stderr)
    hits = sum(len(ranking) for ranking in found.run.rankings.values())
    print(f"sira: {arguments.out}: {topics} topics, {hits} hits, of {len(runs)} runs", file=sys.stderr)
    return 0


def _params(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {"weights": arguments.weights, "k": arguments.rrf_k, "phi": arguments.phi}
    params = {name: value for name, value in given.items() if value is not None}
    for name, (option, method) in _OPTIONS.items():
        if name in params and arguments.method != method:
            raise InputError(f"{option}: it belongs to --method {method}")
    return params


_OPTIONS = {"weights": ("--weights", "wsum"), "k": ("--rrf-k", "rrf"), "phi": ("--phi", "rbc")}
