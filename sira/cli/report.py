"""`sira report`: what agent runs found, cited, answered and cost, as a page, as text and as tables."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.errors import InputError

if TYPE_CHECKING:
    from sira.evaluate.agents.evaluation import EvaluateSettings, RunEvaluation
    from sira.evaluate.agents.judgments import Judged
    from sira.evaluate.agents.reading import AgentRun
    from sira.records import Qrels

HELP = "report on agent runs: recall by layer, accuracy, costs, lost labels"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="the folder of an agent run; of several the first is the baseline",
    )
    parser.add_argument("--evidence", type=Path, metavar="FILE", help="the primary labels: TREC qrels, or BEIR's tsv")
    parser.add_argument("--gold", type=Path, metavar="FILE", help="a second set of labels, such as gold documents")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the report goes (RUN; needed for several)")
    parser.add_argument("--judge", metavar="NAME", help="the judge whose verdicts come first (the first by name)")
    parser.add_argument(
        "--questions", type=Path, metavar="FILE", help="the run's questions: one without a file counts as not answered"
    )
    parser.add_argument(
        "--baseline-run", type=Path, metavar="FILE", help="a plain TREC run, by whose recall questions are called hard"
    )
    parser.add_argument(
        "--level", type=int, metavar="L", help="least grade of a label (as the first run's manifest says, else 1)"
    )
    parser.add_argument(
        "--gain",
        choices=("exponential", "linear"),
        help="gain of nDCG (as the first run's manifest says, else exponential)",
    )
    parser.add_argument(
        "--zero-labels",
        choices=("skip", "pi-serini"),
        default="skip",
        help="a question without a label is left out of macro recall, or counts as 0 (skip)",
    )
    parser.add_argument("--json", action="store_true", help="also print the main figures as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    from sira.agent.questions import read_questions
    from sira.corpora.trec import read_qrels
    from sira.evaluate.agents.evaluation import EvaluateSettings, evaluate_run
    from sira.evaluate.agents.judgments import read_judges
    from sira.evaluate.agents.pairing import pair
    from sira.evaluate.agents.reading import read_agent_run
    from sira.evaluate.agents.reporting import check_place, write_report
    from sira.evaluate.agents.reporting.content import content_of
    from sira.evaluate.agents.reporting.overview import Source
    from sira.evaluate.agents.run_inputs import named_semantics
    from sira.evaluate.fingerprint import file_digest
    from sira.tables import printable, text_table

    if len(arguments.runs) > 1 and arguments.out is None:
        raise InputError("several runs: give --out DIR for their common report")
    if arguments.level is not None and arguments.level < 1:
        raise InputError(f"--level {arguments.level}: the least grade of a label is 1 or more")
    asked: Path | None = arguments.questions
    questions = None if asked is None else read_questions(asked)
    out = arguments.out or arguments.runs[0]
    check_place(out)
    read = _distinct([read_agent_run(path, questions) for path in arguments.runs])
    told = named_semantics(read[0].folder)
    settings = EvaluateSettings(arguments.level or told.level, arguments.gain or told.gain, arguments.zero_labels)
    given = _labels(arguments, read)
    labels = {name: read_qrels(path) for name, path in given.items()}
    strata = _strata(arguments.baseline_run, labels, settings.level)
    found: list[RunEvaluation] = []
    manifests: list[dict[str, Any]] = []
    for one in read:
        judges = read_judges(one.folder, arguments.judge)
        _warn(one, judges)
        found.append(evaluate_run(one, labels, judges, settings, strata=strata))
        manifests.append({judged.name: judged.manifest for judged in judges})
    pairings = pair(found[1:], found[0])
    sources = [Source(name, path.name, file_digest(path)) for name, path in given.items()]
    if asked is not None:
        sources.append(Source("questions", asked.name, file_digest(asked)))
    lost = write_report(found, pairings, manifests, sources, out)
    if lost:
        which = f"of {len(lost)} question(s): {printable(lost[0])}"
        print(f"sira: the TREC run lacks ids that such a file cannot carry, {which}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(_figures(found, settings), indent=1, ensure_ascii=False))
    else:
        table = content_of(found, pairings, manifests, sources).overview
        sys.stdout.write(text_table(table.head, table.rows))
    print(f"{out / 'report.html'}: the whole report", file=sys.stderr)
    return 0


def _labels(arguments: argparse.Namespace, runs: list[AgentRun]) -> dict[str, Path]:
    """Those of the command line; where it names none, those that the first run's manifest names."""
    from sira.evaluate.agents.run_inputs import named_inputs

    named: dict[str, Path | None] = {"evidence": arguments.evidence, "gold": arguments.gold}
    given = {name: path for name, path in named.items() if path is not None}
    if given:
        return given
    found = {str(name): path for name, path in named_inputs(runs[0].folder).items() if name != "answers"}
    for name, path in found.items():
        print(f"sira: {name} labels: {path}, as the manifest of {runs[0].name} says", file=sys.stderr)
    return found


def _strata(path: Path | None, labels: Mapping[str, Qrels], level: int) -> Mapping[str, str]:
    if path is None:
        return {}
    if not labels:
        raise InputError("--baseline-run: questions are hard by their labels; give --evidence FILE")
    from sira.corpora.trec import read_run
    from sira.evaluate.agents.strata import strata

    return strata(read_run(path), next(iter(labels.values())), level=level)


def _distinct(runs: list[AgentRun]) -> list[AgentRun]:
    """Runs of the same folder name are told apart by their paths."""
    from dataclasses import replace

    names = [item.name for item in runs]
    if len(set(names)) == len(names):
        return runs
    paths = [str(item.folder) for item in runs]
    if len(set(paths)) < len(paths):
        raise InputError("the same run is given twice: it does not differ from itself")
    return [replace(item, name="/".join(item.folder.parts[-2:])) for item in runs]


def _warn(run: AgentRun, judges: tuple[Judged, ...]) -> None:
    for name, fault in run.broken:
        print(f"sira: {run.folder / name}: cannot be read, and is in no figure ({fault})", file=sys.stderr)
    for judged in judges:
        for name, fault in judged.broken:
            print(f"sira: judge {judged.name}: {name} cannot be read; judge again ({fault})", file=sys.stderr)


def _figures(found: list[RunEvaluation], settings: EvaluateSettings) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "settings": asdict(settings),
        "runs": [
            {
                "run": item.run.name,
                "questions": len(item.episodes),
                "recall": {
                    name: {
                        layer: {"macro": one.macro, "micro": one.micro, "hits": one.hits, "labels": one.labels,
                                "set_size": one.size, "questions": len(one.per_question)}
                        for layer, one in label.recall.items()
                    }
                    for name, label in item.labels.items()
                },
                "judges": [
                    {"judge": one.judge, "mode": one.mode, "correct": one.correct, "judged": one.judged,
                     "answered": one.answered, "over_all": one.over_all, "over_completed": one.over_completed,
                     "unjudged": dict(one.unjudged), "calibration_error": dict(one.calibration)}
                    for one in item.judges
                ],
                "price": {"total": item.costs.total and str(item.costs.total), "per_question": item.costs.per_question,
                          "per_correct": item.costs.per_correct},
            }
            for item in found
        ],
    }  # fmt: skip
