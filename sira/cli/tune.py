"""`sira tune`: choose k1, b, lambda, tau or w_e on a development split, with the held-out figure of the choice."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sira.errors import InputError

if TYPE_CHECKING:
    from sira.evaluate.config import Experiment
    from sira.evaluate.tune_report import TuneResult

HELP = "choose k1, b, lambda, tau or w_e on a development split, by cross-validation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", type=Path, help="the experiment, such as eval_configs/development.toml")
    parser.add_argument(
        "--collection", required=True, metavar="NAME", help="a collection of it, with a split such as dev"
    )
    parser.add_argument("--system", metavar="NAME", help="the system to tune (the only one that can be)")
    parser.add_argument(
        "--parameters",
        nargs="+",
        required=True,
        metavar="P",
        help="of k1, b, lambda, tau (of the query's gate), w_e; with values of your own: k1=0.6,0.9,1.2, b=0.3:0.5:0.1",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="the results folder; an unfinished one is resumed"
    )
    parser.add_argument("--measure", metavar="M", help="what is maximised (the experiment's first measure)")
    parser.add_argument("--folds", type=int, default=5, metavar="N", help="folds of the cross-validation (5)")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="finer grids after the coarse one (2)")
    parser.add_argument("--seed", type=int, default=13, metavar="N", help="deals the topics to the folds (13)")
    parser.add_argument("--threads", type=int, default=1, help="searches at a time (1)")
    parser.add_argument(
        "--development",
        action="store_true",
        help="declare judgments without the name of a split to be for development; never accepts a test split",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def run(arguments: argparse.Namespace) -> int:
    from sira.evaluate.config import read_experiment
    from sira.evaluate.tune import TuneSettings
    from sira.evaluate.tune_job import TuneRequest, run_tuning
    from sira.evaluate.tune_report import snippet
    from sira.evaluate.tune_space import parse_parameter

    if arguments.threads < 1:
        raise InputError(f"--threads {arguments.threads}: it counts from 1")
    parameters = tuple(parse_parameter(text) for text in arguments.parameters)
    settings = TuneSettings(arguments.folds, arguments.rounds, arguments.seed)
    experiment = read_experiment(arguments.config)
    request = TuneRequest(
        arguments.collection,
        arguments.system or _only(experiment),
        parameters,
        arguments.measure,
        development=arguments.development,
        threads=arguments.threads,
    )
    result = run_tuning(experiment, request, settings, arguments.out, progress=not arguments.quiet)
    sys.stdout.write(_report(result))
    sys.stdout.write("\n" + snippet(result))
    print(f"sira: {arguments.out}: {result.points} points; tuned.toml, tuning.json, points.jsonl", file=sys.stderr)
    return 0


def _only(experiment: Experiment) -> str:
    from sira.evaluate.tune_job import KINDS

    names = [system.name for system in experiment.systems if system.kind in KINDS]
    if len(names) != 1:
        raise InputError(f"which system is to be tuned? Give --system, one of: {', '.join(names) or 'none can be'}")
    return names[0]


def _report(result: TuneResult) -> str:
    """The chosen point beside the default, the honest figure, and what each fold chose."""
    from sira.tables import text_table

    tuned = result.tuned
    space, item = tuned.space, tuned.held_out
    names = [parameter.name for parameter in space.parameters]
    head = ["", *names, f"{result.measure}", "on"]
    rows = [["default", *_cells(space.default), f"{tuned.default_mean:.4f}", f"all {tuned.topics} topics"]]
    rows.append(["chosen", *_cells(tuned.chosen), f"{tuned.in_sample:.4f}", "the topics it was chosen on"])
    rows += [[f"without fold {number}", *_cells(point), "", ""] for number, point in enumerate(tuned.by_fold, start=1)]
    rows.append(["held out", *["" for _ in names], f"{tuned.held_out_mean:.4f}", "each topic by the choice without it"])
    lines = [
        text_table(head, rows),
        f"held out against the default: {item.difference:+.4f}, 95 % interval [{item.low:+.4f}, {item.high:+.4f}], "
        f"win/tie/loss {item.wins}/{item.ties}/{item.losses}",
        f"  {item.randomisation}",
        f"  {item.interval}",
    ]
    if not tuned.better:
        lines.append("  the interval does not lie above 0: nothing here speaks against keeping the default")
    if border := space.at_border(tuned.chosen):
        lines.append(
            f"  at the end of its grid: {', '.join(border)}; a better value may lie beyond (--parameters P=V,V)"
        )
    return "\n".join(lines) + "\n"


def _cells(point: tuple[float, ...]) -> list[str]:
    return [f"{value:g}" for value in point]
