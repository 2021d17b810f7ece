"""`sira sketch`: a language model sketches the evidence for each topic, into a file that the other commands read."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.cli.options import add_asking, unique_topics
from sira.errors import InputError

if TYPE_CHECKING:
    from sira.compile.sketch_job import SketchReport
    from sira.llm import ModelSettings

HELP = "let a language model sketch the evidence for each topic, into a file"

DONE_IN_PART = 3
"""Exit status where some topics have no usable reply."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{HELP}. Replies are kept by what was asked: run again, the same command costs nothing, and other topics or "
        "settings only what is new. Exit status: 0 when each topic has its sketch, 3 when some replies failed."
    )
    parser.add_argument("--topics", type=Path, required=True, metavar="FILE", help="TSV (qid, text) or JSON Lines")
    parser.add_argument("--llm", required=True, metavar="MODEL", help="`local`, or a TOML file with a [model] table")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the sketches, JSON Lines (.jsonl)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    form = parser.add_argument_group("what is asked")
    add_asking(form)
    form.add_argument("--weights", action="store_true", help="with --roles: a weight at each phrase too")
    form.add_argument("--facets", type=int, default=0, metavar="N", help="with --roles: at most N facets (0)")
    form.add_argument("--searches", type=int, default=0, metavar="N", help="with --roles: at most N more searches (0)")
    model = parser.add_argument_group("in place of what the TOML says")
    model.add_argument("--temperature", type=float, metavar="T", help="of the sampling")
    model.add_argument("--seed", type=int, metavar="N", help="of the first sample; the next ones count up")
    model.add_argument("--max-tokens", type=int, metavar="N", help="most tokens of one reply")


def run(arguments: argparse.Namespace) -> int:
    from sira.compile.sketch_job import SketchJob, write_sketches
    from sira.llm.settings import read_model
    from sira.llm.sketches import SketchForm

    if arguments.out.suffix == ".gz":
        raise InputError(f"{arguments.out}: sketches are written as they are: leave out .gz")
    names = ("temperature", "seed", "max_tokens")
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    form = SketchForm(arguments.roles, arguments.weights, arguments.facets, arguments.searches)
    job = SketchJob.of(_changed(read_model(arguments.llm), given), arguments.prompt, form, arguments.samples)
    report = write_sketches(unique_topics(arguments.topics), job, arguments.out, progress=not arguments.quiet)
    _say(report, arguments.out)
    return DONE_IN_PART if report.unfinished else 0


def _changed(settings: ModelSettings, given: dict[str, Any]) -> ModelSettings:
    from pydantic import ValidationError

    try:
        return type(settings).model_validate(settings.model_dump() | given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise InputError(f"--{name.replace('_', '-')} {given.get(name)}: {first['msg']}") from None


def _say(report: SketchReport, out: Path) -> None:
    """What came out on stdout, what is wrong on stderr."""
    statuses = ", ".join(f"{count} {status}" for status, count in report.statuses.items())
    print(f"{out}: {report.topics} topics ({statuses}), {report.phrases} phrases")
    now, usage = report.now, report.now.usage
    price = "price not known" if report.cost is None else f"{report.cost:,.4f} {report.currency}"
    print(
        f"now {now.misses} calls, {now.hits} replies from the cache, {report.kept} rows kept; "
        f"{usage.prompt_tokens} prompt tokens, {usage.completion_tokens} completion tokens, {price}"
    )
    if report.dropped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(report.dropped.items()))
        print(f"sira: dropped or mended items of replies: {reasons}", file=sys.stderr)
    if report.replaced:
        print(f"sira: {report.replaced} rows were made otherwise or of other topics, and went", file=sys.stderr)
    if report.unfinished:
        print(f"sira: {report.unfinished} topics failed; errors are asked again by the same command", file=sys.stderr)
