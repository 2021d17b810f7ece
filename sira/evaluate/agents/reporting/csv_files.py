"""The tables for a spreadsheet, in full precision: questions, labels, recalls, comparisons."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from sira.evaluate.agents.evaluation import RunEvaluation
from sira.evaluate.agents.pairing import ACCURACY, Pairing
from sira.evaluate.agents.reporting.questions import question_head, question_rows


def csv_files(runs: Sequence[RunEvaluation], pairings: Sequence[Pairing]) -> dict[str, str]:
    """File name -> text. Runs with other columns (tools, labels, judges) have empty cells for those that they lack."""
    files = {
        "questions.csv": _questions(runs),
        "labels.csv": _text(
            ["run", "labels", "qid", "docid", "grade", "fate", "rank"],
            (
                [found.run.name, name, item.qid, item.docid, item.grade, item.fate.value, item.rank or ""]
                for found in runs
                for name, label in found.labels.items()
                for item in label.fates
            ),
        ),
        "recall.csv": _text(
            ["run", "labels", "layer", "macro", "low", "high", "micro", "hits", "all labels", "set size", "questions"],
            (
                [found.run.name, name, layer, _known(item.macro), *_ends(label.intervals[layer]), _known(item.micro),
                 item.hits, item.labels, _known(item.size), len(item.per_question)]
                for found in runs
                for name, label in found.labels.items()
                for layer, item in label.recall.items()
            ),
        ),
    }  # fmt: skip
    if pairings:
        files["comparisons.csv"] = _text(
            ["run", "baseline", "measure", "test", "n", "difference", "low", "high", "wins", "ties", "losses", "p",
             "p Holm"],
            [row for item in pairings for row in _compared(item)],
        )  # fmt: skip
    return files


def _compared(item: Pairing) -> Iterator[list[object]]:
    for one in item.comparisons:
        yield [
            item.run, item.baseline, one.measure, one.randomisation.name, one.n, repr(one.difference), repr(one.low),
            repr(one.high), one.wins, one.ties, one.losses, _known(one.randomisation.p),
            _known(one.randomisation.p_corrected),
        ]  # fmt: skip
    if item.mcnemar is not None and item.mcnemar.n:
        n, gained, lost = item.mcnemar.n, item.mcnemar.gained, item.mcnemar.lost
        difference, p = repr((gained - lost) / n), repr(item.mcnemar.p)
        named = [item.run, item.baseline, ACCURACY, "McNemar's exact test"]
        yield [*named, n, difference, "", "", gained, n - gained - lost, lost, p, ""]


def _questions(runs: Sequence[RunEvaluation]) -> str:
    columns = list(dict.fromkeys(name for found in runs for name in question_head(found)))
    columns.sort(key=lambda name: name == "text")  # the text last
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for found in runs:
        head = question_head(found)
        writer.writerows(dict(zip(head, row, strict=True)) for row in question_rows(found))
    return stream.getvalue()


def _known(value: float | None) -> str:
    return "" if value is None else repr(value)


def _ends(interval: tuple[float, float] | None) -> tuple[str, str]:
    return ("", "") if interval is None else (repr(interval[0]), repr(interval[1]))


def _text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return stream.getvalue()
