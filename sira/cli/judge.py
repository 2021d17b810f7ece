"""`sira judge`: let a model judge the answers of an agent run, one kept verdict a question."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sira.errors import InputError

if TYPE_CHECKING:
    from sira.evaluate.agents.accuracy import Accuracy
    from sira.evaluate.agents.judge_prompt import Mode
    from sira.evaluate.agents.judging import Report
    from sira.llm.settings import ModelSettings, Price

HELP = "let a model judge the answers of an agent run"
DONE_IN_PART = 3
"""Exit status where some answers have no verdict."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{HELP}; verdicts lie in RUN/judgments, and the same command goes on where it was stopped. A reply that "
        "cannot be read is asked for again and then left unjudged: it is never a wrong answer. Exit status: 0 when "
        "each answer has its verdict, 3 when some have none."
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of an agent run, sira's or Pi-Serini's")
    parser.add_argument("--llm", required=True, metavar="MODEL", help="`local`, or a TOML file with a [model] table")
    parser.add_argument(
        "--answers", type=Path, metavar="FILE", help="the known answers: JSON Lines (query_id, answer) or TSV"
    )
    parser.add_argument(
        "--mode",
        choices=("gold", "reference-free"),
        help="against the known answers, or by the judge's own lights (gold where answers are known)",
    )
    parser.add_argument("--name", metavar="NAME", help="the judge's folder (model, mode and a hash)")
    parser.add_argument(
        "--attempts", type=int, default=3, metavar="N", help="replies read of an answer at most, if unreadable (3)"
    )
    parser.add_argument("--again", action="store_true", help="ask again for every answer that has no verdict")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    from contextlib import closing

    from sira.evaluate.agents.accuracy import accuracy
    from sira.evaluate.agents.gold_answers import read_answers
    from sira.evaluate.agents.judging import judge_run
    from sira.evaluate.agents.judgments import FOLDER, Judge, read_judged, write_manifest
    from sira.evaluate.agents.reading import read_agent_run
    from sira.evaluate.fingerprint import file_digest
    from sira.folders import owned
    from sira.llm.cache import open_cached
    from sira.llm.prices import price_of

    _check(arguments)
    found = read_agent_run(arguments.run)
    known = _answers(arguments, found.folder)
    mode: Mode = "reference-free" if known is None else "gold"
    answers = None if known is None else read_answers(known)
    for name, fault in found.broken:
        print(f"sira: {found.folder / name}: cannot be read, and is not judged ({fault})", file=sys.stderr)
    settings = _steady(arguments.llm)
    price = price_of(settings)
    with closing(open_cached(settings)) as generator:
        judge = Judge.of(mode, generator.identity, settings, attempts=arguments.attempts)
        folder = found.folder / FOLDER / _name(arguments.name or judge.name)
        with owned(folder):
            facts = {
                "answers": None if known is None else {"name": known.name, "sha256": file_digest(known)},
                "price": None if price is None else price.model_dump(mode="json"),
            }
            write_manifest(folder, judge, facts)
            report = judge_run(
                found.episodes.values(),
                judge,
                answers,
                generator,
                folder,
                again=arguments.again,
                progress=not arguments.quiet,
            )
    result = accuracy(found.episodes.values(), read_judged(folder))
    _say(result, report, price)
    return DONE_IN_PART if result.unjudged else 0


def _check(arguments: argparse.Namespace) -> None:
    if arguments.mode == "reference-free" and arguments.answers is not None:
        raise InputError("--answers: --mode reference-free knows no answers; leave out one of the two")


def _answers(arguments: argparse.Namespace, folder: Path) -> Path | None:
    """The file of the command line, or the one that the run's manifest names; None: reference-free."""
    from sira.evaluate.agents.run_inputs import named_inputs

    if arguments.mode == "reference-free":
        return None
    if arguments.answers is not None:
        return arguments.answers
    found = named_inputs(folder).get("answers")
    if found is not None:
        print(f"sira: answers: {found}, as the run's manifest says", file=sys.stderr)
    elif arguments.mode == "gold":
        raise InputError(
            "--mode gold compares with known answers, and the run's manifest names none: give --answers FILE, or take "
            "--mode reference-free, whose figures are another thing"
        )
    return found


def _name(name: str) -> str:
    if name in ("", ".", "..") or Path(name).name != name or not name.isprintable():
        raise InputError(f"--name {name!r}: give the name of a folder, not a path")
    return name


def _steady(spec: str) -> ModelSettings:
    """The model, at temperature 0 where the TOML does not say another one."""
    from sira.llm.settings import read_model

    settings = read_model(spec)
    return settings if "temperature" in settings.model_fields_set else settings.model_copy(update={"temperature": 0.0})


def _say(result: Accuracy, report: Report, price: Price | None) -> None:
    from sira.evaluate.agents.reporting.texts import percent, with_interval
    from sira.llm.prices import cost

    kind = "" if result.mode == "gold" else " (no known answers: the judge's own opinion)"
    print(f"{result.label}{kind}")
    print(
        f"correct {result.correct} of {result.judged} judged, {result.answered} answered, {result.questions} questions"
    )
    print(
        f"accuracy over completed {with_interval(result.over_completed, result.interval_completed)}, "
        f"over all {with_interval(result.over_all, result.interval)}"
    )
    if result.unjudged:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(result.unjudged.items()))
        low, high = result.bounds or (0.0, 0.0)
        print(f"unjudged: {reasons}; with all of them accuracy over all lies in {percent(low)} to {percent(high)}")
    usage = report.usage
    said = "price not known" if price is None else f"{cost(usage, 0.0, price):,.4f} {price.currency}"
    print(
        f"now {report.asked} asked for, {report.kept} verdicts kept; {usage.prompt_tokens} prompt tokens, "
        f"{usage.completion_tokens} completion tokens (replies of the cache included), {said}"
    )
