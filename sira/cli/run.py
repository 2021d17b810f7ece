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
    parser.add_argument("--out", type=Path, metavar="DIR", help="the results folder; an unfinished one is resumed")
    parser.add_argument(
        "--dry-run", action="store_true", help="count cells, calls, tokens and price; ask, search and write nothing"
    )
    parser.add_argument(
        "--systems", type=_names, metavar="A,B", help="run these systems alone, and what they are made of"
    )
    parser.add_argument("--collections", type=_names, metavar="X,Y", help="run these collections alone")
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="collections at work at once, each with its own Java (default 1)",
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
    parser.add_argument("--quiet", action="store_true", help="no progress bars, and no line for a finished cell")


def run(arguments: argparse.Namespace) -> int:
    from sira.evaluate.config import read_experiment

    sources = _pairs(arguments.collection, "--collection", "NAME=SOURCE, such as scifact=beir:FOLDER")
    stores = _pairs(arguments.expansions, "--expansions", "NAME=STORE, such as scifact=runs/phrases")
    models = _pairs(arguments.llm, "--llm", "NAME=MODEL, such as recorded=local")
    experiment = read_experiment(arguments.config, sources, stores, models)
    asked = {"systems": arguments.systems, "collections": arguments.collections}
    if arguments.dry_run:
        from sira.evaluate.plan import plan_experiment, plan_text

        sys.stdout.write(plan_text(plan_experiment(experiment, arguments.out, **asked)))
        return 0
    if arguments.out is None:
        raise InputError("name the results folder by --out DIR, or count alone by --dry-run")
    from sira.evaluate.runner import run_experiment

    run_experiment(experiment, arguments.out, **asked, jobs=arguments.jobs, progress=not arguments.quiet)
    sys.stdout.write((arguments.out / "report.md").read_text(encoding="utf-8"))
    print(f"sira: results in {arguments.out}", file=sys.stderr)
    return 0


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _pairs(texts: Sequence[str], option: str, form: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise InputError(f"{option} {text!r}: write {form}")
        pairs[name] = value
    return pairs
