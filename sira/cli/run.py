"""`sira run`: an experiment from a TOML file into a results folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sira.errors import InputError

HELP = "run an experiment from a TOML file into a results folder"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", type=Path, help="the experiment, such as eval_configs/scifact.toml")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="the results folder; an unfinished one is resumed"
    )
    parser.add_argument(
        "--collection",
        action="append",
        default=[],
        metavar="NAME=SOURCE",
        help="another source for a collection of the experiment, such as scifact=beir:FOLDER",
    )
    parser.add_argument(
        "--expansions",
        action="append",
        default=[],
        metavar="NAME=STORE",
        help="another expansion store for a collection, such as one of `sira expand`",
    )
    parser.add_argument(
        "--llm",
        action="append",
        default=[],
        metavar="NAME=MODEL",
        help="let a model make the sketches NAME: `local`, or a TOML file with a [model] table",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def run(arguments: argparse.Namespace) -> int:
    from sira.evaluate.config import read_experiment
    from sira.evaluate.runner import run_experiment

    sources = _pairs(arguments.collection, "--collection", "NAME=SOURCE, such as scifact=beir:FOLDER")
    stores = _pairs(arguments.expansions, "--expansions", "NAME=STORE, such as scifact=runs/phrases")
    models = _pairs(arguments.llm, "--llm", "NAME=MODEL, such as recorded=local")
    experiment = read_experiment(arguments.config, sources, stores, models)
    run_experiment(experiment, arguments.out, progress=not arguments.quiet)
    sys.stdout.write((arguments.out / "report.md").read_text(encoding="utf-8"))
    print(f"sira: results in {arguments.out}", file=sys.stderr)
    return 0


def _pairs(texts: Sequence[str], option: str, form: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise InputError(f"{option} {text!r}: write {form}")
        pairs[name] = value
    return pairs
