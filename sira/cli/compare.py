"""`sira compare`: TREC runs of any origin side by side, with tests, coverage and the topics that differ most."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sira.errors import InputError

if TYPE_CHECKING:
    from sira.records import Qrels, Run

HELP = "compare TREC runs of any origin: means, tests, topics that differ most"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="a TREC run; two or more, the first is the baseline"
    )
    parser.add_argument("--qrels", type=Path, required=True, metavar="FILE", help="judgments: TREC's, or BEIR's tsv")
    parser.add_argument(
        "--measures",
        nargs="+",
        metavar="M",
        help="nDCG@k, Recall@k, MRR@k, MRR, MAP@k or MAP; gains and losses go by the first (as in sira run)",
    )
    parser.add_argument("--topics", type=Path, metavar="FILE", help="show the queries of the largest gains and losses")
    parser.add_argument("-k", type=int, default=10, metavar="K", help="the cut of judged@k and Jaccard's index (10)")
    parser.add_argument("--extremes", type=int, default=5, metavar="N", help="topics of largest gain, and of loss (5)")
    parser.add_argument(
        "--ties", choices=("run", "trec"), default="run", help="order of equal scores: by docid, or as trec_eval (run)"
    )
    parser.add_argument("--relevance-level", type=int, default=1, metavar="L", help="least relevant grade (1)")
    parser.add_argument(
        "--ignore-self-hits", action="store_true", help="a document whose id is the qid is no hit (ArguAna, Quora)"
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="everything as one JSON object, topic by topic")
    shape.add_argument("--csv", action="store_true", help="one row for each measure and run")
    shape.add_argument("--markdown", action="store_true", help="the tables in Markdown")


def run(arguments: argparse.Namespace) -> int:
    from sira.corpora.trec import read_qrels
    from sira.evaluate.compare import CompareSettings, compare_runs
    from sira.evaluate.compare_report import CSV_HEAD, comparison_report, csv_rows
    from sira.evaluate.metrics import DEFAULT_MEASURES, Measure

    measures = tuple(arguments.measures or DEFAULT_MEASURES)
    for measure in measures:
        Measure.parse(measure)  # a wrong name is told before large files are read
    settings = CompareSettings(
        measures,
        arguments.k,
        arguments.extremes,
        arguments.ties,
        arguments.ignore_self_hits,
        arguments.relevance_level,
    )
    _check(arguments.runs)
    qrels = read_qrels(arguments.qrels)
    texts = None if arguments.topics is None else _texts(arguments.topics, qrels)
    found = compare_runs(qrels, _named(arguments.runs), settings)
    if arguments.json:
        json.dump(found.to_json(texts), sys.stdout, indent=1, ensure_ascii=False)
        print()
    elif arguments.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(CSV_HEAD)
        writer.writerows(csv_rows(found))
    else:
        sys.stdout.write(comparison_report(found, texts, "markdown" if arguments.markdown else "text"))
    return 0


def _check(paths: Sequence[Path]) -> None:
    if len(paths) < 2:
        raise InputError(f"{paths[0]}: is one run; give two or more to compare")
    twice = [path for at, path in enumerate(paths) if path in paths[:at]]
    if twice:
        raise InputError(f"{twice[0]}: is given twice: a run does not differ from itself")


def _named(paths: Sequence[Path]) -> list[Run]:
    """The runs by their tags; where two have the same, all by the names of their files, or else by their paths."""
    from sira.corpora.trec import read_run

    runs = [read_run(path) for path in paths]
    for names in ([run.name for run in runs], [path.stem for path in paths]):
        if len(set(names)) == len(names):
            break
    else:
        names = [str(path) for path in paths]
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


def _texts(path: Path, qrels: Qrels) -> Mapping[str, str]:
    from sira.corpora.trec import read_topics

    texts = {topic.qid: topic.text for topic in read_topics(path)}
    if not any(qid in texts for qid in qrels):
        raise InputError(f"{path}: none of its {len(texts)} topics is judged: check that it belongs to the qrels")
    return texts
